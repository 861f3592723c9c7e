#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/strings.h"
#include "verdict/flags.h"
#include "verdict/scrub.h"
#include "verdict/verdict.h"

namespace assay {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kLabel = 14;  // Two spaces, the label, and what separates it from the text.
constexpr size_t kMaxField = 600;
constexpr size_t kMaxMessage = 2000;
constexpr size_t kMaxShownFindings = 10;

/// Columns that a character's first byte adds; one per code point.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0u) != 0x80u; }));
}

/// Bytes of the first `columns` code points.
size_t BytesOf(std::string_view text, size_t columns) {
  size_t i = 0;
  while (i < text.size()) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0u) != 0x80u && columns-- == 0) break;
    ++i;
  }
  return i;
}

/// Breaks one line at spaces so that no piece is wider than `width`; longer words are cut.
std::vector<std::string> Wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (Columns(text) > width) {
    const size_t limit = BytesOf(text, width);
    const size_t space = text.substr(0, limit + 1).rfind(' ');
    const bool at_space = space != std::string_view::npos && space > 0;
    const size_t cut = at_space ? space : limit;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(at_space ? cut + 1 : cut);
  }
  lines.emplace_back(text);
  return lines;
}

class Page {
 public:
  explicit Page(bool color) : color_(color) {}

  /// The first line; `code` is its ANSI colour.
  void Headline(std::string_view text, const char* code) {
    bool first = true;
    for (const std::string& line : Wrap(text, kColumns - 2)) {
      text_ += first ? "" : "  ";
      text_ += Paint(line, code) + "\n";
      first = false;
    }
  }

  /// A labelled field; further lines of it stand under the first.
  void Field(std::string_view label, std::string_view text) {
    if (text.empty()) return;
    std::string head = fmt::format("  {:<{}}", label, kLabel - 2);
    for (const std::string& line : Wrap(text, kColumns - kLabel)) {
      text_ += head.starts_with("   ") ? head : Paint(head, "2");
      text_ += line + "\n";
      head = std::string(kLabel, ' ');
    }
  }

  /// Text that is not Assay's own: marked on every line, so that it cannot pose as a field.
  void Quote(std::string_view text) {
    const std::string shown = Scrub(text, kMaxMessage);
    if (shown.empty()) return;
    for (std::string_view line : Split(shown, '\n')) {
      std::string untabbed;
      for (const char c : line) untabbed += c == '\t' ? std::string(4, ' ') : std::string(1, c);
      for (const std::string& piece : Wrap(untabbed, kColumns - 4))
        text_ += fmt::format("  | {}\n", piece);
    }
  }

  std::string Take() { return std::move(text_); }

