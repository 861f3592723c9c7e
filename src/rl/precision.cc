#include "rl/precision.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rl/parallel.h"

namespace assay::rl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint8_t kMeanGate = 1;
constexpr uint8_t kTopGate = 2;

struct RowGaps {
  int64_t n = 0;
  double sum = 0;
  double smallest_top = kInfinity;
  bool broken = false;
};

template <typename T>
std::vector<RowGaps> Scan(const Tokens<T>& tokens, std::span<const T> logp_top,
                          std::span<const TokenState> state) {
  std::vector<RowGaps> rows(tokens.offsets.size() - 1);
  ForRows(tokens.offsets, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      RowGaps& gaps = rows[row];
      for (auto j = static_cast<size_t>(tokens.offsets[row]);
           j < static_cast<size_t>(tokens.offsets[row + 1]); ++j) {
        if (!InPopulation(state[j])) continue;
        const auto rollout = static_cast<double>(tokens.logp_rollout[j]);
        const double gap = static_cast<double>(tokens.logp_train[j]) - rollout;
        ++gaps.n;
        gaps.sum += gap;
        gaps.broken = gaps.broken || std::isnan(gap) || gap == kInfinity;
        if (logp_top.empty()) continue;
        const double top = rollout - static_cast<double>(logp_top[j]);
        gaps.broken = gaps.broken || std::isnan(top);
        gaps.smallest_top = std::min(gaps.smallest_top, top);
      }
    }
  });
  return rows;
}

}  // namespace

template <typename T>
Result<PrecisionFiltered> FilterByPrecision(const Index& index, const Tokens<T>& tokens,
                                            std::span<const T> logp_top,
                                            const PrecisionOptions& options,
                                            std::span<TokenState> state) {
  ASSAY_RETURN_IF_ERROR(CheckOffsets(tokens.offsets, index.rows(), state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_train", tokens.logp_train.size(), state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_rollout", tokens.logp_rollout.size(), state.size()));
  ASSAY_RETURN_IF_ERROR(CheckSize("logp_top", logp_top.size(), state.size(), true));
  if (!(options.mean_limit >= 0) || !(options.gap_floor <= 0)) {
    return Err(ErrorCode::kInvalid,
               "mean_limit is {}, it must be >= 0; gap_floor is {}, it must be <= 0",
               options.mean_limit, options.gap_floor);
  }
  const std::vector<RowGaps> rows = Scan(tokens, logp_top, state);
  for (size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].broken)
      return Err(ErrorCode::kInvalid,
                 "row {}: a log-probability of a response token is nan or infinite", row);
  }
  PrecisionFiltered out;
  out.gates.assign(rows.size(), 0);
  std::vector<TokenState> reasons(rows.size(), 0);
  double samples = 0;
  double by_mean = 0;
  double by_top = 0;
  double dropped = 0;
  double largest = 0;
  double smallest = 0;
  for (size_t t = 0; t < index.trajectories(); ++t) {
    RowGaps total;
    for (const uint32_t row : index.turns_of(t)) {
      total.n += rows[row].n;
      total.sum += rows[row].sum;
      total.smallest_top = std::min(total.smallest_top, rows[row].smallest_top);
    }
    if (total.n == 0) continue;
    const double mean = std::abs(total.sum / static_cast<double>(total.n));
    uint8_t gates = mean > options.mean_limit ? kMeanGate : 0;
    if (total.smallest_top < options.gap_floor) gates |= kTopGate;
    samples += 1;
    by_mean += (gates & kMeanGate) != 0 ? 1 : 0;
    by_top += (gates & kTopGate) != 0 ? 1 : 0;
    dropped += gates != 0 ? 1 : 0;
    largest = std::max(largest, mean);
    if (!logp_top.empty()) smallest = std::min(smallest, total.smallest_top);
    for (const uint32_t row : index.turns_of(t)) {
      out.gates[row] = gates;
      if (gates != 0) reasons[row] = kGroup;
    }
  }
  RejectRows(tokens.offsets, reasons, false, state);
  const auto share = [&](double part) { return samples == 0 ? 0.0 : part / samples; };
  out.metrics = {{"precision_gate1_fraction", share(by_mean)},
                 {"precision_gate2_fraction", share(by_top)},
                 {"precision_dropped_fraction", share(dropped)},
                 {"precision_max_mean_gap", largest},
                 {"precision_min_top_gap", smallest}};
  return out;
}

#define ASSAY_INSTANTIATE(T)                                                       \
  template Result<PrecisionFiltered> FilterByPrecision<T>(                         \
      const Index&, const Tokens<T>&, std::span<const T>, const PrecisionOptions&, \
      std::span<TokenState>);
ASSAY_INSTANTIATE(float)
ASSAY_INSTANTIATE(double)
#undef ASSAY_INSTANTIATE

}  // namespace assay::rl
