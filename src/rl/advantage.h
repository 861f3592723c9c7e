#pragma once

#include <span>
#include <string_view>

#include "rl/batch.h"
#include "rl/returns.h"

namespace assay::rl {

/// An estimator of the advantage is a choice on each of these axes. FindEstimator gives the named
/// ones; callers may change an axis.
struct Estimator {
  /// What is compared: each turn, or each trajectory (its scalar goes to all its turns).
  enum class Unit { kTurn, kTrajectory };
  /// The number compared. kReturn and kReward are a turn's; kTotal (sum of the turn rewards) and
  /// kLast (the last turn's reward) are a trajectory's.
  enum class Value { kReturn, kReward, kTotal, kLast };
  /// With whom it is compared: the same turn of the same group, the group, the whole batch.
  enum class Scope { kGroupTurn, kGroup, kBatch };
  /// What is subtracted. kOptimal is sum(value * W) / (sum(W) + 1e-8), W given per row. kGiven is
  /// the caller's `baseline` (ReMax: the reward of the greedy rollout).
  enum class Baseline { kNone, kMean, kLeaveOneOut, kOptimal, kGiven };
  /// What it is divided by: nothing; the unbiased standard deviation of the population; that of the
  /// others (1 where there are fewer than two).
  enum class Scale { kNone, kStd, kLeaveOneOutStd };
  /// A population of one: its own value; 0; value minus the mean of the same turn's (or, for
  /// trajectories, of all) other members in the whole batch; value minus the mean of the other
  /// members of its group, whatever their turn. Its own value if there are no others.
  enum class Single { kRaw, kZero, kTurnMean, kGroupMean };
  /// Who is a member of a population: rows that are kept; additionally, every trajectory by its
  /// last row whether kept or not.
  enum class Members { kKept, kEveryone };
  /// Advantage of rows that are no members: 0; their value, unscaled; their value treated with the
  /// population's baseline and scale.
  enum class Outside { kZero, kValue, kTreated };

  Unit unit = Unit::kTurn;
  Value value = Value::kReturn;
  Scope scope = Scope::kGroupTurn;
  Baseline baseline = Baseline::kLeaveOneOut;
  Scale scale = Scale::kNone;
  Single single = Single::kRaw;
  Members members = Members::kKept;
  Outside outside = Outside::kZero;
  double epsilon = 0.0;       ///< added to the standard deviation
  double smallest_std = 0.0;  ///< a standard deviation below it counts as 1
  bool allows_shaping = true;
};

/// trloo, grpo, turn_independent_grpo, erloo, erloo_norm, reinforce, turn_optimal_baseline,
/// optimal_baseline (over turns); grpo_std, rloo, dr_grpo, remax, last_optimal_baseline (over last
/// turns). The ones that work on tokens are in rl/token_advantage.h.
Result<Estimator> FindEstimator(std::string_view name);

/// "raw", "zero", "turn_mean", "group_mean".
Result<Estimator::Single> FindSingle(std::string_view name);
/// The estimator with another scale: "none", "std" or "leave_one_out_std". One that had none
/// divides by the deviation + 1e-8, so that identical values keep advantage 0.
Result<Estimator> WithScale(Estimator estimator, std::string_view name);

/// Optional inputs; empty spans where not needed.
struct AdvantageInputs {
  /// Population "kept": only rows with a nonzero entry (say, with a token left to train) enter
  /// baselines. Empty: the population before rejection.
  std::span<const uint8_t> trained = {};
  /// W of the optimal baselines: the row's sum of per-token weights over its kept tokens (>= 0).
  /// Not read in padding and void turns, which have none.
  std::span<const double> weight = {};
  /// Baseline::kGiven, per row; the last turn's entry counts for a trajectory.
  std::span<const double> baseline = {};
};

struct Advantages {
  std::vector<double> advantage;     ///< per row; to be multiplied by the row's token mask
  std::vector<double> value;         ///< per row: the number that was compared ("returns")
  std::vector<uint32_t> population;  ///< per row: members it was compared with, itself included; 0
                                     ///< for rows that are no members
};

/// Advantages of all rows, all finite. A population of identical values has advantage 0 exactly.
/// Fails with kInvalid on lengths, on options that an estimator does not take, if no row is a
/// member of anything where the estimator needs the batch's statistics, and on what is not finite:
/// inputs that are read, and an advantage that overflows.
Result<Advantages> ComputeAdvantages(const Index& index, const Rows& rows,
                                     const Estimator& estimator, const ReturnOptions& returns,
                                     const AdvantageInputs& inputs);

/// Weights by which prompts with noisy gradients count less, applied to `advantage` in place: with
/// sigma_k^2 = (E[A^2 W] - E[A sqrt(W)]^2) / (N - 1) over prompt k's N kept rows,
///
///     A <- A * rows * (1 / (sigma_k^2 + 1e-8)) / sum over prompts of the same
///
/// Prompts with one kept row weigh 0; if no prompt has two, nothing changes. Fails with kInvalid on
/// lengths and on a kept row's advantage or weight that is not finite.
Status WeighPromptsByVariance(const Index& index, std::span<const uint8_t> keep,
                              std::span<const double> weight, std::span<double> advantage);

/// Subtracts the mean and divides by the unbiased standard deviation over the rows with
/// `member` != 0, in place; other rows become 0. Nothing changes if that deviation is under 1e-6 or
/// there are fewer than two members. Fails with kInvalid on lengths and on a member's advantage
/// that is not finite.
Status StandardizeAdvantages(std::span<const uint8_t> member, std::span<double> advantage);

}  // namespace assay::rl