 private:
  [[nodiscard]] std::string Paint(std::string_view text, const char* code) const {
    return color_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

  bool color_;
  std::string text_;
};

std::string Line(std::string_view text) { return ScrubLine(text, kMaxField); }

std::string SpeedText(const Ratio& speedup, const std::string& baseline) {
  const std::string figures =
      fmt::format("{:.2f}x [{:.2f}, {:.2f}]", speedup.value, speedup.low, speedup.high);
  if (speedup.low > 1) return figures + " faster than " + baseline;
  if (speedup.high < 1) return figures + " slower than " + baseline;
  return figures + " as fast as " + baseline + ", within error";
}

std::string HeadlineText(const Verdict& verdict) {
  if (verdict.correct)
    return "✓ correct  " + (verdict.speedup.value > 0
                                ? SpeedText(verdict.speedup, Line(verdict.records.timing.baseline))
                                : "not timed: " + verdict.timing_note);
  const bool judged = verdict.fault == Fault::kCandidate || verdict.fault == Fault::kIntegrity;
  const Failure& error = verdict.error;
  std::string text =
      fmt::format("{} {}: {} in stage {}", judged ? "✗" : "!", ToString(verdict.status),
                  ToString(error.kind), ToString(error.stage));
  const std::string name = ScrubLine(error.name, 80);
  if (!name.empty()) text += fmt::format(" ({})", name);
  if (error.line > 0) text += fmt::format(", line {}", error.line);
  if (error.limit_s > 0) text += fmt::format(", limit {:g} s", error.limit_s);
  return text;
}

const char* HeadlineColor(const Verdict& verdict) {
  if (verdict.correct) return "1;32";
  const bool judged = verdict.fault == Fault::kCandidate || verdict.fault == Fault::kIntegrity;
  return judged ? "1;31" : "1;33";
}

std::string ShortHash(std::string_view hash) {
  return hash.empty() ? "" : fmt::format(" (sha256 {})", Line(hash.substr(0, 12)));
}

std::string CorrectnessText(const Correctness& checks) {
  if (checks.trials <= 0) return "";
  std::string text = fmt::format(
      "{}/{} trials; max abs {:.3g}, max rel {:.3g}; atol {:g}, rtol {:g}", checks.passed,
      checks.trials, checks.max_abs_err, checks.max_rel_err, checks.atol, checks.rtol);
  if (!checks.reference.empty()) text += "; reference " + Line(checks.reference);
  if (!checks.weights.empty()) text += "; weights " + Line(checks.weights);
  if (checks.effective_bits)
    text += fmt::format("; {:.3g} bits agree with float64 (reference {:.3g})",
                        *checks.effective_bits, checks.reference_bits.value_or(0));
  return text;
}

std::string MismatchText(const Correctness& checks) {
  if (checks.mismatch_fraction <= 0 && !checks.first_bad) return "";
  std::string text = fmt::format("{:.4g} % of the worst trial", 100 * checks.mismatch_fraction);
  if (checks.first_bad) {
    const BadElement& bad = *checks.first_bad;
    text += fmt::format("; first: output {} [{}] got {:.9g}, expected {:.9g}", bad.output,
                        fmt::join(bad.index, ", "), bad.got, bad.expected);
  }
  if (!checks.pattern.empty()) text += "; " + Line(checks.pattern);
  return text;
}

std::string TimesText(const Summary& summary) {
  return fmt::format("{:.4g} us   p20 {:.4g}   p80 {:.4g}   min {:.4g}   ({} rounds)",
                     summary.median, summary.p20, summary.p80, summary.min, summary.n);
}

std::string BaselineText(const BaselineTiming& baseline) {
  if (!baseline.unavailable.empty())
    return fmt::format("{}: unavailable: {}", Line(baseline.name), Line(baseline.unavailable));
  std::string text = fmt::format("{}: {:.4g} us", Line(baseline.name), baseline.us.median);
  if (baseline.speedup.value > 0)
    text += fmt::format(", {:.2f}x [{:.2f}, {:.2f}]", baseline.speedup.value, baseline.speedup.low,
                        baseline.speedup.high);
  return text;
}

std::string ClockText(const Reconciled& clock, const std::string& method) {
  if (method.starts_with("rounds/host-clock"))
    return fmt::format("outside {:.4g} us, the only one", clock.outside_us);
  if (clock.usable == 0)
    return fmt::format("outside {:.4g} us; no usable inside clock, the outside one is paid",
                       clock.outside_us);
  return fmt::format("{}: inside {:.4g} us, outside {:.4g} us",
                     clock.agree ? "agree" : "disagree, the larger is paid", clock.inside_us,
                     clock.outside_us);
}

std::string KernelBenchText(const KernelBenchCheck& check) {
  return fmt::format("its check passes {} of {} trials at {:g}", check.passed, check.trials,
                     check.tolerance);
}

std::string RooflineText(const RooflineReport& report) {
  const std::string source = report.source.empty() ? "" : " (" + Line(report.source) + ")";
  const std::string attainable = report.calibrated_us
                                     ? fmt::format("{:.4g} us attainable{}, bound {:.4g} us",
                                                   Attainable(report), source, report.bound_us)
                                     : fmt::format("bound {:.4g} us{}", report.bound_us, source);
  const std::string limiter =
      fmt::format("{}; limited by {}{}", attainable, Line(report.limiter),
                  report.precision.empty() ? "" : " in " + report.precision);
  return report.fraction > 0 ? fmt::format("{:.3g} % of {}", 100 * report.fraction, limiter)
                             : limiter;
}

std::string MethodText(const Verdict& verdict) {
  const TimingRecord& timing = verdict.records.timing;
  std::string text =
      fmt::format("{}; {} timed outputs verified", Line(timing.method), timing.rounds_verified);
  if (!timing.instrument.empty())
    text += fmt::format("; the instrument is off by {:.2g} us at most",
                        ErrorAt(timing.instrument, verdict.candidate_us.median));
  return text;
}

std::string PairsText(const std::vector<Ratio>& pairs) {
  const auto [low, high] = std::minmax_element(
      pairs.begin(), pairs.end(), [](const Ratio& a, const Ratio& b) { return a.value < b.value; });
  return fmt::format("{:.3f}x to {:.3f}x in {} pairs of fresh processes", low->value, high->value,
                     pairs.size());
}

std::string GhostText(const GhostRecord& ghost) {
  if (!ghost.still_right) return "not found out: " + Line(ghost.reason);
  return fmt::format("without its own kernels ({} launches) the output is {}", ghost.skipped,
                     *ghost.still_right ? "still right" : "wrong, as it should be");
}

std::string ProfileRecordText(const ProfileRecord& record) {
  return record.profile ? ProfileText(*record.profile) : "none: " + Line(record.reason);
}

/// One field, a line a kernel.
void NcuFields(const NcuRecord& record, Page* page) {
  if (!record.summary) return page->Field("ncu", "none: " + Line(record.reason));
  bool first = true;
  for (const NcuKernel& kernel : record.summary->kernels) {
    page->Field(first ? "ncu" : "", Line(NcuLine(kernel)));
    first = false;
  }
}

void SanitizerFields(const SanitizerRecord& record, Page* page) {
  if (!record.report)
    return page->Field("sanitizer", fmt::format("{}: none: {}", record.tool, Line(record.reason)));
  const SanitizerReport& report = *record.report;
  std::string text = fmt::format(
      "{}: {}", record.tool,
      report.findings.empty() ? "nothing found" : fmt::format("{} found", report.findings.size()));
  if (report.errors) text += fmt::format(" in {} reports", *report.errors);
  if (!record.reason.empty()) text += "; " + Line(record.reason);
  page->Field("sanitizer", text);
  for (const SanitizerFinding& finding : report.findings)
    page->Field("", Line(fmt::format("{} {}:{}: {}", finding.kernel, finding.file, finding.line,
                                     finding.message)));
}

std::string FlagText(const Verdict& verdict, const std::string& name) {
  const FlagInfo* flag = FindFlag(name);
  if (name == "void_task" && !verdict.records.void_reason.empty())
    return fmt::format("{}: {}: {}", flag->name, flag->meaning, Line(verdict.records.void_reason));
  if (flag != nullptr) return fmt::format("{}: {}", flag->name, flag->meaning);
  const auto& findings = verdict.records.lint.findings;
  const bool lint = std::any_of(findings.begin(), findings.end(),
                                [&](const LintFinding& f) { return f.rule == name; });
  return lint ? "" : Line(name);  // Lint rules have fields of their own.
}

void LintFields(const LintReport& lint, Page* page) {
  const size_t shown = std::min(lint.findings.size(), kMaxShownFindings);
  for (size_t i = 0; i < shown; ++i) {
    const LintFinding& finding = lint.findings[i];
    const std::string place = finding.line > 0 ? fmt::format("line {}: ", finding.line) : "";
    page->Field(i == 0 ? "lint" : "",
                fmt::format("{}{} [{}]", place, Line(finding.reason), Line(finding.rule)));
  }
  if (lint.findings.size() > shown)
    page->Field("", fmt::format("and {} more", lint.findings.size() - shown));
}

std::string PhasesText(const Records& records) {
  std::vector<std::string> parts;
  parts.reserve(records.phases_ms.size());
  for (const auto& [name, milliseconds] : records.phases_ms)
    parts.push_back(fmt::format("{} {:.4g} ms", Line(name), milliseconds));
  return Join(parts, ", ");
}

std::string EnvironmentText(const json::object& environment) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : environment) {
    std::string shown;
    if (value.is_string())
      shown = std::string(value.get_string());
    else if (value.is_double())
      shown = fmt::format("{:.6g}", value.get_double());
    else
      shown = json::serialize(value);
    parts.push_back(Line(fmt::format("{} {}", std::string_view(key), shown)));
  }
  return Join(parts, ", ");
}

}  // namespace

