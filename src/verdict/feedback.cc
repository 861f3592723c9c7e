#include "verdict/feedback.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "verdict/flags.h"
#include "verdict/scrub.h"

namespace assay {
namespace {

constexpr size_t kMinBytes = 256;
constexpr size_t kMaxQuoted =
    2400;  // Of the submission's own output: leaves room for Assay's words.
constexpr size_t kMaxName = 80;
constexpr size_t kMaxReason = 240;
constexpr size_t kMaxErrors = 3;
constexpr size_t kMaxNotes = 6;
constexpr size_t kMaxKernels = 5;   // Of a profile: the rest takes little time.
constexpr size_t kMaxFindings = 4;  // Of a sanitizer: the first are the cause of the others.
constexpr size_t kMaxToolLine = 400;
constexpr double kMuchLeft = 0.7;     // Of the roofline: below it a hint may help.
constexpr double kWorthFusing = 1.5;  // Times the traffic that is needed.

/// Text of the submission, each line indented.
std::string Quote(std::string_view text) {
  std::string quoted;
  const std::string shown = Scrub(text, kMaxQuoted);
  if (shown.empty()) return quoted;
  for (const std::string_view line : Split(shown, '\n')) quoted += fmt::format("    {}\n", line);
  return quoted;
}

std::string AtLine(int line) { return line > 0 ? fmt::format(" at line {}", line) : ""; }

std::string NameOf(const Failure& error, std::string_view fallback) {
  const std::string name = ScrubLine(error.name, kMaxName);
  return name.empty() ? std::string(fallback) : name;
}

std::string Headline(const Verdict& verdict) {
  const Failure& error = verdict.error;
  const Correctness& checks = verdict.records.correctness;
  switch (verdict.status) {
    case VerdictStatus::kCorrect:
      if (verdict.speedup.value > 0)
        return fmt::format(
            "Correct: {:.3g}x the reference's speed (95 % interval {:.3g} to {:.3g}).",
            verdict.speedup.value, verdict.speedup.low, verdict.speedup.high);
      return "Correct. No speedup: " + verdict.timing_note;
    case VerdictStatus::kIncorrect:
      if (error.kind == FailureKind::kInputMutated)
        return "Incorrect: the submission wrote to its inputs.";
      if (error.stage == Stage::kTime)
        return "Incorrect: an output was wrong in a timed call, after the trials had passed.";
      if (checks.trials > 0)
        return fmt::format("Incorrect: {} of {} trials passed.", checks.passed, checks.trials);
      return "Incorrect: wrong output.";
    case VerdictStatus::kInvalidSubmission:
      return fmt::format("Invalid submission: {}{}.", NameOf(error, ToString(error.kind)),
                         AtLine(error.line));
    case VerdictStatus::kCompileError:
      return fmt::format("Compile error{}.", AtLine(error.line));
    case VerdictStatus::kRuntimeError:
      return fmt::format("Runtime error: {}{}.", NameOf(error, ToString(error.kind)),
                         AtLine(error.line));
    case VerdictStatus::kTimeout:
      return error.limit_s > 0
                 ? fmt::format("Timeout: stage {} took longer than its limit of {:g} s.",
                               ToString(error.stage), error.limit_s)
                 : fmt::format("Timeout: stage {} took longer than its limit.",
                               ToString(error.stage));
    case VerdictStatus::kOutOfMemory:
      return fmt::format("Out of memory: the limit of {} memory was passed{}.",
                         error.kind == FailureKind::kHostMemory ? "host" : "GPU",
                         AtLine(error.line));
    case VerdictStatus::kRejectedCheat:
      return fmt::format("Rejected: the submission interfered with its measurement ({}).",
                         NameOf(error, "integrity"));
    case VerdictStatus::kInfraError:
      return "Not judged: the evaluation system failed. The submission is not to blame; submit it "
             "again unchanged.";
    case VerdictStatus::kCancelled:
      return "Not judged: the evaluation was cancelled.";
  }
  return "Not judged.";
}

/// What each stage asks of the submission, for the model to know how far it came.
std::string_view StageMeaning(Stage stage) {
  switch (stage) {
    case Stage::kLint:
      return "the source is read without running it";
    case Stage::kLoad:
      return "the source is imported and ModelNew is built";
    case Stage::kCheck:
      return "outputs are compared with the reference's";
    case Stage::kTime:
      return "calls are timed; the correctness trials had passed";
    case Stage::kProfile:
      return "kernels are listed; correctness and timing had passed";
    case Stage::kVerdict:
      return "all stages had run";
  }
  return "";
}

/// What a pattern of wrong elements usually means. Matched by word: the judge's wording may grow.
std::string_view PatternHint(std::string_view pattern) {
  struct Hint {
    std::string_view word;
    std::string_view text;
  };
  constexpr std::string_view kAllWrong =
      "everything is wrong: check the formula, strides and dtype before the masks";
  constexpr Hint kHints[] = {
      {"systematic", "small errors in one direction everywhere: accumulate in float32"},
      {"tail", "only the tail is wrong: check the mask on the last block"},
      {"last block", "only the last block is wrong: check its mask and the grid size"},
      {"nan", "NaN: uninitialised output, 0/0, inf - inf, or exp without subtracting the maximum"},
      {"inf", "infinite values: overflow, division by zero, or a masked load of -inf"},
      {"zero", "zeros: elements were never written, or the kernel was not launched on them"},
      {"constant", "one value everywhere: the output does not depend on the inputs"},
      {"shape", "the shape must be exactly the reference's"},
      {"dtype", "the dtype must be exactly the reference's"},
      {"scattered", "scattered elements: a race, a missing barrier, or too little precision"},
      {"row", "whole rows are wrong: check the row index and strides"},
      {"column", "whole columns are wrong: check the column index and strides"},
      {"all wrong", kAllWrong},
      {"every element", kAllWrong},
  };
  const std::string lower = ToLower(pattern);
  for (const Hint& hint : kHints)
    if (lower.find(hint.word) != std::string::npos) return hint.text;
  return "";
}

std::string MismatchDetails(const Verdict& verdict) {
  const Correctness& checks = verdict.records.correctness;
  // The pattern has a line of its own below.
  std::string text = verdict.error.message == checks.pattern ? "" : Quote(verdict.error.message);
  if (checks.mismatch_fraction > 0 || checks.first_bad) {
    text += fmt::format(
        "Largest error: {:.4g} absolute, {:.4g} relative; tolerance: atol {:g}, rtol {:g}.\n",
        checks.max_abs_err, checks.max_rel_err, checks.atol, checks.rtol);
    text += fmt::format("Wrong elements in the worst trial: {:.4g} %.\n",
                        100 * checks.mismatch_fraction);
  }
  if (checks.first_bad) {
    const BadElement& bad = *checks.first_bad;
    text +=
        fmt::format("First wrong element: output {} at index [{}]: got {:.9g}, expected {:.9g}.\n",
                    bad.output, fmt::join(bad.index, ", "), bad.got, bad.expected);
  }
  const std::string pattern = ScrubLine(checks.pattern, kMaxReason);
  if (pattern.empty()) return text;
  const std::string_view hint = PatternHint(pattern);
  if (hint.empty()) return text + fmt::format("Pattern: {}.\n", pattern);
  return text + fmt::format("Pattern: {} ({}).\n", pattern, hint);
}

std::string CompileDetails(const Failure& error) {
  const std::vector<Diagnostic> errors = CompilerErrors(error.message, kMaxErrors);
  if (errors.empty()) return Quote(error.message);
  std::string text;
  for (const Diagnostic& diagnostic : errors) {
    const std::string file = ScrubLine(diagnostic.file, kMaxName);
    const std::string place = file == kSubmissionFile
                                  ? fmt::format("line {}", diagnostic.line)
                                  : fmt::format("{} line {}", file, diagnostic.line);
    text += fmt::format("    {}: {}\n", place, diagnostic.message);
  }
  return text;
}

std::string Details(const Verdict& verdict) {
  const Failure& error = verdict.error;
  switch (verdict.status) {
    case VerdictStatus::kCorrect:
    case VerdictStatus::kCancelled:
    case VerdictStatus::kInfraError:  // The engine's troubles teach a model nothing.
      return "";
    case VerdictStatus::kCompileError:
      return CompileDetails(error);
    case VerdictStatus::kIncorrect:
      if (error.kind == FailureKind::kInputMutated)
        return Quote(error.message) + "Write results to a new tensor; inputs must not change.\n";
      return MismatchDetails(verdict);
    case VerdictStatus::kTimeout:
      return Quote(error.message) +
             "Look for a loop that does not end, a deadlock between blocks, or too many autotune "
             "configurations.\n";
    case VerdictStatus::kOutOfMemory:
      return Quote(error.message) + "Allocate less at once, and free what is no longer needed.\n";
    case VerdictStatus::kInvalidSubmission:
    case VerdictStatus::kRuntimeError:
    case VerdictStatus::kRejectedCheat:
      return Quote(error.message);
  }
  return "";
}

std::string Times(const Verdict& verdict) {
  if (!verdict.timed || !verdict.records.timing.meaningful) return "";
  const Summary& candidate = verdict.candidate_us;
  const Summary& reference = verdict.reference_us;
  const Reconciled& clock = verdict.candidate_clock;
  std::string text = fmt::format(
      "Time per call: {:.4g} us (20-80 %: {:.4g} to {:.4g}); reference {:.4g} us ({:.4g} to "
      "{:.4g}); rounds: {}.\n",
      candidate.median, candidate.p20, candidate.p80, reference.median, reference.p20,
      reference.p80, candidate.n);
  if (clock.usable > 0)
    text += fmt::format("Clocks {}: inside {:.4g} us, outside {:.4g} us.\n",
                        clock.agree ? "agree" : "disagree", clock.inside_us, clock.outside_us);
  return text;
}

/// How far it is from what the card can do, and what to do about it.
std::string Roofline(const Verdict& verdict) {
  if (!verdict.roofline || verdict.roofline->fraction <= 0) return "";
  const RooflineReport& report = *verdict.roofline;
  const double time_us = verdict.candidate_us.median;
  const bool memory = report.limiter == "memory";
  std::string text =
      fmt::format("Roofline: {:.3g} % of what this card can reach ({:.4g} us; limited by {}).",
                  100 * report.fraction, Attainable(report),
                  memory ? "memory traffic" : ScrubLine(report.limiter, kMaxName));
  if (report.bytes > 0 && memory)
    text += fmt::format(" Inputs and outputs are {:.4g} MB; moved once in that time: {:.4g} GB/s.",
                        report.bytes / 1e6, report.bytes / time_us / 1e3);
  if (report.fraction < kMuchLeft && report.fusion_gain > kWorthFusing)
    text += fmt::format(
        " The reference's operators, one by one, move {:.3g} times what is needed: fuse them.",
        report.fusion_gain);
  return text + "\n";
}

/// Where the device's time goes: the longest kernels, and whose they are.
std::string ProfileLines(const Verdict& verdict) {
  const std::optional<ProfileRecord>& record = verdict.records.profile;
  if (!verdict.correct || !record || !record->profile) return "";
  const Profile& profile = *record->profile;
  std::string text = fmt::format("Profile: {}.\n", ProfileText(profile));
  const auto calls = static_cast<double>(profile.calls);
  for (size_t i = 0; i < std::min(profile.kernels.size(), kMaxKernels); ++i) {
    const ProfiledKernel& kernel = profile.kernels[i];
    text += fmt::format(
        "  {:.4g} us in {:g} launches: {} [{}] grid {}, block {}, {} registers, {} B shared\n",
        kernel.us / calls, static_cast<double>(kernel.calls) / calls,
        ScrubLine(kernel.name, kMaxName), kernel.own ? "own" : "library",
        fmt::join(kernel.grid, "x"), fmt::join(kernel.block, "x"), kernel.registers,
        kernel.static_shared + kernel.dynamic_shared);
  }
  return text;
}

/// What Nsight Compute says of the kernels, or why it says nothing.
std::string NcuLines(const Verdict& verdict) {
  const std::optional<ProfileRecord>& record = verdict.records.profile;
  if (!verdict.correct || !record || !record->ncu) return "";
  if (!record->ncu->summary)
    return fmt::format("Nsight Compute: none: {}\n", ScrubLine(record->ncu->reason, kMaxReason));
  const std::vector<NcuKernel>& kernels = record->ncu->summary->kernels;
  std::string text = "Nsight Compute, a launch with cold caches:\n";
  for (size_t i = 0; i < std::min(kernels.size(), kMaxKernels); ++i)
    text += fmt::format("  {}\n", ScrubLine(NcuLine(kernels[i]), kMaxToolLine));
  return text;
}

std::string SanitizerLines(const Verdict& verdict) {
  const std::optional<SanitizerRecord>& record = verdict.records.sanitizer;
  if (!record) return "";
  const std::string reason = ScrubLine(record->reason, kMaxReason);
  if (!record->report) return fmt::format("Sanitizer ({}): none: {}\n", record->tool, reason);
  const std::vector<SanitizerFinding>& findings = record->report->findings;
  std::string text =
      fmt::format("Sanitizer ({}): {}{}{}\n", record->tool,
                  findings.empty() ? "nothing found" : fmt::format("{} found", findings.size()),
                  reason.empty() ? "." : "; ", reason);
  for (size_t i = 0; i < std::min(findings.size(), kMaxFindings); ++i) {
    const SanitizerFinding& finding = findings[i];
    const std::string file = ScrubLine(finding.file, kMaxName);
    std::string place = ScrubLine(finding.kernel, kMaxName);
    if (finding.line > 0)
      place += file == kSubmissionFile ? fmt::format(" line {}", finding.line)
                                       : fmt::format(" {} line {}", file, finding.line);
    text += fmt::format("  {}: {}{}\n", place.empty() ? "unknown place" : place,
                        ScrubLine(finding.message, kMaxToolLine),
                        finding.count > 1 ? fmt::format(" ({} times)", finding.count) : "");
  }
  return text;
}

std::string Notes(const Verdict& verdict) {
  std::vector<std::string> notes;
  for (const LintFinding& finding : verdict.records.lint.findings) {
    if (finding.severity != LintFinding::Severity::kFlag) continue;
    const std::string reason = ScrubLine(finding.reason, kMaxReason);
    const std::string rule = ScrubLine(finding.rule, kMaxName);
    notes.push_back(finding.line > 0 ? fmt::format("line {}: {} [{}]", finding.line, reason, rule)
                                     : fmt::format("{} [{}]", reason, rule));
  }
  for (const std::string& name : verdict.flags) {
    const FlagInfo* flag = FindFlag(name);
    if (flag != nullptr && flag->submission)
      notes.push_back(fmt::format("{} [{}]", flag->meaning, flag->name));
  }
  if (notes.empty()) return "";
  std::string text = "Notes:\n";
  for (size_t i = 0; i < std::min(notes.size(), kMaxNotes); ++i)
    text += fmt::format("- {}\n", notes[i]);
  if (notes.size() > kMaxNotes) text += fmt::format("- and {} more\n", notes.size() - kMaxNotes);
  return text;
}

/// Notes help only when the submission was judged and did not break the rules.
bool WantsNotes(VerdictStatus status) {
  return status != VerdictStatus::kInfraError && status != VerdictStatus::kCancelled &&
         status != VerdictStatus::kRejectedCheat;
}

}  // namespace

std::string Feedback(const Verdict& verdict, const FeedbackOptions& options) {
  std::string text = Headline(verdict) + "\n";
  if (verdict.fault == Fault::kCandidate || verdict.fault == Fault::kIntegrity)
    text += fmt::format("Stage: {} ({}).\n", ToString(verdict.error.stage),
                        StageMeaning(verdict.error.stage));
  text += Details(verdict);
  text += Times(verdict);
  text += Roofline(verdict);
  text += ProfileLines(verdict);
  text += NcuLines(verdict);
  if (WantsNotes(verdict.status)) text += SanitizerLines(verdict);
  if (WantsNotes(verdict.status)) text += Notes(verdict);
  return TruncateMiddle(Trim(text), std::max(options.max_bytes, kMinBytes));
}

}  // namespace assay
