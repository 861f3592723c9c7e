#include "rl/reward.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace assay::rl {
namespace {

double Ratio(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0.0;
}

/// To two decimals as decimal arithmetic does it: of the exact value, ties to even. 0.995 is a
/// little less than that and becomes 0.99, though 100 times it is 99.5 in double.
double RoundedToHundredths(double x) {
  const double hundredfold = x * 100.0;
  const double lost = std::fma(x, 100.0, -hundredfold);
  double whole = std::nearbyint(hundredfold);
  if (hundredfold - whole == 0.5 && lost > 0) whole += 1;
  if (hundredfold - whole == -0.5 && lost < 0) whole -= 1;
  return whole / 100.0;
}

double Staircase(double speedup, const RewardOptions& options) {
  constexpr auto kSteps = std::to_array<std::pair<double, double>>(
      {{3.0, 1.0}, {2.0, 0.8}, {1.5, 0.6}, {1.2, 0.4}, {1.0, 0.2}});
  for (const auto& [from, value] : kSteps) {
    if (speedup >= from) return value;
  }
  return options.slower;
}

Reward Parts(RewardFunction function, const Evaluation& evaluation, double speedup,
             const RewardOptions& options) {
  Reward reward;
  reward.correctness = evaluation.correct ? options.correct_weight : 0.0;
  if (function != RewardFunction::kWeighted) {
    const double limited = std::min(speedup, options.speedup_upper);
    reward.performance =
        options.performance_weight * (limited < options.speedup_lower ? 0.0 : limited);
  } else if (speedup >= 1.0 + options.speedup_epsilon) {
    reward.performance = options.performance_weight;
  }
  if (evaluation.correct && options.coverage) {
    double coverage = Coverage(evaluation, options.coverage_type);
    if (options.round_coverage) coverage = RoundedToHundredths(coverage);
    reward.coverage = options.coverage_weight * coverage;
  }
  reward.value = reward.correctness + reward.performance + reward.coverage;
  return reward;
}

}  // namespace

Result<CoverageType> FindCoverageType(std::string_view name) {
  if (name == "time_coverage") return CoverageType::kTime;
  if (name == "number_coverage") return CoverageType::kNumber;
  return Err(ErrorCode::kInvalid, "no coverage type '{}'; use time_coverage or number_coverage",
             name);
}

double Coverage(const Evaluation& evaluation, CoverageType type) {
  if (!evaluation.correct) return 0.0;
  return type == CoverageType::kTime ? Ratio(evaluation.own_time_us, evaluation.all_time_us)
                                     : Ratio(evaluation.own_kernels, evaluation.all_kernels);
}

Result<RewardFunction> FindRewardFunction(std::string_view name) {
  if (name == "speedup" || name == "speedup/1") return RewardFunction::kSpeedup;
  if (name == "weighted" || name == "weighted/1") return RewardFunction::kWeighted;
  if (name == "staircase" || name == "staircase/1") return RewardFunction::kStaircase;
  if (name == "graded" || name == "graded/1") return RewardFunction::kGraded;
  return Err(ErrorCode::kInvalid,
             "no reward function '{}'; there are speedup/1, weighted/1, staircase/1 and graded/1",
             name);
}

Result<Reward> ComputeReward(RewardFunction function, const Evaluation& evaluation,
                             const RewardOptions& options) {
  const double speedup = evaluation.speedup.value_or(0.0);
  const std::pair<const char*, double> figures[] = {{"speedup", speedup},
                                                    {"own_time_us", evaluation.own_time_us},
                                                    {"all_time_us", evaluation.all_time_us},
                                                    {"own_kernels", evaluation.own_kernels},
                                                    {"all_kernels", evaluation.all_kernels}};
  for (const auto& [name, value] : figures) {
    if (!std::isfinite(value)) return Err(ErrorCode::kInvalid, "{} is {}", name, value);
  }
  const auto flat = [](double value) -> Result<Reward> {
    if (std::isfinite(value)) return Reward{.value = value};
    return Err(ErrorCode::kInvalid, "the value of a failure is {}, no finite number", value);
  };
  const bool failed = !evaluation.completed || evaluation.decoy;
  if (function == RewardFunction::kStaircase) {
    if (failed) return flat(-1.0);
    if (!evaluation.compiled) return flat(options.compilation_fail);
    if (!evaluation.correct) return flat(options.correctness_fail);
    return flat(Staircase(speedup, options));
  }
  if (failed) return flat(options.penalty);
  if (function == RewardFunction::kGraded && !evaluation.correct) {
    return flat(evaluation.compiled ? options.correctness_fail : options.compilation_fail);
  }
  Reward reward = Parts(function, evaluation, speedup, options);
  if (!std::isfinite(reward.value)) {
    return Err(ErrorCode::kInvalid, "the reward comes out as {}; check the weights and limits",
               reward.value);
  }
  return reward;
}

}  // namespace assay::rl
