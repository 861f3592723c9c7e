#include "rl/sampling.h"

#include <algorithm>
#include <cmath>

#include "rl/random.h"

namespace assay::rl {
namespace {

constexpr double kSmallestCoverage = 1e-8;
constexpr uint32_t kTrajectoryDraw = 0xFFFFFFFF;  // a turn number that no turn may have

/// Some configurations say "off" with a negative speedup.
bool SparesFast(const CoverageOptions& options) {
  return options.speedup_threshold && !(*options.speedup_threshold < 0);
}

double KeepProbability(double coverage, const CoverageOptions& options) {
  if (options.width == 0) return coverage >= options.threshold ? 1.0 : 0.0;
  return std::clamp((coverage - options.threshold) / options.width, 0.0, 1.0);
}

/// Coverage that each row is judged by.
std::vector<double> JudgedCoverage(const Index& index, const Outcomes& outcomes,
                                   const CoverageOptions& options, const RowCounts& counts) {
  std::vector<double> coverage(index.rows());
  for (size_t row = 0; row < coverage.size(); ++row) {
    coverage[row] = std::clamp(outcomes.coverage[row], 0.0, 1.0);
  }
  if (!options.geometric) return coverage;
  std::vector<double> judged(index.rows(), 0.0);
  for (size_t t = 0; t < index.trajectories(); ++t) {
    double sum = 0;
    double n = 0;
    for (const uint32_t row : index.turns_of(t)) {
      const bool counts_here = counts.trained[row] > 0 && !index.is_padding(row) &&
                               (!options.correct_only || outcomes.correct[row] != 0);
      if (!counts_here) continue;
      sum += std::log(std::max(coverage[row], kSmallestCoverage));
      n += 1;
    }
    const double mean = n == 0 ? 0.0 : std::exp(sum / n);
    for (const uint32_t row : index.turns_of(t)) judged[row] = mean;
  }
  return judged;
}

void SpreadRejection(const Index& index, Scope scope, std::vector<uint8_t>& rejected) {
  if (scope == Scope::kTurn) return;
  for (size_t t = 0; t < index.trajectories(); ++t) {
    const auto turns = index.turns_of(t);
    uint8_t seen = 0;
    if (scope == Scope::kTrajectory) {
      for (const uint32_t row : turns) seen |= rejected[row];
    }
    for (const uint32_t row : turns) {
      seen |= rejected[row];
      rejected[row] = index.is_padding(row) ? uint8_t{0} : seen;
    }
  }
}

Metrics CoverageMetrics(const Index& index, const Outcomes& outcomes, const RowCounts& counts,
                        std::span<const uint8_t> rejected) {
  double tokens = 0;
  double masked_tokens = 0;
  double correct = 0;
  double masked_correct = 0;
  double turns = 0;
  double sum = 0;
  double low = 1;
  double high = 0;
  for (size_t row = 0; row < index.rows(); ++row) {
    if (index.is_padding(row)) continue;
    const auto trained = static_cast<double>(counts.trained[row]);
    tokens += trained;
    masked_tokens += rejected[row] != 0 ? trained : 0;
    if (outcomes.correct[row] != 0) {
      correct += 1;
      masked_correct += rejected[row];
    }
    const double coverage = std::clamp(outcomes.coverage[row], 0.0, 1.0);
    turns += 1;
    sum += coverage;
    low = std::min(low, coverage);
    high = std::max(high, coverage);
  }
  double trajectories = 0;
  double masked_trajectories = 0;
  for (size_t t = 0; t < index.trajectories(); ++t) {
    if (index.last_of(t) == Index::kNone) continue;
    trajectories += 1;
    masked_trajectories +=
        std::ranges::any_of(index.turns_of(t), [&](uint32_t row) { return rejected[row] != 0; })
            ? 1
            : 0;
  }
  const auto share = [](double part, double whole) { return whole == 0 ? 0.0 : part / whole; };
  return {{"coverage_rs_masked_fraction", share(masked_tokens, tokens)},
          {"coverage_rs_seq_masked_fraction", share(masked_trajectories, trajectories)},
          {"coverage_rs_correct_only_masked_fraction", share(masked_correct, correct)},
          {"coverage_rs_mean_coverage", share(sum, turns)},
          {"coverage_rs_min_coverage", turns == 0 ? 0.0 : low},
          {"coverage_rs_max_coverage", high}};
}

Status Check(const Index& index, const Rows& rows, std::span<const int64_t> offsets,
             const Outcomes& outcomes, const CoverageOptions& options, size_t tokens) {
  ASSAY_RETURN_IF_ERROR(CheckOffsets(offsets, index.rows(), tokens));
  ASSAY_RETURN_IF_ERROR(CheckSize("trajectory", rows.trajectory.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("turn", rows.turn.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("correct", outcomes.correct.size(), index.rows()));
  ASSAY_RETURN_IF_ERROR(CheckSize("coverage", outcomes.coverage.size(), index.rows()));
  if (options.speedup_threshold && std::isnan(*options.speedup_threshold)) {
    return Err(ErrorCode::kInvalid, "speedup_threshold is nan; leave it out to turn it off");
  }
  ASSAY_RETURN_IF_ERROR(
      CheckSize("speedup", outcomes.speedup.size(), index.rows(), !SparesFast(options)));
  if (!(options.width >= 0) || std::isnan(options.threshold)) {
    return Err(ErrorCode::kInvalid, "coverage threshold {} and width {}: the width must be >= 0",
               options.threshold, options.width);
  }
  if (options.scope == Scope::kToken) {
    return Err(ErrorCode::kInvalid,
               "coverage is a turn's figure; use scope turn, suffix or trajectory");
  }
  for (size_t row = 0; row < index.rows(); ++row) {
    if (index.is_padding(row)) continue;
    if (std::isnan(outcomes.coverage[row])) {
      return Err(ErrorCode::kInvalid, "row {}: coverage is nan; give 0 where it is unknown", row);
    }
    if (rows.turn[row] >= int64_t{kTrajectoryDraw}) {
      return Err(ErrorCode::kInvalid,
                 "row {}: turn {} is too large to key a draw; number turns from 0", row,
                 rows.turn[row]);
    }
  }
  return {};
}

}  // namespace

Result<CoverageSampling> SampleByCoverage(const Index& index, const Rows& rows,
                                          std::span<const int64_t> offsets,
                                          const Outcomes& outcomes, const CoverageOptions& options,
                                          std::span<TokenState> state) {
  ASSAY_RETURN_IF_ERROR(Check(index, rows, offsets, outcomes, options, state.size()));
  const RowCounts counts = CountTokens(offsets, state);
  const std::vector<double> coverage = JudgedCoverage(index, outcomes, options, counts);

  CoverageSampling result;
  result.keep_probability.assign(index.rows(), 1.0);
  result.rejected.assign(index.rows(), 0);
  for (size_t row = 0; row < index.rows(); ++row) {
    if (index.is_padding(row)) continue;
    const bool fast = SparesFast(options) && outcomes.speedup[row] >= *options.speedup_threshold;
    if (outcomes.correct[row] != 0 && !fast) {
      result.keep_probability[row] = KeepProbability(coverage[row], options);
    }
    const uint32_t turn =
        options.draw_per_trajectory ? kTrajectoryDraw : static_cast<uint32_t>(rows.turn[row]);
    const double draw =
        UniformAt(options.seed, options.step, static_cast<uint64_t>(rows.trajectory[row]), turn);
    result.rejected[row] = draw < result.keep_probability[row] ? 0 : 1;
  }
  SpreadRejection(index, options.scope, result.rejected);
  result.metrics = CoverageMetrics(index, outcomes, counts, result.rejected);

  std::vector<TokenState> reasons(index.rows());
  for (size_t row = 0; row < reasons.size(); ++row) {
    reasons[row] = result.rejected[row] != 0 ? kCoverage : 0;
  }
  RejectRows(offsets, reasons, false, state);
  return result;
}

}  // namespace assay::rl
