#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// One thing lint saw. `rule` is a stable name ("S1.syntax", "S5.patch", ...).
struct LintFinding {
  enum class Severity {
    kInvalid,  ///< The submission cannot run; it is judged `invalid_submission` without a process.
    kFlag,     ///< Worth telling the model; never decides a verdict alone.
  };
  std::string rule;
  Severity severity = Severity::kFlag;
  int line = 0;  ///< 1-based line of the submission, 0 when it concerns the whole
  std::string reason;
};

/// What a submission's text says about itself. Advice for scheduling, never evidence.
struct LintReport {
  std::vector<LintFinding> findings;
  bool has_syntax_error = false;  ///< the parser saw one; CPython's own word decides
  bool uses_triton = false;       ///< defines a @triton.jit kernel
  bool uses_extension = false;    ///< calls load_inline or load: compiles C++ or CUDA
  bool uses_streams = false;  ///< streams or CUDA graphs: wants the driver's default connections
  bool uses_compile = false;  ///< torch.compile

  [[nodiscard]] bool invalid() const {
    for (const LintFinding& finding : findings)
      if (finding.severity == LintFinding::Severity::kInvalid) return true;
    return false;
  }
};

struct LintOptions {
  size_t max_bytes = 256u << 10;  ///< larger submissions are invalid
  int forward_inputs = -1;        ///< the reference's number of forward arguments, -1: not checked
};

/// Parses a submission's Python, and reads the C++/CUDA inside its strings token by token.
/// Thread-safe, no I/O; under a millisecond for a usual submission (docs/lint.md).
LintReport Lint(std::string_view source, const LintOptions& options = {});

}  // namespace assay
