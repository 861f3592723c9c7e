#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// A device kernel of known length, and what the instrument said of it.
struct TimerPoint {
  double known_us = 0;    ///< by the device's own clock, begin to end inside the kernel
  double claimed_us = 0;  ///< by the verdict, without what an empty kernel costs
  [[nodiscard]] double ErrorUs() const { return claimed_us - known_us; }
};

/// What `assay timer-check` found on one device: an `assay.timer/1` document.
struct TimerReport {
  std::string uuid;    ///< of the card, or "cpu"; names the cached file
  std::string device;  ///< for people
  std::string driver;
  std::string protocol;            ///< of the measurement, whose error this is
  double floor_us = 0;             ///< a call whose kernel does nothing
  double tick_us = 0;              ///< step of the clock inside the kernels
  std::vector<TimerPoint> points;  ///< ascending in known_us
};

/// An error that is allowed: 1 % and 0.3 us.
double AllowedErrorUs(double known_us);
bool AllWithin(const TimerReport& report);

/// How far a time may be off: the larger error of the two points around it, in proportion to the
/// time above the longest. No points: 0.
double ErrorAt(const std::vector<TimerPoint>& points, double time_us);

json::object ToJson(const TimerReport& report);
/// kInvalid: not such a document, or with figures that cannot be.
Result<TimerReport> ReadTimerReport(const json::object& document);

/// Folder of the cached reports: $XDG_CACHE_HOME/assay/timer, else below ~/.cache.
std::string TimerFolder();
/// kNotFound: this device was not checked.
Result<TimerReport> LoadTimerReport(const std::string& folder, const std::string& uuid);
/// The stored file's path.
Result<std::string> StoreTimerReport(const std::string& folder, const TimerReport& report);

}  // namespace assay
