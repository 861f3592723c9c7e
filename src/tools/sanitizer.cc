#include "tools/sanitizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace assay {
namespace {

constexpr std::string_view kMark = "=========";
constexpr size_t kMaxText = 300;
constexpr size_t kMaxKernel = 120;
constexpr size_t kMaxLine = 2000;
constexpr int kPrintLimit = 50;  ///< reports, many of them of one place

/// What a report begins with, and what it is about.
struct Kind {
  std::string_view word;
  std::string_view name;
};
constexpr Kind kKinds[] = {
    {"Race reported", "race"},
    {"hazard", "race"},
    {"Uninitialized", "uninitialized"},
    {"Barrier error", "barrier"},
    {"Invalid __", "out_of_bounds"},
    {"Out-of-range", "out_of_bounds"},
    {"Misaligned", "out_of_bounds"},
    {"misaligned", "out_of_bounds"},
    {"Leaked", "leak"},
    {"Program hit", "api"},
};

/// Lines at the margin that are no finding.
constexpr std::string_view kNoFinding[] = {
    "COMPUTE-SANITIZER",  "ERROR SUMMARY",     "RACECHECK SUMMARY", "LEAK SUMMARY",
    "Target application", "INITCHECK SUMMARY", "SYNCCHECK SUMMARY", "This tool is deprecated"};

/// What says that nothing was looked at.
constexpr std::string_view kFailed[] = {
    "Error: Target application terminated before first instrumented API call",
    "Error: No attachable process found",
    "Error: Could not find",
    "Error: Unable to find",
    "Error: Failed to",
    "Internal Sanitizer Error",
    "Device not supported",
};

std::string Tidy(std::string_view text, size_t most) {
  std::string tidy = CleanText(text.substr(0, kMaxLine));
  std::replace_if(
      tidy.begin(), tidy.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return TruncateMiddle(Trim(tidy), most);
}

std::string_view KindOf(std::string_view text) {
  for (const Kind& kind : kKinds)
    if (text.find(kind.word) != std::string_view::npos) return kind.name;
  return "other";
}

std::string FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return Tidy(slash == std::string_view::npos ? path : path.substr(slash + 1), kMaxKernel);
}

/// "file.cu:41" into its parts; false if it is none.
bool ReadPlace(std::string_view text, SanitizerFinding* finding) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view digits = text.substr(colon + 1);
  int line = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), line);
  if (error != std::errc() || line <= 0 || line > 10'000'000 ||
      end != digits.data() + digits.size())
    return false;
  finding->file = FileName(text.substr(0, colon));
  finding->line = line;
  return true;
}

/// The kernel's name without parameters and offset.
std::string KernelName(std::string_view text) {
  if (text.starts_with("void ")) text.remove_prefix(5);
  if (const size_t offset = text.rfind("+0x"); offset != std::string_view::npos)
    text = text.substr(0, offset);
  const size_t parameters = text.find('(');
  if (parameters != std::string_view::npos && parameters > 0) text = text.substr(0, parameters);
  return Tidy(text, kMaxKernel);
}

/// "kernel(float *)+0x70 in /a/b.cu:41", "0x70 in b.cu:17:kernel(float*)", "0x70 in kernel(int)".
void ReadWhere(std::string_view text, SanitizerFinding* finding) {
  if (const size_t hazards = text.find(" ["); hazards != std::string_view::npos)
    text = text.substr(0, hazards);
  text = Trim(text);
  const size_t in = text.rfind(" in ");
  const std::string_view first = Trim(text.substr(0, in));
  const std::string_view second =
      in == std::string_view::npos ? std::string_view() : Trim(text.substr(in + 4));
  if (!first.starts_with("0x")) {
    finding->kernel = KernelName(first);
    ReadPlace(second, finding);
    return;
  }
  const size_t parenthesis = second.find('(');
  const size_t colon = second.substr(0, parenthesis).rfind(':');
  if (colon != std::string_view::npos && ReadPlace(second.substr(0, colon), finding))
    finding->kernel = KernelName(second.substr(colon + 1));
  else
    finding->kernel = KernelName(second);
}

/// Numbers before "error" in "ERROR SUMMARY: 17 errors", "RACECHECK SUMMARY: 1 hazard displayed (1
/// error, 0 warnings)".
std::optional<int64_t> ReadSummary(std::string_view text) {
  for (const std::string_view word : {" error", " hazard"}) {
    const size_t at = text.find(word);
    if (at == std::string_view::npos) continue;
    size_t begin = at;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    int64_t number = 0;
    if (std::from_chars(text.data() + begin, text.data() + at, number).ptr == text.data() + at &&
        begin < at)
      return number;
  }
  return std::nullopt;
}

bool IsFinding(std::string_view text) {
  return !text.empty() && text.front() != ' ' &&
         std::none_of(std::begin(kNoFinding), std::end(kNoFinding),
                      [&](std::string_view other) { return text.starts_with(other); });
}

/// Collects findings; alike ones are counted.
class Findings {
 public:
  explicit Findings(SanitizerReport* report) : report_(report) {}

