#include "reward/reward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"
#include "reward/mode.h"

namespace assay {
namespace reward {
namespace {

constexpr double kRounding = 1e-9;

std::vector<Mode> MakeModes() {
  std::vector<Mode> modes = OwnModes();
  for (Mode& mode : PublishedModes()) modes.push_back(std::move(mode));
  for (Mode& mode : modes) mode.parameters.push_back({.name = kPayVoid, .fallback = false});
  return modes;
}

Result<const Mode*> Find(std::string_view name) {
  std::vector<std::string> names;
  for (const Mode& mode : Modes()) {
    if (mode.name == name) return &mode;
    names.push_back(mode.name);
  }
  return Err(ErrorCode::kNotFound, "there is no reward mode '{}'; there are {}",
             CleanText(TruncateMiddle(name, 100)), Join(names, ", "));
}

/// Why nothing can be learned from this verdict; empty when something can.
std::string WhyMasked(const Facts& facts, const Parameters& parameters) {
  if (facts.status == VerdictStatus::kInfraError) return "masked: an infrastructure fault";
  if (facts.status == VerdictStatus::kCancelled) return "masked: cancelled";
  if (facts.void_task && !parameters.Flag(kPayVoid))
    return "masked: a trivial program passes this task";
  if (facts.correct && facts.times && facts.roofline) {
    const double time = facts.times->candidate_us;
    const Plausibility plausibility =
        CheckPlausible(*facts.roofline, time, Uncertainty(facts.times->speedup));
    if (Unexplained(plausibility))
      return fmt::format("masked: {:.4g} us is less than the {} of {:.4g} us; {}", time,
                         plausibility == Plausibility::kCollapse ? "arithmetic" : "bound",
                         facts.roofline->bound_us,
                         plausibility == Plausibility::kCollapse
                             ? "an override of the bound says whether algebra explains it"
                             : "one is wrong");
  }
  return "";
}

}  // namespace

const std::vector<Mode>& Modes() {
  static const std::vector<Mode> kModes = MakeModes();
  return kModes;
}

}  // namespace reward

const std::vector<RewardMode>& RewardModes() {
  static const std::vector<RewardMode> kModes = [] {
    std::vector<RewardMode> modes;
    for (const reward::Mode& mode : reward::Modes()) {
      const Result<reward::Parameters> defaults = reward::Parameters::Make(mode.parameters, {});
      ASSAY_CHECK(defaults.ok());
      const Result<RewardRange> range = mode.range(*defaults);
      ASSAY_CHECK(range.ok());
      RewardMode row;
      row.name = mode.name;
      row.version = mode.version;
      row.low = range->low;
      row.high = range->high;
      row.summary = mode.summary;
      for (const reward::ParameterSpec& spec : mode.parameters)
        row.parameters[spec.name] = spec.fallback;
      row.source = mode.source;
      row.ranks_correct = mode.ranks_correct;
      modes.push_back(std::move(row));
    }
    return modes;
  }();
  return kModes;
}

Result<RewardRange> RangeOf(std::string_view mode, const json::object& parameters) {
  ASSAY_ASSIGN_OR_RETURN(const reward::Mode* found, reward::Find(mode));
  ASSAY_ASSIGN_OR_RETURN(const reward::Parameters checked,
                         reward::Parameters::Make(found->parameters, parameters));
  return found->range(checked);
}

bool NeedsProfile(std::string_view mode, const json::object& parameters) {
  const Result<const reward::Mode*> found = reward::Find(mode);
  if (!found.ok() || (*found)->needs_profile == nullptr) return false;
  const Result<reward::Parameters> checked =
      reward::Parameters::Make((*found)->parameters, parameters);
  return checked.ok() && (*found)->needs_profile(*checked);
}

Result<Reward> ComputeReward(std::string_view mode, const json::object& parameters,
                             const json::object& verdict) {
  ASSAY_ASSIGN_OR_RETURN(const reward::Mode* found, reward::Find(mode));
  ASSAY_ASSIGN_OR_RETURN(const reward::Parameters checked,
                         reward::Parameters::Make(found->parameters, parameters));
  ASSAY_ASSIGN_OR_RETURN(const RewardRange range, found->range(checked));
  ASSAY_ASSIGN_OR_RETURN(const reward::Facts facts, reward::ReadVerdict(verdict));
  Reward reward;
  reward.explanation = reward::WhyMasked(facts, checked);
  reward.masked = !reward.explanation.empty();
  if (reward.masked) return reward;
  if (facts.status == VerdictStatus::kRejectedCheat) {
    reward.value = range.low;
    reward.explanation = "an integrity violation: the least that the mode gives";
    return reward;
  }
  ASSAY_ASSIGN_OR_RETURN(reward::Paid paid, found->pay(facts, checked));
  if (!(paid.value >= range.low - reward::kRounding &&
        paid.value <= range.high + reward::kRounding))
    return Err(ErrorCode::kInternal, "mode {} gave {}, outside its range", mode, paid.value);
  reward.value = std::clamp(paid.value, range.low, range.high);
  reward.parts = std::move(paid.parts);
  reward.explanation = std::move(paid.how);
  return reward;
}

}  // namespace assay
