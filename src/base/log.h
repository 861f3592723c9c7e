#pragma once

#include <fmt/format.h>

#include <string_view>

namespace assay {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };

/// Sends logs to standard error at `level` (trace, debug, info, warn, error, off); standard output
/// belongs to results. Call first thing in main. Unknown levels are refused with false.
bool SetUpLogging(std::string_view level);

bool LogEnabled(LogLevel level);
void LogText(LogLevel level, std::string_view text);

// The templates are here and the logging library is not: its headers cost ten seconds a file.
template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (LogEnabled(level)) LogText(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarn(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kWarn, format, std::forward<Args>(args)...);
}

}  // namespace assay
