#include <algorithm>

#include "reward/mode.h"

namespace assay::reward {

ParameterSpec EstimateSpec(std::string_view fallback) {
  return {.name = "estimate", .fallback = json::string(fallback), .choices = {"median", "lower"}};
}

double Estimate(const Ratio& ratio, const Parameters& parameters) {
  return parameters.Text("estimate") == "lower" ? ratio.low : ratio.value;
}

Result<double> Speedup(const Facts& facts, const Parameters& parameters) {
  if (!facts.times)
    return Err(ErrorCode::kUnavailable, "the verdict has no speedup: {}", facts.untimed);
  return Estimate(facts.times->speedup, parameters);
}

Result<double> PaidTime(const Facts& facts, const Parameters& parameters) {
  ASSAY_ASSIGN_OR_RETURN(const double speedup, Speedup(facts, parameters));
  // A lower bound of the speedup is an upper bound of the time.
  return facts.times->candidate_us * (facts.times->speedup.value / speedup);
}

ParameterSpec TargetSpec() {
  return {
      .name = "t_min", .fallback = "attainable", .choices = {"attainable", "calibrated", "bound"}};
}

Result<double> Target(const Facts& facts, const Parameters& parameters) {
  if (!facts.roofline)
    return Err(ErrorCode::kUnavailable,
               "the verdict has no roofline bound; use a mode that needs none, such as speedup");
  const std::string_view kind = parameters.Text("t_min");
  if (kind == "bound") return facts.roofline->bound_us;
  if (kind == "calibrated" && !facts.roofline->calibrated_us)
    return Err(ErrorCode::kUnavailable,
               "the verdict's card was not calibrated; run `assay calibrate`, or t_min=bound");
  return Attainable(*facts.roofline);
}

Result<double> Fraction(const Facts& facts, const Parameters& parameters, json::object* parts) {
  ASSAY_ASSIGN_OR_RETURN(const double target, Target(facts, parameters));
  ASSAY_ASSIGN_OR_RETURN(const double time, PaidTime(facts, parameters));
  const double fraction = std::min(target / time, 1.0);
  (*parts)["t_min_us"] = target;
  (*parts)["t_kernel_us"] = time;
  (*parts)["fraction"] = fraction;
  return fraction;
}

Result<double> Coverage(const Facts& facts, std::string_view kind) {
  const std::optional<double>& share = kind == "count" ? facts.coverage_count : facts.coverage_time;
  if (!share)
    return Err(ErrorCode::kUnavailable,
               "the verdict has no profile.coverage_{}: no profile was made", kind);
  return *share;
}

}  // namespace assay::reward