std::string ToText(const Verdict& verdict, bool color) {
  const Records& records = verdict.records;
  Page page(color);
  page.Headline(HeadlineText(verdict), HeadlineColor(verdict));
  page.Quote(verdict.error.message);
  page.Field("task", Line(records.task_id) + ShortHash(records.task_sha256));
  page.Field("submission", Line(records.id) + ShortHash(records.submission_sha256));
  page.Field("correctness", CorrectnessText(records.correctness));
  page.Field("wrong", MismatchText(records.correctness));
  if (verdict.timed) {
    page.Field("candidate", TimesText(verdict.candidate_us));
    page.Field("reference", TimesText(verdict.reference_us));
    for (const BaselineTiming& baseline : verdict.baselines)
      page.Field(&baseline == verdict.baselines.data() ? "baselines" : "", BaselineText(baseline));
    page.Field("clocks", ClockText(verdict.candidate_clock, verdict.records.timing.method));
    if (!verdict.pairs.empty()) page.Field("pairs", PairsText(verdict.pairs));
    page.Field("method", MethodText(verdict));
  }
  if (records.kernelbench) page.Field("kernelbench", KernelBenchText(*records.kernelbench));
  if (verdict.correct && verdict.roofline) page.Field("roofline", RooflineText(*verdict.roofline));
  if (records.ghost) page.Field("ghost", GhostText(*records.ghost));
  if (records.profile) page.Field("profile", ProfileRecordText(*records.profile));
  if (records.profile && records.profile->ncu) NcuFields(*records.profile->ncu, &page);
  if (records.sanitizer) SanitizerFields(*records.sanitizer, &page);
  bool first = true;
  for (const std::string& name : verdict.flags) {
    const std::string text = FlagText(verdict, name);
    if (text.empty()) continue;
    page.Field(first ? "flags" : "", text);
    first = false;
  }
  LintFields(records.lint, &page);
  page.Field("phases", PhasesText(records));
  page.Field("environment", EnvironmentText(records.environment));
  page.Field("protocol", kProtocolVersion);
  return page.Take();
}

}  // namespace assay
