#include "server/json_log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <ctime>

#include "base/json.h"
#include "base/log.h"
#include "base/log_request.h"
#include "base/strings.h"

namespace assay {
namespace {

std::string_view View(spdlog::string_view_t text) { return {text.data(), text.size()}; }

std::string UtcTime(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(
                          when - std::chrono::system_clock::from_time_t(seconds))
                          .count();
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, micros);
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    std::string line =
        JsonLogLine(UtcTime(message.time), View(spdlog::level::to_string_view(message.level)),
                    View(message.payload), LogRequest::current());
    line += '\n';
    out.append(line.data(), line.data() + line.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::string JsonLogLine(std::string_view time, std::string_view level, std::string_view message,
                        std::string_view request) {
  json::object line{{"time", time}, {"level", level}, {"message", CleanText(message)}};
  if (!request.empty()) line["request"] = request;
  return json::serialize(line);
}

bool SetUpJsonLogging(std::string_view level) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") return false;
  auto logger =
      std::make_shared<spdlog::logger>("assay", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::make_unique<JsonFormatter>());
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  return true;
}

}  // namespace assay
