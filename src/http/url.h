#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace assay::http {

/// True for text without overlong forms, surrogates and values beyond U+10FFFF.
[[nodiscard]] bool IsUtf8(std::string_view text);

/// Decodes %XX (and '+' as a space, in queries). kInvalid: an escape that is none, a control
/// character, or text that is not UTF-8 once decoded.
Result<std::string> PercentDecode(std::string_view text, bool plus_is_space);

/// A request's target, decoded.
struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

/// Takes "/path?query" and "http://host/path?query". kInvalid, with the reason, for everything that
/// PercentDecode refuses, other forms, and paths with "." or ".." segments.
Result<Target> ParseTarget(std::string_view target);

}  // namespace assay::http
