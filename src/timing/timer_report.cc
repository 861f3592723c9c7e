#include "timing/timer_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/resource.h"

namespace assay {
namespace {

constexpr const char* kSchema = "assay.timer/1";
constexpr double kRelative = 0.01;
constexpr double kAbsoluteUs = 0.3;
constexpr double kMostUs = 1e8;
constexpr size_t kMostPoints = 100;

double Rounded(double value) { return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr); }

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= 100 && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

Result<double> Time(const json::object& object, const char* name, double least) {
  const double time = GetDouble(object, name, least - 1);
  if (time >= least && time <= kMostUs) return time;  // Not NaN.
  return Err(ErrorCode::kInvalid, "the timer report's '{}' is not a time", name);
}

}  // namespace

double AllowedErrorUs(double known_us) { return kRelative * known_us + kAbsoluteUs; }

bool AllWithin(const TimerReport& report) {
  return std::all_of(report.points.begin(), report.points.end(), [](const TimerPoint& point) {
    return std::abs(point.ErrorUs()) <= AllowedErrorUs(point.known_us);
  });
}

double ErrorAt(const std::vector<TimerPoint>& points, double time_us) {
  if (points.empty()) return 0;
  const auto above = std::find_if(points.begin(), points.end(), [&](const TimerPoint& point) {
    return point.known_us >= time_us;
  });
  if (above == points.end())
    return std::abs(points.back().ErrorUs()) * time_us / points.back().known_us;
  const double error = std::abs(above->ErrorUs());
  return above == points.begin() ? error : std::max(error, std::abs((above - 1)->ErrorUs()));
}

json::object ToJson(const TimerReport& report) {
  json::array points;
  for (const TimerPoint& point : report.points)
    points.push_back({{"known_us", Rounded(point.known_us)},
                      {"claimed_us", Rounded(point.claimed_us)},
                      {"error_us", Rounded(point.ErrorUs())},
                      {"allowed_us", Rounded(AllowedErrorUs(point.known_us))}});
  return {{"schema", kSchema},
          {"uuid", report.uuid},
          {"device", report.device},
          {"driver", report.driver},
          {"protocol", report.protocol},
          {"floor_us", Rounded(report.floor_us)},
          {"tick_us", Rounded(report.tick_us)},
          {"within", AllWithin(report)},
          {"points", std::move(points)}};
}

Result<TimerReport> ReadTimerReport(const json::object& document) {
  if (GetString(document, "schema") != kSchema)
    return Err(ErrorCode::kInvalid, "not a timer report: its 'schema' is not \"{}\"", kSchema);
  TimerReport report;
  report.uuid = GetString(document, "uuid");
  if (!IsName(report.uuid))
    return Err(ErrorCode::kInvalid, "the timer report does not say which device it is of");
  report.device = GetString(document, "device");
  report.driver = GetString(document, "driver");
  report.protocol = GetString(document, "protocol");
  ASSAY_ASSIGN_OR_RETURN(report.floor_us, Time(document, "floor_us", 0));
  ASSAY_ASSIGN_OR_RETURN(report.tick_us, Time(document, "tick_us", 0));
  const json::array& points = GetArray(document, "points");
  if (points.empty() || points.size() > kMostPoints)
    return Err(ErrorCode::kInvalid, "a timer report has 1 to {} points", kMostPoints);
  for (const json::value& value : points) {
    const json::object object = value.is_object() ? value.get_object() : json::object{};
    TimerPoint point;
    ASSAY_ASSIGN_OR_RETURN(point.known_us, Time(object, "known_us", 1e-3));
    ASSAY_ASSIGN_OR_RETURN(point.claimed_us, Time(object, "claimed_us", -kMostUs));
    if (!report.points.empty() && report.points.back().known_us >= point.known_us)
      return Err(ErrorCode::kInvalid, "the timer report's points must ascend");
    report.points.push_back(point);
  }
  return report;
}

std::string TimerFolder() { return CacheFolder("timer"); }

Result<TimerReport> LoadTimerReport(const std::string& folder, const std::string& uuid) {
  if (!IsName(uuid)) return Err(ErrorCode::kInvalid, "'{}' names no device", uuid);
  const std::string path = fmt::format("{}/{}.json", folder, uuid);
  if (!std::filesystem::exists(path))
    return Err(ErrorCode::kNotFound,
               "the timer of this device was not checked (no {}); run `assay timer-check`", path);
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1u << 20));
  ASSAY_ASSIGN_OR_RETURN(const json::object document, ParseJsonObject(text));
  return ReadTimerReport(document);
}

Result<std::string> StoreTimerReport(const std::string& folder, const TimerReport& report) {
  const json::object document = ToJson(report);
  ASSAY_RETURN_IF_ERROR([&]() -> Status {
    const Result<TimerReport> read = ReadTimerReport(document);
    return read.ok() ? Status() : Status(read.error());
  }());
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return Err(ErrorCode::kIo, "cannot create {}: {}", folder, code.message());
  std::string path = fmt::format("{}/{}.json", folder, report.uuid);
  ASSAY_RETURN_IF_ERROR(WriteFileAtomically(path, PrettyJson(document) + "\n"));
  return path;
}

}  // namespace assay