  void Begin(std::string_view text) {
    End();
    SanitizerFinding& finding = open_.emplace();
    for (const std::string_view prefix : {"Error: ", "Warning: ", "WARN: ", "ERROR: "})
      if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    finding.kind = KindOf(text);
    // A race names its first access in the same line.
    const size_t at = text.find(" at ");
    if (finding.kind == "race" && at != std::string_view::npos) {
      ReadWhere(text.substr(at + 4), &finding);
      text = text.substr(0, at);
    }
    finding.message = Tidy(text, kMaxText);
  }

  void Detail(std::string_view text) {
    if (!open_ || closed_) return;
    SanitizerFinding& finding = *open_;
    if (text.starts_with("at ") && finding.kernel.empty()) {
      ReadWhere(text.substr(3), &finding);
    } else if (text.starts_with("Device Frame") && text.find(':') != std::string_view::npos) {
      // The outermost frame is the kernel itself; those before are what was inlined.
      SanitizerFinding frame;
      ReadWhere(text.substr(text.find(':') + 1), &frame);
      if (!frame.kernel.empty()) finding.kernel = frame.kernel;
      if (frame.line > 0) finding.file = frame.file, finding.line = frame.line;
    } else if (text.starts_with("Saved host backtrace") || text.starts_with("Host Frame")) {
      closed_ = true;
    } else if (text.starts_with("and ") && finding.kind == "race") {
      SanitizerFinding other;
      const size_t at = text.find(" at ");
      if (at == std::string_view::npos) {
        Add(text);
      } else {
        ReadWhere(text.substr(at + 4), &other);
        Add(other.line > 0 ? fmt::format("{} at {}:{}", text.substr(0, at), other.file, other.line)
                           : std::string(text.substr(0, at)));
      }
    } else if (!text.starts_with("[")) {
      Add(text);
    }
  }

  void End() {
    if (!open_) return;
    SanitizerFinding finding = *std::move(open_);
    open_.reset();
    closed_ = false;
    const auto alike = [&](const SanitizerFinding& other) {
      return other.kind == finding.kind && other.kernel == finding.kernel &&
             other.file == finding.file && other.line == finding.line &&
             (finding.line > 0 || Head(other) == Head(finding));
    };
    auto& findings = report_->findings;
    const auto found = std::find_if(findings.begin(), findings.end(), alike);
    if (found != findings.end())
      ++found->count;
    else if (findings.size() < kMaxSanitizerFindings)
      findings.push_back(std::move(finding));
    else
      ++report_->left_out;
  }

 private:
  static std::string_view Head(const SanitizerFinding& finding) {
    return std::string_view(finding.message).substr(0, finding.message.find(';'));
  }
  void Add(std::string_view text) {
    open_->message = Tidy(open_->message + "; " + std::string(text), kMaxText);
  }

  SanitizerReport* const report_;
  std::optional<SanitizerFinding> open_;
  bool closed_ = false;  ///< what follows is a backtrace of the host
};

}  // namespace

Result<std::string> ParseSanitizer(std::string_view name) {
  if (std::find(std::begin(kSanitizers), std::end(kSanitizers), name) != std::end(kSanitizers))
    return std::string(name);
  return Err(
      ErrorCode::kInvalid,
      "'{}' is no tool of compute-sanitizer: use memcheck, racecheck, initcheck or synccheck",
      name.substr(0, 100));
}

std::vector<std::string> SanitizerArguments(const std::string& tool) {
  return {"--tool",
          tool,
          "--print-limit",
          std::to_string(kPrintLimit),
          "--target-processes",
          "all",
          "--launch-timeout",
          "60",
          "--show-backtrace",
          "device",
          "--report-api-errors",
          "no"};
}

Result<SanitizerReport> ReadSanitizer(std::string_view printed) {
  SanitizerReport report;
  Findings findings(&report);
  std::string failed;
  bool began = false;
  for (std::string_view line : Split(printed, '\n')) {
    if (!line.starts_with(kMark)) continue;
    line.remove_prefix(kMark.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    began = began || line.starts_with("COMPUTE-SANITIZER");
    const bool failure = std::any_of(std::begin(kFailed), std::end(kFailed),
                                     [&](std::string_view text) { return line.starts_with(text); });
    if (failure) {
      findings.End();
      if (failed.empty()) failed = Tidy(line, kMaxText);
    } else if (line.starts_with("ERROR SUMMARY") || line.starts_with("RACECHECK SUMMARY")) {
      findings.End();
      // A line on what was not printed follows.
      if (!report.errors) report.errors = ReadSummary(line);
    } else if (line.starts_with(' ')) {
      findings.Detail(Trim(line));
    } else if (IsFinding(line)) {
      findings.Begin(line);
    } else {
      findings.End();
    }
  }
  findings.End();
  if (!report.findings.empty() || (failed.empty() && report.errors)) return report;
  if (!failed.empty()) return Err(ErrorCode::kUnavailable, "compute-sanitizer: {}", failed);
  if (!began) return Err(ErrorCode::kUnavailable, "compute-sanitizer printed no report");
  return report;
}

json::object ToJson(const SanitizerFinding& finding) {
  json::object out;
  out["kind"] = finding.kind;
  out["kernel"] = finding.kernel.empty() ? json::value(nullptr) : json::value(finding.kernel);
  out["message"] = finding.message;
  out["file"] = finding.file.empty() ? json::value(nullptr) : json::value(finding.file);
  out["line"] = finding.line > 0 ? json::value(finding.line) : json::value(nullptr);
  out["count"] = finding.count;
  return out;
}

}  // namespace assay
