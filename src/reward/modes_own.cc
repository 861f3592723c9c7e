#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reward/mode.h"

namespace assay::reward {
namespace {

constexpr double kMostWeight = 1000;

ParameterSpec Weight(std::string_view name, double fallback) {
  return {.name = name, .fallback = fallback, .low = 0, .high = kMostWeight};
}

/// `base` for being correct, and up to `span` more.
Result<RewardRange> BaseAndSpan(const Parameters& parameters) {
  return RewardRange{0, parameters.Number("base") + parameters.Number("span")};
}

Paid NotCorrect() { return {.how = "not correct"}; }

std::string OfBound(double fraction) {
  return fmt::format("correct, at {:.1f} % of what the card allows", 100 * fraction);
}

std::string Times(double speedup) {
  return fmt::format("correct, {:.4g}x the reference's speed", speedup);
}

Result<Paid> PayRoofline(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return NotCorrect();
  Paid paid;
  ASSAY_ASSIGN_OR_RETURN(const double fraction, Fraction(facts, parameters, &paid.parts));
  const double base = parameters.Number("base");
  const double speed = parameters.Number("span") * std::pow(fraction, parameters.Number("power"));
  paid.parts["correct"] = base;
  paid.parts["speed"] = speed;
  paid.value = base + speed;
  paid.how = OfBound(fraction);
  return paid;
}

/// The anchored score 1 / (1 + (tk - tm) / (tb - tm)) has a pole where the baseline is as fast as
/// the target, and is above 1 for kernels faster than the target. Hence a baseline of at least
/// 1.05 tm and a kernel of at least tm.
Result<Paid> PaySol(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return NotCorrect();
  Paid paid;
  ASSAY_ASSIGN_OR_RETURN(const double fraction, Fraction(facts, parameters, &paid.parts));
  ASSAY_ASSIGN_OR_RETURN(const double target, Target(facts, parameters));
  ASSAY_ASSIGN_OR_RETURN(const double time, PaidTime(facts, parameters));
  const double gap = std::max(facts.times->reference_us, 1.05 * target) - target;
  const double score = 1 / (1 + (std::max(time, target) - target) / gap);
  const double base = parameters.Number("base");
  paid.parts["correct"] = base;
  paid.parts["score"] = score;
  paid.value = base + parameters.Number("span") * score;
  paid.how =
      fmt::format("{}, {:.3f} between the reference (0.5) and that (1)", OfBound(fraction), score);
  return paid;
}

/// No kernel gains more than the reference's distance from the bound; 2 % are the clock's.
double PhysicalCap(const Facts& facts) {
  return 1.02 * facts.times->reference_us / facts.roofline->bound_us;
}

Result<Paid> PaySpeedup(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return NotCorrect();
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  const double cap = facts.roofline ? std::min(parameters.Number("cap"), PhysicalCap(facts))
                                    : parameters.Number("cap");
  const double base = parameters.Number("base");
  Paid paid;
  paid.parts["correct"] = base;
  paid.parts["speedup"] = speedup;
  paid.parts["cap"] = cap;
  paid.value = base + std::min(speedup, cap);
  paid.how = Times(speedup);
  return paid;
}

Result<RewardRange> RangeSpeedup(const Parameters& parameters) {
  return RewardRange{0, parameters.Number("base") + parameters.Number("cap")};
}

Result<RewardRange> RangeLog(const Parameters& parameters) {
  const double low = parameters.Number("low");
  const double high = parameters.Number("high");
  if (low >= high) return Err(ErrorCode::kInvalid, "parameter low must be below high");
  return RewardRange{0,
                     parameters.Number("base") + parameters.Number("scale") * std::log(high / low)};
}

Result<Paid> PayLog(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return NotCorrect();
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  const double low = parameters.Number("low");
  const double speed = parameters.Number("scale") *
                       std::log(std::clamp(speedup, low, parameters.Number("high")) / low);
  Paid paid;
  paid.parts["correct"] = parameters.Number("base");
  paid.parts["speed"] = speed;
  paid.parts["speedup"] = speedup;
  paid.value = parameters.Number("base") + speed;
  paid.how = Times(speedup);
  return paid;
}

Result<RewardRange> RangeUnit(const Parameters& /*parameters*/) { return RewardRange{0, 1}; }

Result<Paid> PayFast(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return NotCorrect();
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  Paid paid;
  paid.parts["speedup"] = speedup;
  paid.value = speedup > parameters.Number("p") ? 1 : 0;
  paid.how = Times(speedup);
  return paid;
}

Result<RewardRange> RangeMilestones(const Parameters& parameters) {
  return RewardRange{0, 1 + static_cast<double>(parameters.Numbers("speedups").size())};
}

Result<Paid> PayMilestones(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return NotCorrect();
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  const std::vector<double> steps = parameters.Numbers("speedups");
  const auto passed =
      std::count_if(steps.begin(), steps.end(), [&](double step) { return speedup > step; });
  Paid paid;
  paid.parts["correct"] = 1.0;
  paid.parts["passed"] = passed;
  paid.parts["speedup"] = speedup;
  paid.value = 1 + static_cast<double>(passed);
  paid.how = fmt::format("{}, {} of {} milestones", Times(speedup), passed, steps.size());
  return paid;
}

Result<RewardRange> RangeLadder(const Parameters& /*parameters*/) { return RewardRange{0, 3}; }

/// How far a submission came that is not correct. A wrong result means that it ran.
Paid Rung(const Facts& facts) {
  if (facts.status == VerdictStatus::kIncorrect) return {.value = 0.3, .how = "ran, wrong result"};
  if (facts.compiled) return {.value = 0.2, .how = "compiled, did not run to its end"};
  if (facts.status != VerdictStatus::kInvalidSubmission)
    return {.value = 0.1, .how = "valid Python, did not compile"};
  return {.how = "not a valid submission"};
}

Result<Paid> PayLadder(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return Rung(facts);
  Paid paid;
  ASSAY_ASSIGN_OR_RETURN(const double fraction, Fraction(facts, parameters, &paid.parts));
  paid.parts["correct"] = 0.5;
  paid.parts["speed"] = 2.5 * fraction;
  paid.value = 0.5 + 2.5 * fraction;
  paid.how = OfBound(fraction);
  return paid;
}

Result<Paid> PayTiers(const Facts& facts, const Parameters& parameters) {
  Paid paid;
  paid.parts["compiled"] = facts.compiled ? 0.1 : 0.0;
  paid.parts["correct"] = facts.correct ? 0.2 : 0.0;
  paid.how = facts.correct ? "correct" : facts.compiled ? "compiled, not correct" : "not compiled";
  double speed = 0;
  if (facts.correct && parameters.Flag("timing")) {
    ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
    speed = 0.7 * std::clamp(std::log2(speedup) / 3, 0.0, 1.0);
    paid.parts["speedup"] = speedup;
    paid.how = Times(speedup);
  }
  paid.parts["speed"] = speed;
  paid.value = (facts.correct ? 0.3 : facts.compiled ? 0.1 : 0.0) + speed;
  return paid;
}

Result<RewardRange> RangeCoverage(const Parameters& parameters) {
  if (parameters.Number("from") >= parameters.Number("to"))
    return Err(ErrorCode::kInvalid, "parameter from must be below to");
  return BaseAndSpan(parameters);
}

/// A factor, not a summand: a summand would pay for making one's own kernels slower, which raises
/// their share.
Result<Paid> PayCoverage(const Facts& facts, const Parameters& parameters) {
  if (!facts.correct) return NotCorrect();
  Paid paid;
  ASSAY_ASSIGN_OR_RETURN(const double share, Coverage(facts, parameters.Text("of")));
  paid.parts["coverage"] = share;
  if (share < parameters.Number("least")) {
    paid.how = fmt::format("own kernels do {:.1f} % of the work, too little", 100 * share);
    return paid;
  }
  ASSAY_ASSIGN_OR_RETURN(const double fraction, Fraction(facts, parameters, &paid.parts));
  const double from = parameters.Number("from");
  const double factor = std::clamp((share - from) / (parameters.Number("to") - from), 0.0, 1.0);
  const double base = parameters.Number("base");
  const double speed = parameters.Number("span") * fraction * factor;
  paid.parts["factor"] = factor;
  paid.parts["correct"] = base;
  paid.parts["speed"] = speed;
  paid.value = base + speed;
  paid.how = fmt::format("{}, own kernels do {:.1f} %", OfBound(fraction), 100 * share);
  return paid;
}

Result<Paid> PayCorrectness(const Facts& facts, const Parameters& /*parameters*/) {
  return Paid{.value = facts.correct ? 1.0 : 0.0, .how = facts.correct ? "correct" : "not correct"};
}

/// The mode whose progress is paid; never progress itself.
const Mode& InnerMode(const Parameters& parameters) {
  const std::string_view name = parameters.Text("of");
  const auto found = std::find_if(Modes().begin(), Modes().end(),
                                  [&](const Mode& mode) { return mode.name == name; });
  ASSAY_CHECK(found != Modes().end());
  return *found;
}

Result<RewardRange> RangeProgress(const Parameters& parameters) {
  const Mode& mode = InnerMode(parameters);
  ASSAY_ASSIGN_OR_RETURN(const Parameters inner,
                         Parameters::Make(mode.parameters, parameters.Object("of_parameters")));
  ASSAY_ASSIGN_OR_RETURN(const RewardRange range, mode.range(inner));
  return RewardRange{0, std::max(range.high - parameters.Number("best"), 0.0)};
}

/// The potential is the best reward so far, from 0 on, so that an episode's sum is its best reward:
/// a bad first turn gains nothing, and the same kernel again is worth 0.
Result<Paid> PayProgress(const Facts& facts, const Parameters& parameters) {
  const Mode& mode = InnerMode(parameters);
  ASSAY_ASSIGN_OR_RETURN(const Parameters inner,
                         Parameters::Make(mode.parameters, parameters.Object("of_parameters")));
  ASSAY_ASSIGN_OR_RETURN(Paid paid, mode.pay(facts, inner));
  const double best = parameters.Number("best");
  paid.parts["now"] = paid.value;
  paid.parts["best"] = std::max(paid.value, best);
  paid.how += fmt::format("; {:.4g} against {:.4g} so far", paid.value, best);
  paid.value = std::max(paid.value - best, 0.0);
  return paid;
}

}  // namespace

std::vector<Mode> OwnModes() {
  const ParameterSpec base = Weight("base", 0.3);
  const ParameterSpec span = Weight("span", 2.7);
  const auto share = [](std::string_view name, double fallback) {
    return ParameterSpec{.name = name, .fallback = fallback, .low = 0, .high = 1};
  };
  return {
      {.name = "roofline",
       .version = "1",
       .summary = "correct: base + span * min(t_min / t_kernel, 1) ^ power, else 0",
       .parameters = {base,
                      span,
                      {.name = "power", .fallback = 1.0, .low = 0.1, .high = 10},
                      TargetSpec(),
                      EstimateSpec()},
       .range = BaseAndSpan,
       .pay = PayRoofline},
      {.name = "sol",
       .version = "1",
       .summary = "correct: base + span / (1 + (t_kernel - t_min) / (t_ref - t_min)), guarded",
       .parameters = {base, span, TargetSpec(), EstimateSpec()},
       .range = BaseAndSpan,
       .pay = PaySol},
      {.name = "speedup",
       .version = "1",
       .summary = "correct: base + min(speedup, cap, 1.02 t_ref / t_bound where known), else 0",
       .parameters = {base, Weight("cap", 3), EstimateSpec()},
       .range = RangeSpeedup,
       .pay = PaySpeedup},
      {.name = "log",
       .version = "1",
       .summary = "correct: base + scale * ln(speedup / low), speedup within [low, high], else 0",
       .parameters = {base,
                      Weight("scale", 1),
                      {.name = "low", .fallback = 0.25, .low = 0.001, .high = kMostWeight},
                      {.name = "high", .fallback = 3.0, .low = 0.001, .high = kMostWeight},
                      EstimateSpec()},
       .range = RangeLog,
       .pay = PayLog},
      {.name = "fast_p",
       .version = "1",
       .summary = "1 if correct and speedup > p, else 0",
       .parameters = {Weight("p", 1), EstimateSpec()},
       .range = RangeUnit,
       .pay = PayFast},
      {.name = "milestones",
       .version = "1",
       .summary =
           "correct: 1 + how many of `speedups` the lower bound of the speedup passes, else 0",
       .parameters = {{.name = "speedups",
                       .fallback = json::array{1.05, 1.5, 2.0, 3.0},
                       .low = 0.001,
                       .high = kMostWeight},
                      EstimateSpec("lower")},
       .range = RangeMilestones,
       .pay = PayMilestones},
      {.name = "ladder",
       .version = "1",
       .summary =
           "0.1 parses, 0.2 compiles, 0.3 runs, correct: 0.5 + 2.5 * min(t_min / t_kernel, 1)",
       .parameters = {TargetSpec(), EstimateSpec()},
       .range = RangeLadder,
       .pay = PayLadder},
      {.name = "tiers",
       .version = "1",
       .summary = "0.1 compiles, correct: 0.3 + 0.7 * log2(speedup) / 3 within [0, 0.7]",
       .parameters = {{.name = "timing", .fallback = true}, EstimateSpec()},
       .range = RangeUnit,
       .pay = PayTiers},
      {.name = "coverage",
       .version = "1",
       .summary =
           "correct: base + span * min(t_min / t_kernel, 1) * clip((k - from) / (to - from))",
       .parameters = {base,
                      span,
                      share("from", 0.3),
                      share("to", 0.8),
                      share("least", 0),
                      {.name = "of", .fallback = "time", .choices = {"time", "count"}},
                      TargetSpec(),
                      EstimateSpec()},
       .range = RangeCoverage,
       .pay = PayCoverage,
       .needs_profile = [](const Parameters&) { return true; }},
      {.name = "correctness",
       .version = "1",
       .summary = "1 if correct, else 0; needs no times",
       .parameters = {},
       .range = RangeUnit,
       .pay = PayCorrectness},
      {.name = "progress",
       .version = "1",
       .summary = "what mode `of` gives above `best`, the best of earlier turns, else 0",
       .parameters = {{.name = "best", .fallback = 0.0, .low = 0, .high = 1e9},
                      {.name = "of",
                       .fallback = "roofline",
                       .choices = {"roofline", "sol", "speedup", "log", "fast_p", "milestones",
                                   "ladder", "tiers", "coverage", "correctness"}},
                      {.name = "of_parameters", .fallback = json::object{}}},
       .range = RangeProgress,
       .pay = PayProgress,
       .needs_profile =
           [](const Parameters& parameters) {
             return NeedsProfile(parameters.Text("of"), parameters.Object("of_parameters"));
           }},
  };
}

}  // namespace assay::reward
