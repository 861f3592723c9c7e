#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// Name under which a submission's source is known in tracebacks and compiler messages.
inline constexpr std::string_view kSubmissionFile = "submission.py";

/// Hostile or machine-dependent text made fit to show: CleanText, then without Python frames of
/// files other than the submission, with absolute paths cut to their file names and addresses to
/// "0x...", then cut in the middle to `max_bytes`. The same text on any machine gives the same
/// bytes.
std::string Scrub(std::string_view text, size_t max_bytes);

/// As Scrub, on one line: white space runs become one space. At most `max_bytes`, cut at the end.
std::string ScrubLine(std::string_view text, size_t max_bytes);

/// One error of a compiler.
struct Diagnostic {
  std::string file;  ///< file name without directories
  int line = 0;
  std::string message;
  bool operator==(const Diagnostic&) const = default;
};

/// The first `max_count` different errors in the output of g++, clang or nvcc: "f.cu:12:3: error:
/// m", "f.cu(12): error: m" and their fatal and numbered forms. Warnings and notes are left out.
std::vector<Diagnostic> CompilerErrors(std::string_view text, size_t max_count);

}  // namespace assay
