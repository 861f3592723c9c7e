#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rl/batch.h"
#include "rl/mismatch.h"
#include "rl/token_state.h"

namespace assay::rl {

/// Profiling-based rejection sampling: a correct turn whose own kernels take too small a share of
/// the time is not reinforced. It keeps a turn with probability
///
///     p = 1                                             if it is not correct
///     p = clip((c - threshold) / width, 0, 1)           if it is; [c >= threshold] if width is 0
///     p = 1                                             if speedup >= speedup_threshold
///
/// where c is the turn's coverage limited to [0, 1], or with `geometric` the geometric mean over
/// the trajectory's turns that still have a trained token, coverage taken as at least 1e-8.
struct CoverageOptions {
  bool geometric = false;
  /// Geometric: leave incorrect turns out of the mean (they have coverage 0 and drag it to 0).
  bool correct_only = false;
  double threshold = 0.3;
  double width = 0.1;
  std::optional<double> speedup_threshold;  ///< absent or negative: off
  /// What a rejected turn takes along: kTurn, kSuffix or kTrajectory.
  Scope scope = Scope::kTurn;
  /// One draw for the trajectory instead of one per turn.
  bool draw_per_trajectory = false;
  /// Draws depend on (seed, step, trajectory, turn) only: not on the order of rows, on other rows,
  /// nor on how often a batch is drawn for.
  uint64_t seed = 0;
  uint32_t step = 0;
};

struct CoverageSampling {
  std::vector<double> keep_probability;  ///< per row
  std::vector<uint8_t> rejected;         ///< per row, 1: rejected (scope included)
  /// coverage_rs_masked_fraction (of tokens trained before), coverage_rs_seq_masked_fraction
  /// (trajectories with a rejected turn), coverage_rs_correct_only_masked_fraction (rejected
  /// correct turns of all correct turns), coverage_rs_mean_coverage, _min_, _max_ (all turns).
  Metrics metrics;
};

/// Draws and marks rejected turns' response tokens with kCoverage. Padding rows are never rejected.
/// `rows` supplies trajectory ids and turns for the draws. Fails with kInvalid on lengths, NaN
/// coverage, negative width, scope token, and turns that have no 32-bit number.
Result<CoverageSampling> SampleByCoverage(const Index& index, const Rows& rows,
                                          std::span<const int64_t> offsets,
                                          const Outcomes& outcomes, const CoverageOptions& options,
                                          std::span<TokenState> state);

}  // namespace assay::rl
