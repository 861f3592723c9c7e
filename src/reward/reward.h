#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What a verdict is worth under one mode.
struct Reward {
  double value = 0;         ///< finite
  bool masked = false;      ///< an infrastructure fault, a cancelled job, a void task, a time that
                            ///< cannot be: train on nothing, never pay; `value` is 0
  json::object parts;       ///< how the value came about, by name
  std::string explanation;  ///< one line for people
};

/// A reward mode: a typed, versioned, pure function of the verdict. Each has these properties,
/// beside the exceptions that it declares: finite; within [low, high]; no more for a slower kernel;
/// the least for an integrity violation; unchanged when every time is scaled by one factor; of
/// Assay's own measurements only.
struct RewardMode {
  std::string name;     ///< "roofline"
  std::string version;  ///< changes whenever any value changes
  double low = 0;       ///< range of values with the default parameters
  double high = 1;
  std::string summary;        ///< one line, with the formula
  json::object parameters;    ///< names and defaults
  std::string source;         ///< where it was published; empty: Assay's own
  bool ranks_correct = true;  ///< a correct submission is never worth less than a wrong one
};

/// All modes, `roofline` (the default) first.
const std::vector<RewardMode>& RewardModes();

/// Least and largest value of a mode.
struct RewardRange {
  double low = 0;
  double high = 1;
};

/// The range with parameters other than the defaults; fails as ComputeReward does.
Result<RewardRange> RangeOf(std::string_view mode, const json::object& parameters);

/// Whether what the mode pays depends on a profile of the submission, which then must be asked for.
/// False where mode or parameters are not right: ComputeReward says so.
bool NeedsProfile(std::string_view mode, const json::object& parameters);

/// Computes a reward from an `assay.verdict/1` document. `parameters` override a mode's defaults.
/// kNotFound: no such mode (names the ones there are). kInvalid: a parameter or the document is not
/// what it must be. kUnavailable: the verdict lacks what the mode needs (says what: a bound, a
/// coverage), which is not a reward of 0.
Result<Reward> ComputeReward(std::string_view mode, const json::object& parameters,
                             const json::object& verdict);

}  // namespace assay
