// What may follow the estimators of advantage.h: prompts weighted by variance, standardised
// batches.
#include <algorithm>
#include <cmath>

#include "rl/advantage.h"
#include "rl/moments.h"

namespace assay::rl {
namespace {

constexpr double kVarianceEpsilon = 1e-8;

}  // namespace

Status WeighPromptsByVariance(const Index& index, std::span<const uint8_t> keep,
                              std::span<const double> weight, std::span<double> advantage) {
  const size_t n = index.rows();
  ASSAY_RETURN_IF_ERROR(CheckSize("keep", keep.size(), n, true));
  ASSAY_RETURN_IF_ERROR(CheckSize("weight", weight.size(), n));
  ASSAY_RETURN_IF_ERROR(CheckSize("advantage", advantage.size(), n));
  for (size_t row = 0; row < n; ++row) {
    const bool counts = !index.is_padding(row) && Kept(keep, row);
    if (counts && !(std::isfinite(advantage[row]) && std::isfinite(weight[row]))) {
      return Err(ErrorCode::kInvalid, "row {}: advantage {} or weight {} is no finite number", row,
                 advantage[row], weight[row]);
    }
  }
  struct Sums {
    double n = 0;
    double a2w = 0;
    double a_root_w = 0;
  };
  std::vector<Sums> sums(index.groups());
  for (size_t row = 0; row < n; ++row) {
    if (index.is_padding(row) || !Kept(keep, row)) continue;
    Sums& group = sums[index.group_of(row)];
    group.n += 1;
    // In float32 a sum of weights near 0 may come out below it.
    const double w = std::max(weight[row], 0.0);
    group.a2w += advantage[row] * advantage[row] * w;
    group.a_root_w += advantage[row] * std::sqrt(w);
  }
  std::vector<double> precision(index.groups(), 0.0);
  double total = 0;
  for (size_t g = 0; g < sums.size(); ++g) {
    if (sums[g].n < 2) continue;
    const double mean = sums[g].a_root_w / sums[g].n;
    // A variance: rounding alone brings the difference below 0.
    const double variance = std::max(0.0, sums[g].a2w / sums[g].n - mean * mean) / (sums[g].n - 1);
    precision[g] = 1.0 / (variance + kVarianceEpsilon);
    total += precision[g];
  }
  if (total == 0) return {};
  for (size_t row = 0; row < n; ++row) {
    advantage[row] *= static_cast<double>(n) * precision[index.group_of(row)] / total;
  }
  return {};
}

Status StandardizeAdvantages(std::span<const uint8_t> member, std::span<double> advantage) {
  ASSAY_RETURN_IF_ERROR(CheckSize("member", member.size(), advantage.size()));
  Moments moments;
  for (size_t row = 0; row < advantage.size(); ++row) {
    if (member[row] == 0) continue;
    if (!std::isfinite(advantage[row]))
      return Err(ErrorCode::kInvalid, "row {}: advantage is {}", row, advantage[row]);
    moments.Add(advantage[row]);
  }
  constexpr double kSmallestStd = 1e-6;
  const double std = moments.Std();
  if (std < kSmallestStd) return {};
  for (size_t row = 0; row < advantage.size(); ++row) {
    advantage[row] = member[row] != 0 ? (advantage[row] - moments.mean) / std : 0.0;
  }
  return {};
}

}  // namespace assay::rl
