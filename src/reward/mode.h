#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "reward/facts.h"
#include "reward/parameters.h"
#include "reward/reward.h"

namespace assay::reward {

/// A mode's answer for a verdict that is neither masked nor an integrity violation.
struct Paid {
  double value = 0;
  json::object parts = {};
  std::string how = {};  ///< what the value rests on, for people: "1.8x the reference's speed"
};

/// A registered mode. To add one: a function in modes_own.cc or modes_published.cc and its row in
/// the list at that file's end; the property tests find it there.
struct Mode {
  std::string name;
  std::string version;
  std::string summary;
  std::string source = {};
  bool ranks_correct = true;
  std::vector<ParameterSpec> parameters;  ///< beside kPayVoid, which every mode has
  Result<RewardRange> (*range)(const Parameters&) = nullptr;  ///< kInvalid: they do not go together
  Result<Paid> (*pay)(const Facts&, const Parameters&) = nullptr;
  bool (*needs_profile)(const Parameters&) = nullptr;  ///< null: never
};

/// Every mode's parameter: pay on tasks that a trivial program passes.
inline constexpr std::string_view kPayVoid = "pay_void";

std::vector<Mode> OwnModes();
std::vector<Mode> PublishedModes();
const std::vector<Mode>& Modes();

// What modes are made of. Those that return a Result are kUnavailable where the verdict lacks it.

/// `estimate`: the measured figure, or the end of its 95 % interval that pays less.
ParameterSpec EstimateSpec(std::string_view fallback = "median");
/// Speedup over the reference by `estimate`.
Result<double> Speedup(const Facts& facts, const Parameters& parameters);
/// Microseconds of a call by `estimate`.
Result<double> PaidTime(const Facts& facts, const Parameters& parameters);
/// Reference over candidate as `ratio` by `estimate`.
double Estimate(const Ratio& ratio, const Parameters& parameters);

/// `t_min`: "attainable" (calibrated where the verdict has it), "calibrated", or "bound".
ParameterSpec TargetSpec();
Result<double> Target(const Facts& facts, const Parameters& parameters);

/// Target over paid time, at most 1; writes t_min_us, t_kernel_us and fraction into `parts`.
Result<double> Fraction(const Facts& facts, const Parameters& parameters, json::object* parts);

/// `kind` "time" or "count".
Result<double> Coverage(const Facts& facts, std::string_view kind);

}  // namespace assay::reward
