#pragma once

#include <string>
#include <string_view>

namespace assay {

/// As SetUpLogging, with one JSON object a line: {"time", "level", "message"}, and "request" where
/// one is known (LogRequest).
bool SetUpJsonLogging(std::string_view level);

/// One such line, without the line's end.
std::string JsonLogLine(std::string_view time, std::string_view level, std::string_view message,
                        std::string_view request = "");

}  // namespace assay
