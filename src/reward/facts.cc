#include "reward/facts.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace assay::reward {
namespace {

// No clock reads a tenth of a nanosecond, and no deadline lasts four months.
constexpr double kLeastUs = 1e-4;
constexpr double kMostUs = 1e13;
// From the shortest kernel to the slowest reference are six orders of magnitude.
constexpr double kMostSpeedup = 1e9;

Fault FaultOf(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kCorrect:
    case VerdictStatus::kCancelled:
      return Fault::kNone;
    case VerdictStatus::kRejectedCheat:
      return Fault::kIntegrity;
    case VerdictStatus::kInfraError:
      return Fault::kInfrastructure;
    default:
      return Fault::kCandidate;
  }
}

Result<bool> Boolean(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_bool())
    return Err(ErrorCode::kInvalid, "the verdict's '{}' must be true or false", name);
  return value->get_bool();
}

/// A member that must be an object if it is there; nullptr where it is absent or null.
Result<const json::object*> Member(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return static_cast<const json::object*>(nullptr);
  if (!value->is_object())
    return Err(ErrorCode::kInvalid, "the verdict's '{}' must be an object", name);
  return &value->get_object();
}

/// A number in [low, high]. NaN compares false, so it is refused too.
Result<double> Number(const json::object& object, std::string_view name, double low, double high) {
  const json::value* value = object.if_contains(name);
  const double number =
      value != nullptr && value->is_number() ? value->to_number<double>() : std::nan("");
  if (number >= low && number <= high) return number;
  return Err(ErrorCode::kInvalid, "the verdict's '{}' must be a number from {} to {}", name, low,
             high);
}

Result<Ratio> Interval(const json::object& object, std::string_view what) {
  Ratio ratio;
  ASSAY_ASSIGN_OR_RETURN(ratio.value, Number(object, "value", 1 / kMostSpeedup, kMostSpeedup));
  ASSAY_ASSIGN_OR_RETURN(ratio.low, Number(object, "low", 1 / kMostSpeedup, kMostSpeedup));
  ASSAY_ASSIGN_OR_RETURN(ratio.high, Number(object, "high", 1 / kMostSpeedup, kMostSpeedup));
  if (ratio.low > ratio.value || ratio.value > ratio.high)
    return Err(ErrorCode::kInvalid, "the interval of {} does not hold its value", what);
  return ratio;
}

Status ReadTimes(const json::object& timing, Facts* facts) {
  ASSAY_ASSIGN_OR_RETURN(const json::object* candidate, Member(timing, "candidate_us"));
  ASSAY_ASSIGN_OR_RETURN(const json::object* reference, Member(timing, "reference_us"));
  ASSAY_ASSIGN_OR_RETURN(const json::object* speedup, Member(timing, "speedup"));
  facts->untimed = GetString(timing, "note");
  if (facts->untimed.empty()) facts->untimed = "it was not timed";
  if (candidate == nullptr || reference == nullptr || speedup == nullptr) return {};
  ASSAY_ASSIGN_OR_RETURN(const bool meaningful, Boolean(timing, "meaningful"));
  if (!meaningful) return {};
  Times times;
  ASSAY_ASSIGN_OR_RETURN(times.candidate_us, Number(*candidate, "median", kLeastUs, kMostUs));
  ASSAY_ASSIGN_OR_RETURN(times.reference_us, Number(*reference, "median", kLeastUs, kMostUs));
  ASSAY_ASSIGN_OR_RETURN(times.speedup, Interval(*speedup, "timing.speedup"));
  facts->times = times;
  ASSAY_ASSIGN_OR_RETURN(const json::object* baselines, Member(timing, "baselines"));
  if (baselines == nullptr) return {};
  ASSAY_ASSIGN_OR_RETURN(const json::object* compile, Member(*baselines, "compile"));
  if (compile == nullptr) return {};
  ASSAY_ASSIGN_OR_RETURN(facts->over_compile, Interval(*compile, "timing.baselines.compile"));
  return {};
}

Status ReadProfile(const json::object& profile, Facts* facts) {
  const std::pair<const char*, std::optional<double>*> shares[] = {
      {"coverage_time", &facts->coverage_time}, {"coverage_count", &facts->coverage_count}};
  for (const auto& [name, share] : shares) {
    const json::value* value = profile.if_contains(name);
    if (value == nullptr || value->is_null()) continue;
    ASSAY_ASSIGN_OR_RETURN(*share, Number(profile, name, 0, 1));
  }
  return {};
}

}  // namespace

Result<Facts> ReadVerdict(const json::object& verdict) {
  if (GetString(verdict, "schema") != kVerdictSchema)
    return Err(ErrorCode::kInvalid, "not a verdict: its 'schema' is not \"{}\"", kVerdictSchema);
  Facts facts;
  const std::string word = GetString(verdict, "status");
  const auto* status = std::find_if(std::begin(kVerdictStatuses), std::end(kVerdictStatuses),
                                    [&](VerdictStatus each) { return ToString(each) == word; });
  if (status == std::end(kVerdictStatuses))
    return Err(ErrorCode::kInvalid, "the verdict's 'status' is none that Assay knows");
  facts.status = *status;
  ASSAY_ASSIGN_OR_RETURN(facts.compiled, Boolean(verdict, "compiled"));
  ASSAY_ASSIGN_OR_RETURN(facts.correct, Boolean(verdict, "correct"));
  if (facts.correct != (facts.status == VerdictStatus::kCorrect) ||
      (facts.correct && !facts.compiled) ||
      GetString(verdict, "fault") != ToString(FaultOf(facts.status)))
    return Err(ErrorCode::kInvalid,
               "the verdict contradicts itself: status {} with its fault, compiled and correct",
               word);
  for (const json::value& flag : GetArray(verdict, "flags")) {
    if (!flag.is_string()) return Err(ErrorCode::kInvalid, "the verdict's flags must be strings");
    facts.void_task = facts.void_task || flag.get_string() == "void_task";
    facts.decoy = facts.decoy || flag.get_string() == "decoy";
  }
  if (!facts.correct) return facts;

  ASSAY_ASSIGN_OR_RETURN(const json::object* timing, Member(verdict, "timing"));
  if (timing == nullptr) return Err(ErrorCode::kInvalid, "the verdict has no 'timing'");
  ASSAY_RETURN_IF_ERROR(ReadTimes(*timing, &facts));
  ASSAY_ASSIGN_OR_RETURN(const json::object* profile, Member(verdict, "profile"));
  if (profile != nullptr) ASSAY_RETURN_IF_ERROR(ReadProfile(*profile, &facts));
  ASSAY_ASSIGN_OR_RETURN(const json::object* roofline, Member(verdict, "roofline"));
  if (roofline != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(facts.roofline, ReadRoofline(*roofline));
  }
  return facts;
}

}  // namespace assay::reward
