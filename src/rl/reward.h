#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"

namespace assay::rl {

/// What one evaluation found, as far as rewards care. Times are of the profiled run.
struct Evaluation {
  bool completed = false;  ///< the evaluation itself ran to its end
  bool compiled = false;
  bool correct = false;
  bool decoy = false;             ///< the submission's own kernels never did the work
  std::optional<double> speedup;  ///< reference over candidate; absent counts as 0
  double own_kernels = 0;         ///< launches of the submission's own kernels
  double all_kernels = 0;         ///< all kernel launches
  double own_time_us = 0;         ///< time in the submission's own kernels
  double all_time_us = 0;         ///< time in all kernels
};

enum class CoverageType { kTime, kNumber };

/// "time_coverage" or "number_coverage".
Result<CoverageType> FindCoverageType(std::string_view name);

/// Share of time (or of launches) in the submission's own kernels, limited to [0, 1]; 0 where the
/// denominator is 0 or less, and for incorrect submissions.
double Coverage(const Evaluation& evaluation, CoverageType type);

/// Parameters of the reward functions; the defaults are those of the published recipe.
struct RewardOptions {
  double correct_weight = 0.5;
  double performance_weight = 0.5;
  double penalty = 0.0;           ///< of submissions without a result, and of decoys
  double speedup_epsilon = 0.01;  ///< "faster" starts at 1 + this
  double speedup_upper = 3.0;     ///< speedups above count as this
  double speedup_lower = 0.0;     ///< speedups below count as 0
  bool coverage = true;
  double coverage_weight = 0.5;
  CoverageType coverage_type = CoverageType::kTime;
  /// Round coverage to two decimals first, as records of the original system hold it.
  bool round_coverage = false;
  double compilation_fail = -0.5;  ///< staircase and graded, as the next
  double correctness_fail = -0.3;
  double slower = -0.1;  ///< staircase: correct, but slower than the reference
};

/// A reward is its value and the parts that it is the sum of.
struct Reward {
  double value = 0;
  double correctness = 0;
  double performance = 0;
  double coverage = 0;
};

/// The reward functions are pure and versioned: a version's formula never changes.
enum class RewardFunction {
  /// speedup/1: penalty without a result or for a decoy, else
  ///     w_c [correct] + w_p s + (correct and coverage on) w_k coverage
  /// with s = min(speedup, upper), 0 if that is below lower.
  kSpeedup,
  /// weighted/1: the same with [speedup >= 1 + epsilon] for s.
  kWeighted,
  /// staircase/1: -1 without a result or for a decoy; compilation_fail; correctness_fail; correct
  /// ones 1, 0.8, 0.6, 0.4, 0.2 at speedups of 3, 2, 1.5, 1.2, 1, else `slower`.
  kStaircase,
  /// graded/1: speedup/1 for correct submissions, whose speed alone it pays; compilation_fail and
  /// correctness_fail for those that fail so, which tells them apart where nobody in a group is
  /// right; penalty without a result or for a decoy.
  kGraded,
};

/// "speedup/1", "weighted/1", "staircase/1", "graded/1", or without the version its newest.
Result<RewardFunction> FindRewardFunction(std::string_view name);

/// Fails with kInvalid if a figure that the formula reads, or its result, is not finite.
Result<Reward> ComputeReward(RewardFunction function, const Evaluation& evaluation,
                             const RewardOptions& options);

}  // namespace assay::rl
