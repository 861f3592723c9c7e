#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// The tools of compute-sanitizer, in the order in which they are worth trying.
inline constexpr std::string_view kSanitizers[] = {"memcheck", "racecheck", "initcheck",
                                                   "synccheck"};

/// kInvalid names what there is.
Result<std::string> ParseSanitizer(std::string_view name);

/// One thing that compute-sanitizer found, however often.
struct SanitizerFinding {
  std::string kind;     ///< "out_of_bounds", "uninitialized", "race", "barrier", "api", "other"
  std::string kernel;   ///< empty where none is named
  std::string message;  ///< in its words: what, and where the memory lies
  std::string file;     ///< name of the file, empty where not known
  int line = 0;         ///< in `file`; 0: not known
  int64_t count = 1;    ///< reports alike in kernel, place and kind
};

struct SanitizerReport {
  std::vector<SanitizerFinding> findings;
  int64_t left_out = 0;           ///< findings missing above
  std::optional<int64_t> errors;  ///< what its summary counts; nothing where there is no summary
};

inline constexpr size_t kMaxSanitizerFindings = 8;

/// Arguments of compute-sanitizer for a tool, without a program to run.
std::vector<std::string> SanitizerArguments(const std::string& tool);

/// Reads what it printed. Text of an untrusted process: bounded, not believed. A report that breaks
/// off (its process was stopped) is read as far as it goes. kUnavailable: it looked at nothing, and
/// why.
Result<SanitizerReport> ReadSanitizer(std::string_view printed);

/// One finding in a verdict's `sanitizer.findings`; texts are still to be scrubbed.
json::object ToJson(const SanitizerFinding& finding);

}  // namespace assay
