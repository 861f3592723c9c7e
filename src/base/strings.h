#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

std::string_view Trim(std::string_view text);
std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string ToLower(std::string_view text);

/// At most `max_bytes` of text: keeps the head and the tail, says in the middle how much is
/// missing, and never cuts a UTF-8 sequence.
std::string TruncateMiddle(std::string_view text, size_t max_bytes);

/// Replaces invalid UTF-8 by U+FFFD and drops ANSI escapes, control characters other than newline
/// and tab, and marks that turn text around, so that hostile bytes can stand in terminals, prompts.
std::string CleanText(std::string_view bytes);

/// Edit distance, for "did you mean".
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace assay
