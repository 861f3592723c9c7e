#include "kernelgym/shapes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>

namespace assay::kernelgym {
namespace {

/// A value as Python's repr() shows it: clients and people know the list of issues in this form.
std::string Repr(const json::value& value) {
  if (!value.is_string()) return json::serialize(value);
  std::string out = "'";
  for (const char c : value.get_string()) {
    if (c == '\'' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "'";
}

std::string Repr(const std::vector<Issue>& issues) {
  std::string out = "[";
  for (const Issue& issue : issues) {
    if (out.size() > 1) out += ", ";
    std::string place;
    for (const json::value& part : issue.place) {
      if (!place.empty()) place += ", ";
      place += Repr(part);
    }
    if (issue.place.size() == 1) place += ",";
    out += fmt::format("{{'type': {}, 'loc': ({}), 'msg': {}}}", Repr(json::value(issue.type)),
                       place, Repr(json::value(issue.message)));
  }
  return out + "]";
}

}  // namespace

json::value Timestamp(double unix_seconds) {
  if (unix_seconds <= 0) return nullptr;
  const auto micros = static_cast<int64_t>(std::llround(unix_seconds * 1e6));
  const std::time_t seconds = micros / 1'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return json::string(fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                                  parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                                  parts.tm_hour, parts.tm_min, parts.tm_sec, micros % 1'000'000));
}

http::Response InvalidRequest(const std::vector<Issue>& issues, double now) {
  json::array list;
  for (const Issue& issue : issues)
    list.push_back({{"type", issue.type}, {"loc", issue.place}, {"msg", issue.message}});
  http::Response response =
      http::Response::Json(json::object{{"error", "RequestValidationError"},
                                        {"message", "Request validation failed: " + Repr(issues)},
                                        {"error_code", kValidationError},
                                        {"task_id", nullptr},
                                        {"timestamp", Timestamp(now)},
                                        {"errors", std::move(list)}},
                           400);
  response.headers.Set("X-Error-Code", std::string(kValidationError));
  return response;
}

http::Response InternalError(std::string_view message, double now) {
  http::Response response = http::Response::Json(json::object{{"error", "InternalServerError"},
                                                              {"message", message},
                                                              {"error_code", kSystemError},
                                                              {"task_id", nullptr},
                                                              {"timestamp", Timestamp(now)}},
                                                 500);
  response.headers.Set("X-Error-Code", std::string(kSystemError));
  return response;
}

http::Response Detail(int status, std::string_view message, std::string_view error_code) {
  http::Response response = http::Response::Json(json::object{{"detail", message}}, status);
  if (!error_code.empty()) response.headers.Set("X-Error-Code", std::string(error_code));
  return response;
}

http::Response ComeAgain(int status, std::string_view message, std::string_view error_code,
                         double retry_after_s) {
  http::Response response = Detail(status, message, error_code);
  const double seconds = std::isfinite(retry_after_s) ? std::ceil(retry_after_s) : 1;
  response.headers.Set("Retry-After",
                       std::to_string(static_cast<int64_t>(std::clamp(seconds, 1.0, 3600.0))));
  return response;
}

}  // namespace assay::kernelgym
