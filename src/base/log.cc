#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/log_request.h"

namespace assay {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

/// LogRequest at the end of a line. Lines are formatted on the thread that logs.
class RequestSuffix final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    if (const std::string_view id = LogRequest::current(); !id.empty())
      fmt::format_to(std::back_inserter(out), " request={}", id);
  }
  [[nodiscard]] std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<RequestSuffix>();
  }
};

}  // namespace

bool SetUpLogging(std::string_view level) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") return false;
  auto logger =
      std::make_shared<spdlog::logger>("assay", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<RequestSuffix>('*').set_pattern("%Y-%m-%dT%H:%M:%S.%f %l %v%*");
  logger->set_formatter(std::move(formatter));
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  return true;
}

bool LogEnabled(LogLevel level) { return spdlog::should_log(ToSpdlog(level)); }

void LogText(LogLevel level, std::string_view text) { spdlog::log(ToSpdlog(level), "{}", text); }

}  // namespace assay
