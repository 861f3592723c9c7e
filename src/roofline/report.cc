#include "roofline/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace assay {
namespace {

// Bounds are computed to a fraction of a percent, but clocks of a card drift against its table.
constexpr double kTolerance = 0.03;
// One byte at the fastest memory, and four months.
constexpr double kLeastUs = 1e-9;
constexpr double kMostUs = 1e13;
constexpr double kMost = 1e24;  // Bytes.

/// As the rest of a verdict: six significant digits.
double Rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

Result<double> Time(const json::object& object, const char* name) {
  const double time = GetDouble(object, name, -1);
  if (time >= kLeastUs && time <= kMostUs) return time;  // Not NaN.
  return Err(ErrorCode::kInvalid, "roofline.{} must be a number from {} to {}", name, kLeastUs,
             kMostUs);
}

}  // namespace

double Attainable(const RooflineReport& report) {
  return std::max(report.bound_us, report.calibrated_us.value_or(0));
}

double Uncertainty(const Ratio& speedup) {
  return speedup.value > 0 ? (speedup.high - speedup.low) / (2 * speedup.value) : 0;
}

Plausibility CheckPlausible(const RooflineReport& report, double time_us, double uncertainty) {
  if (report.bound_us <= time_us) return Plausibility::kNormal;
  const double longest_us = time_us * (1 + kTolerance + uncertainty);
  if (report.bound_us <= longest_us) return Plausibility::kAtRoof;
  return report.traffic_us > 0 && report.traffic_us <= longest_us ? Plausibility::kCollapse
                                                                  : Plausibility::kSuperluminal;
}

bool Collapsed(const RooflineReport& report, double time_us, double uncertainty) {
  const Plausibility plausibility = CheckPlausible(report, time_us, uncertainty);
  if (Unexplained(plausibility) || !report.written_us)
    return plausibility == Plausibility::kCollapse;
  return *report.written_us > time_us * (1 + kTolerance + uncertainty);
}

void SetFraction(double time_us, RooflineReport* report) {
  report->fraction = std::min(Attainable(*report) / time_us, 1.0);
}

json::object ToJson(const RooflineReport& report) {
  json::object out;
  out["bound_us"] = Rounded(report.bound_us);
  out["calibrated_us"] =
      report.calibrated_us ? json::value(Rounded(*report.calibrated_us)) : json::value(nullptr);
  out["fraction"] = Rounded(report.fraction);
  out["limiter"] = report.limiter;
  out["precision"] = report.precision;
  out["source"] = report.source;
  out["bytes"] = Rounded(report.bytes);
  out["fusion_gain"] = Rounded(report.fusion_gain);
  out["traffic_us"] = Rounded(report.traffic_us);
  out["override"] =
      report.override_reason.empty() ? json::value(nullptr) : json::value(report.override_reason);
  out["written_us"] =
      report.written_us ? json::value(Rounded(*report.written_us)) : json::value(nullptr);
  return out;
}

Result<RooflineReport> ReadRoofline(const json::object& object) {
  RooflineReport report;
  ASSAY_ASSIGN_OR_RETURN(report.bound_us, Time(object, "bound_us"));
  const json::value* calibrated = object.if_contains("calibrated_us");
  if (calibrated != nullptr && !calibrated->is_null()) {
    ASSAY_ASSIGN_OR_RETURN(report.calibrated_us, Time(object, "calibrated_us"));
  }
  // Members that came later than the schema may be absent.
  const json::value* written = object.if_contains("written_us");
  if (written != nullptr && !written->is_null()) {
    ASSAY_ASSIGN_OR_RETURN(report.written_us, Time(object, "written_us"));
  }
  if (GetDouble(object, "traffic_us", 0) != 0) {
    ASSAY_ASSIGN_OR_RETURN(report.traffic_us, Time(object, "traffic_us"));
  }
  report.override_reason = GetString(object, "override");
  report.fraction = GetDouble(object, "fraction", 0);
  if (!(report.fraction >= 0 && report.fraction <= 1))
    return Err(ErrorCode::kInvalid, "roofline.fraction must be in [0, 1]");
  report.limiter = GetString(object, "limiter");
  report.precision = GetString(object, "precision");
  report.source = GetString(object, "source");
  for (const auto& [name, figure] :
       {std::pair{"bytes", &report.bytes}, std::pair{"fusion_gain", &report.fusion_gain}}) {
    *figure = GetDouble(object, name, 0);
    if (!(*figure >= 0 && *figure <= kMost))
      return Err(ErrorCode::kInvalid, "roofline.{} must be a number from 0 to {}", name, kMost);
  }
  return report;
}

}  // namespace assay
