// Rewards of published systems, exact in what they compute from a verdict, for comparisons. What a
// system read from its own measurements is read from Assay's.
#include <fmt/format.h>

#include <algorithm>

#include "reward/mode.h"
#include "rl/reward.h"

namespace assay::reward {
namespace {

// ReadVerdict lets no larger speedup through, so this bounds rewards that have no cap of their own.
constexpr double kMostSpeedup = 1e9;

std::string Times(double speedup) {
  return fmt::format("correct, {:.4g}x the reference's speed", speedup);
}

Result<Paid> PayKevin(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return Paid{.how = "not correct"};
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  Paid paid;
  paid.parts["correct"] = 0.3;
  paid.parts["speedup"] = speedup;
  paid.value = 0.3 + speedup;
  paid.how = Times(speedup);
  return paid;
}

Result<RewardRange> RangeKevin(const Parameters& /*parameters*/) {
  return RewardRange{0, 0.3 + kMostSpeedup};
}

rl::RewardOptions DrKernelOptions(const Parameters& parameters) {
  rl::RewardOptions options;
  options.correct_weight = parameters.Number("correct_weight");
  options.performance_weight = parameters.Number("performance_weight");
  options.penalty = parameters.Number("penalty");
  options.speedup_epsilon = parameters.Number("speedup_epsilon");
  options.speedup_upper = parameters.Number("speedup_upper");
  options.speedup_lower = parameters.Number("speedup_lower");
  options.coverage = parameters.Flag("coverage");
  options.coverage_weight = parameters.Number("coverage_weight");
  options.round_coverage = parameters.Flag("round_coverage");
  options.compilation_fail = parameters.Number("compilation_fail");
  options.correctness_fail = parameters.Number("correctness_fail");
  options.slower = parameters.Number("slower");
  return options;
}

Result<RewardRange> RangeDrKernel(const Parameters& parameters) {
  const rl::RewardOptions options = DrKernelOptions(parameters);
  const std::string_view function = parameters.Text("function");
  if (function == "staircase") return RewardRange{-1, 1};
  const double gain = function == "speedup" ? options.speedup_upper : 1;
  return RewardRange{options.penalty, options.correct_weight + options.performance_weight * gain +
                                          (options.coverage ? options.coverage_weight : 0)};
}

Result<Paid> PayDrKernel(const Facts& facts, const Parameters& parameters) {
  rl::Evaluation evaluation;
  // Its server answers "failed" to all that gave no result to compare, compile errors among them.
  evaluation.completed = facts.correct || facts.status == VerdictStatus::kIncorrect;
  evaluation.compiled = facts.compiled;
  evaluation.correct = facts.correct;
  evaluation.decoy = facts.decoy;
  const std::string_view function = parameters.Text("function");
  if (facts.correct && !facts.decoy) {
    ASSAY_ASSIGN_OR_RETURN(evaluation.speedup, Speedup(facts, parameters));
    if (parameters.Flag("coverage") && function != "staircase") {
      ASSAY_ASSIGN_OR_RETURN(evaluation.own_time_us,
                             Coverage(facts, parameters.Text("coverage_type")));
      evaluation.all_time_us = 1;
    }
  }
  ASSAY_ASSIGN_OR_RETURN(const rl::RewardFunction formula, rl::FindRewardFunction(function));
  ASSAY_ASSIGN_OR_RETURN(const rl::Reward reward,
                         rl::ComputeReward(formula, evaluation, DrKernelOptions(parameters)));
  Paid paid{.value = reward.value};
  paid.parts["correct"] = reward.correctness;
  paid.parts["performance"] = reward.performance;
  paid.parts["coverage"] = reward.coverage;
  paid.how = facts.decoy ? "decoy" : facts.correct ? Times(*evaluation.speedup) : "not correct";
  return paid;
}

Result<RewardRange> RangeKernrl(const Parameters& /*parameters*/) { return RewardRange{-0.5, 2}; }

Result<Paid> PayKernrl(const Facts& facts, const Parameters& parameters) {
  if (!facts.compiled) return Paid{.value = -0.5, .how = "not compiled"};
  if (!facts.correct) return Paid{.value = -0.25, .how = "compiled, not correct"};
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  Paid paid;
  paid.parts["speedup"] = speedup;
  paid.value = speedup < 1 ? (speedup - 1) / 2 : std::min(speedup - 1, 2.0);
  paid.how = Times(speedup);
  return paid;
}

Result<RewardRange> RangeCudaAgent(const Parameters& /*parameters*/) { return RewardRange{-1, 3}; }

Result<Paid> PayCudaAgent(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return Paid{.value = -1, .how = "not correct"};
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  if (!facts.over_compile)
    return Err(ErrorCode::kUnavailable,
               "the verdict has no timing.baselines.compile: torch.compile was not timed");
  const double over_compile = Estimate(*facts.over_compile, parameters);
  const double margin = 1 + parameters.Number("margin");
  const bool eager = speedup > margin;
  const bool compile = over_compile > margin;
  Paid paid;
  paid.parts["speedup"] = speedup;
  paid.parts["speedup_over_compile"] = over_compile;
  paid.value = 1 + (eager ? 1 : 0) + (eager && compile ? 1 : 0);
  paid.how = fmt::format("{}, {:.4g}x torch.compile's", Times(speedup), over_compile);
  return paid;
}

Result<RewardRange> RangeKernelBench(const Parameters& /*parameters*/) { return RewardRange{0, 1}; }

/// KernelBench divides two separately measured times; Assay's speedup is paired.
Result<Paid> PayKernelBench(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return Paid{.how = "not correct"};
  if (!facts.times)
    return Err(ErrorCode::kUnavailable, "the verdict has no speedup: {}", facts.untimed);
  const double speedup = facts.times->reference_us / facts.times->candidate_us;
  Paid paid;
  paid.parts["speedup"] = speedup;
  for (const char* p : {"0", "0.5", "0.8", "1", "1.5", "2"})
    paid.parts[fmt::format("fast_{}", p)] = speedup > std::stod(p) ? 1 : 0;
  paid.value = speedup > parameters.Number("p") ? 1 : 0;
  paid.how = Times(speedup);
  return paid;
}

}  // namespace

std::vector<Mode> PublishedModes() {
  const auto number = [](std::string_view name, double fallback, double low, double high) {
    return ParameterSpec{.name = name, .fallback = fallback, .low = low, .high = high};
  };
  return {
      {.name = "kevin",
       .version = "1",
       .summary = "correct: 0.3 + speedup, without a cap, else 0",
       .source = "Kevin-32B, arXiv 2507.11948",
       .parameters = {EstimateSpec()},
       .range = RangeKevin,
       .pay = PayKevin},
      {.name = "drkernel",
       .version = "1",
       .summary =
           "0.5 [correct] + 0.5 min(speedup, 3) + 0.5 coverage [correct]; decoys get a penalty",
       .source = "Dr. Kernel, arXiv 2602.05885",
       .parameters = {{.name = "function",
                       .fallback = "speedup",
                       .choices = {"speedup", "weighted", "staircase"}},
                      number("correct_weight", 0.5, 0, 100),
                      number("performance_weight", 0.5, 0, 100),
                      number("penalty", 0, -100, 0),
                      number("speedup_epsilon", 0.01, 0, 10),
                      number("speedup_upper", 3, 0, kMostSpeedup),
                      number("speedup_lower", 0, 0, 100),
                      {.name = "coverage", .fallback = true},
                      number("coverage_weight", 0.5, 0, 100),
                      {.name = "coverage_type", .fallback = "time", .choices = {"time", "count"}},
                      {.name = "round_coverage", .fallback = false},
                      number("compilation_fail", -0.5, -1, -0.1),
                      number("correctness_fail", -0.3, -1, -0.1),
                      number("slower", -0.1, -0.1, 0.2),
                      EstimateSpec()},
       .range = RangeDrKernel,
       .pay = PayDrKernel,
       .needs_profile =
           [](const Parameters& parameters) {
             return parameters.Flag("coverage") && parameters.Text("function") != "staircase";
           }},
      {.name = "kernrl",
       .version = "1",
       .summary = "-0.5 not compiled, -0.25 wrong, (s - 1) / 2 if slower, min(s - 1, 2) if faster",
       .source = "kernrl, OpenEnv pull request 308",
       .ranks_correct = false,
       .parameters = {EstimateSpec()},
       .range = RangeKernrl,
       .pay = PayKernrl},
      {.name = "cuda_agent",
       .version = "1",
       .summary = "-1 wrong, 1 correct, 2 over 5 % faster than eager, 3 also than torch.compile",
       .source = "CUDA Agent, arXiv 2602.24286",
       .parameters = {number("margin", 0.05, 0, 10), EstimateSpec()},
       .range = RangeCudaAgent,
       .pay = PayCudaAgent},
      {.name = "kernelbench",
       .version = "1",
       .summary = "1 if correct and t_ref / t_kernel > p, else 0: a task's share of fast_p",
       .source = "KernelBench, arXiv 2502.10517",
       .parameters = {number("p", 1, 0, 1000)},
       .range = RangeKernelBench,
       .pay = PayKernelBench},
  };
}

}  // namespace assay::reward
