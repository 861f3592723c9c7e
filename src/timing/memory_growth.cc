#include "timing/memory_growth.h"

#include <algorithm>

namespace assay {
namespace {

constexpr size_t kLeastSamples = 4;  ///< before the first round, and after three
constexpr double kLeastShare = 0.8;  ///< of an output a call: some may be dropped, or kept smaller

/// Bytes a call after the first round, if all the others grew.
double GrowthOf(std::span<const MemorySample> samples, uint64_t output_bytes,
                uint64_t MemorySample::*member, double piece) {
  const auto growth = [&](const MemorySample& begin, const MemorySample& end) {
    return static_cast<double>(end.*member) - static_cast<double>(begin.*member);
  };
  const std::span<const MemorySample> rounds = samples.subspan(1);
  for (size_t i = 0; i + 1 < rounds.size(); ++i) {
    const auto calls = static_cast<double>(rounds[i + 1].calls - rounds[i].calls);
    const double least = kLeastShare * calls * static_cast<double>(output_bytes);
    if (calls <= 0 || growth(rounds[i], rounds[i + 1]) < std::max(least, piece)) return 0;
  }
  return growth(rounds.front(), rounds.back()) /
         static_cast<double>(rounds.back().calls - rounds.front().calls);
}

}  // namespace

double MemoryGrowth(std::span<const MemorySample> samples, uint64_t output_bytes) {
  if (samples.size() < kLeastSamples || output_bytes == 0) return 0;
  return std::max(GrowthOf(samples, output_bytes, &MemorySample::host_bytes, kHostPiece),
                  GrowthOf(samples, output_bytes, &MemorySample::device_bytes, kDevicePiece));
}

}  // namespace assay
