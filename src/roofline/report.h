#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "timing/statistics.h"

namespace assay {

/// The `roofline` member of a verdict: how a measured time stands against what the card can do.
struct RooflineReport {
  double bound_us = 0;  ///< no correct program can be measured below this; > 0
  /// What a very good kernel takes on this very card; absent where it was not calibrated.
  std::optional<double> calibrated_us;
  double fraction = 0;     ///< Attainable() over the measured time, at most 1; 0 where not measured
  std::string limiter;     ///< "memory", "matrix", "vector", "launch", "override"
  std::string precision;   ///< of the matrix work in the bound: "tf32", "bf16", ...; may be empty
  std::string source;      ///< where the card's rates come from: "calibrated", "datasheet"
  double bytes = 0;        ///< that any program must move; 0 unknown
  double fusion_gain = 0;  ///< the most that moving no more than that gains over the reference's
                           ///< operators one by one; 0 unknown
  double traffic_us = 0;   ///< the bound without any arithmetic; 0 unknown
  /// A person's correction of the bound (BoundOverride): why, and the bound without it.
  std::string override_reason;
  std::optional<double> written_us;
};

/// The time that a reward or a fraction aims at: the calibrated one where there is one, but never
/// less than the bound.
double Attainable(const RooflineReport& report);

/// How a time stands against the bound, which it cannot be below.
enum class Plausibility {
  kNormal,
  kAtRoof,  ///< below the bound by less than bound and clock can be wrong: counts as 1
  /// Below what the reference's arithmetic takes, not below what its traffic takes: algebra may
  /// have made the work vanish. Pays nothing until an override of the bound says that it does.
  kCollapse,
  kSuperluminal,  ///< below both by more: measurement, bound or submission is wrong; the same
};

/// Whether rewards wait until somebody knows why the time is that short.
inline bool Unexplained(Plausibility plausibility) {
  return plausibility >= Plausibility::kCollapse;
}

/// Relative uncertainty of a measured time: half the width of the speedup's interval.
double Uncertainty(const Ratio& speedup);

/// Below a bound is what bound / time exceeds by more than 1 + 0.03 + `uncertainty`, of which at
/// most 0.05 counts: a noisy time explains no more. All arguments finite, times > 0.
Plausibility CheckPlausible(const RooflineReport& report, double time_us, double uncertainty);

/// Whether the result follows from less arithmetic than the reference spends, explained or not.
bool Collapsed(const RooflineReport& report, double time_us, double uncertainty);

/// Fills `fraction` for a measured time.
void SetFraction(double time_us, RooflineReport* report);

json::object ToJson(const RooflineReport& report);

/// Reads what ToJson wrote. kInvalid: a member is missing, of another type or out of range.
Result<RooflineReport> ReadRoofline(const json::object& object);

}  // namespace assay
