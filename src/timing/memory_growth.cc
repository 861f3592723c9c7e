#include "timing/memory_growth.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr size_t kLeastSamples = 6;  ///< two of warm-up, then two parts of two rounds
constexpr int64_t kFirstCalls = 16;  ///< a module may keep a few results, in turn
constexpr int64_t kLeastCalls = 8;   ///< of a part
constexpr double kLeastShare = 0.8;  ///< of an output a call: some may be dropped, or kept smaller
/// Allocators take memory in pieces: on the card 20 MiB, the largest of torch's usual ones. Growth
/// within each part is more than one of these.
constexpr double kDevicePiece = 24u << 20;
constexpr double kHostPiece = 2u << 20;

double Growth(const MemorySample& begin, const MemorySample& end, uint64_t MemorySample::*member) {
  return static_cast<double>(end.*member) - static_cast<double>(begin.*member);
}

/// Bytes a call after the first rounds, if both parts of the others grew alike.
double GrowthOf(std::span<const MemorySample> samples, uint64_t output_bytes,
                uint64_t MemorySample::*member, double piece) {
  const size_t last = samples.size() - 1;
  size_t first = samples.size() < 2 * kLeastSamples ? 1 : samples.size() / 2 - 1;
  while (first < last && samples[first].calls < kFirstCalls) ++first;
  const std::array<size_t, 3> ends = {first, first + (last - first) / 2, last};
  for (size_t part = 0; part + 1 < ends.size(); ++part) {
    const MemorySample& begin = samples[ends[part]];
    const MemorySample& end = samples[ends[part + 1]];
    const int64_t calls = end.calls - begin.calls;
    const double least =
        kLeastShare * static_cast<double>(calls) * static_cast<double>(output_bytes);
    if (calls < kLeastCalls || Growth(begin, end, member) < std::max(least, piece)) return 0;
  }
  return Growth(samples[first], samples[last], member) /
         static_cast<double>(samples[last].calls - samples[first].calls);
}

}  // namespace

double MemoryGrowth(std::span<const MemorySample> samples, uint64_t output_bytes) {
  if (samples.size() < kLeastSamples || output_bytes == 0) return 0;
  return std::max(GrowthOf(samples, output_bytes, &MemorySample::host_bytes, kHostPiece),
                  GrowthOf(samples, output_bytes, &MemorySample::device_bytes, kDevicePiece));
}

}  // namespace assay
