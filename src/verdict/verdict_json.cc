#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "base/strings.h"
#include "verdict/scrub.h"
#include "verdict/verdict.h"

namespace assay {
namespace {

constexpr size_t kMaxName = 200;
constexpr size_t kMaxReason = 1000;
constexpr size_t kMaxMessage = 4000;
constexpr size_t kMaxStream = 64u << 10;

/// Finite, or null: JSON has no other numbers.
json::value Exact(double number) {
  if (!std::isfinite(number)) return nullptr;
  return number;
}

/// As Exact, with at most six significant digits: more would be noise that breaks comparisons.
json::value Rounded(double number) {
  if (!std::isfinite(number)) return nullptr;
  const double rounded = std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr);
  return rounded == 0 ? 0.0 : rounded;  // Never -0.
}

std::string Name(std::string_view text) { return ScrubLine(text, kMaxName); }

/// Reports of the machine: trusted, but gathered from libraries that say what they like.
json::value Tidy(const json::value& value) {
  if (value.is_double()) return Rounded(value.get_double());
  if (value.is_string()) return json::string(CleanText(value.get_string()));
  if (value.is_array()) {
    json::array tidy;
    for (const json::value& item : value.get_array()) tidy.push_back(Tidy(item));
    return tidy;
  }
  if (value.is_object()) {
    json::object tidy;
    for (const auto& [key, item] : value.get_object()) tidy[CleanText(key)] = Tidy(item);
    return tidy;
  }
  return value;
}

json::value CorrectnessJson(const Correctness& checks) {
  const bool ran = checks.trials > 0;
  json::object out;
  out.reserve(14);
  out["trials"] = checks.trials;
  out["passed"] = checks.passed;
  out["max_abs_err"] = ran ? Rounded(checks.max_abs_err) : json::value(nullptr);
  out["max_rel_err"] = ran ? Rounded(checks.max_rel_err) : json::value(nullptr);
  out["mismatch_fraction"] = ran ? Rounded(checks.mismatch_fraction) : json::value(nullptr);
  out["first_bad"] = nullptr;
  if (checks.first_bad) {
    json::object bad;
    bad["output"] = checks.first_bad->output;
    bad["index"] = json::array(checks.first_bad->index.begin(), checks.first_bad->index.end());
    bad["got"] = Rounded(checks.first_bad->got);
    bad["expected"] = Rounded(checks.first_bad->expected);
    out["first_bad"] = std::move(bad);
  }
  out["pattern"] = Name(checks.pattern);
  out["atol"] = Rounded(checks.atol);
  out["rtol"] = Rounded(checks.rtol);
  out["reference"] = Name(checks.reference);
  out["weights"] = Name(checks.weights);
  const auto bits = [](const std::optional<double>& figure) {
    return figure ? Rounded(*figure) : json::value(nullptr);
  };
  out["effective_bits"] = bits(checks.effective_bits);
  out["reference_bits"] = bits(checks.reference_bits);
  if (checks.other_shapes) out["other_shapes"] = *checks.other_shapes;
  return out;
}

/// KernelBench's verdict beside ours. Its score, fast_p, counts what is correct and has a speedup
/// over p; the speedup is ours, for a time taken its way can be faked.
json::value KernelBenchJson(const KernelBenchCheck& check, const Ratio& speedup) {
  json::object out;
  out["correct"] = check.trials > 0 && check.passed == check.trials;
  out["trials"] = check.trials;
  out["passed"] = check.passed;
  out["tolerance"] = Rounded(check.tolerance);
  out["speedup"] = speedup.value > 0 ? Rounded(speedup.value) : json::value(nullptr);
  return out;
}

json::value SummaryJson(const Summary& summary) {
  json::object out;
  out["median"] = Rounded(summary.median);
  out["p20"] = Rounded(summary.p20);
  out["p80"] = Rounded(summary.p80);
  out["min"] = Rounded(summary.min);
  out["n"] = summary.n;
  return out;
}

/// null: none.
json::value RatioJson(const Ratio& ratio) {
  if (ratio.value <= 0) return nullptr;
  return json::object{
      {"value", Rounded(ratio.value)}, {"low", Rounded(ratio.low)}, {"high", Rounded(ratio.high)}};
}

json::value BaselineJson(const BaselineTiming& baseline) {
  if (!baseline.unavailable.empty())
    return json::object{{"unavailable", ScrubLine(baseline.unavailable, kMaxReason)}};
  return json::object{{"us", SummaryJson(baseline.us)}, {"speedup", RatioJson(baseline.speedup)}};
}

/// How fast the card ran over the rounds that count.
json::value ClocksJson(const std::vector<DeviceClock>& clocks) {
  const auto [low, high] = std::minmax_element(
      clocks.begin(), clocks.end(),
      [](const DeviceClock& a, const DeviceClock& b) { return a.sm_mhz < b.sm_mhz; });
  uint64_t reasons = 0;
  int slowed = 0;
  for (const DeviceClock& clock : clocks) {
    reasons |= clock.throttle_reasons;
    if (clock.Slowed()) ++slowed;
  }
  json::object out;
  out["sm_mhz_low"] = low->sm_mhz;
  out["sm_mhz_high"] = high->sm_mhz;
  out["slowed_rounds"] = slowed;
  json::array names;
  for (const std::string& name : SlowdownReasons(reasons)) names.emplace_back(name);
  out["slowdowns"] = std::move(names);
  return out;
}

json::value TimingJson(const Verdict& verdict) {
  const TimingRecord& timing = verdict.records.timing;
  json::object out;
  out.reserve(10);
  out["candidate_us"] = nullptr;
  out["reference_us"] = nullptr;
  out["speedup"] = RatioJson(verdict.speedup);
  out["method"] = Name(timing.method);
  out["meaningful"] = timing.meaningful;
  out["clock_check"] = nullptr;
  out["rounds_verified"] = timing.rounds_verified;
  if (timing.rounds_discarded > 0) out["rounds_discarded"] = timing.rounds_discarded;
  out["instrument_error_us"] = nullptr;
  out["note"] = nullptr;
  if (verdict.timed) {
    if (!timing.instrument.empty())
      out["instrument_error_us"] = Rounded(ErrorAt(timing.instrument, verdict.candidate_us.median));
    const Reconciled& clock = verdict.candidate_clock;
    out["candidate_us"] = SummaryJson(verdict.candidate_us);
    out["reference_us"] = SummaryJson(verdict.reference_us);
    json::object check;
    const bool one = timing.method.starts_with("rounds/host-clock");
    check["agree"] = one ? json::value(nullptr) : json::value(clock.agree);
    check["inside_us"] = clock.usable > 0 ? Rounded(clock.inside_us) : json::value(nullptr);
    check["outside_us"] = Rounded(clock.outside_us);
    out["clock_check"] = std::move(check);
  }
  if (!verdict.pairs.empty()) {
    json::array pairs;
    for (const Ratio& pair : verdict.pairs) pairs.push_back(RatioJson(pair));
    out["pairs"] = std::move(pairs);
  }
  if (!timing.clocks.empty()) out["clocks"] = ClocksJson(timing.clocks);
  if (const double growth = MemoryGrowth(timing.memory, timing.output_bytes); growth > 0)
    out["memory_growth_bytes"] = Rounded(growth);
  if (!verdict.timing_note.empty()) out["note"] = verdict.timing_note;
  if (!verdict.baselines.empty()) {
    out["baseline"] = Name(timing.baseline);
    json::object baselines;
    for (const BaselineTiming& baseline : verdict.baselines)
      baselines[Name(baseline.name)] = BaselineJson(baseline);
    out["baselines"] = std::move(baselines);
  }
  return out;
}

json::value NoteJson(const std::string& reason) {
  if (reason.empty()) return nullptr;
  return json::value(ScrubLine(reason, kMaxReason));
}

json::value NcuJson(const NcuRecord& record) {
  json::object out = ToJson(record.summary.value_or(NcuSummary{}));
  for (json::value& kernel : out["kernels"].as_array())
    kernel.as_object()["name"] = Name(kernel.as_object()["name"].as_string());
  out["note"] = NoteJson(record.reason);
  return out;
}

json::value ProfileJson(const ProfileRecord& record) {
  json::object out = record.profile ? ToJson(*record.profile, record.scale)
                                    : NoProfileJson(ScrubLine(record.reason, kMaxReason));
  for (json::value& kernel : out["kernels"].as_array())
    kernel.as_object()["name"] = ScrubLine(kernel.as_object()["name"].as_string(), kMaxName + 40);
  if (record.ncu) out["ncu"] = NcuJson(*record.ncu);
  return out;
}

json::value SanitizerJson(const SanitizerRecord& record) {
  json::object out;
  out["tool"] = record.tool;
  json::array findings;
  const SanitizerReport report = record.report.value_or(SanitizerReport{});
  for (const SanitizerFinding& finding : report.findings) {
    json::object item = ToJson(finding);
    for (const char* text : {"kernel", "message", "file"})
      if (item[text].is_string()) item[text] = ScrubLine(item[text].as_string(), kMaxReason);
    findings.push_back(std::move(item));
  }
  out["findings"] = std::move(findings);
  out["left_out"] = report.left_out;
  out["errors"] = report.errors ? json::value(*report.errors) : json::value(nullptr);
  out["note"] = NoteJson(record.reason);
  return out;
}

json::value GhostJson(const GhostRecord& ghost) {
  json::object out;
  out["launches_skipped"] = ghost.skipped;
  out["still_right"] = ghost.still_right ? json::value(*ghost.still_right) : json::value(nullptr);
  out["note"] = NoteJson(ghost.reason);
  return out;
}

json::value LintJson(const LintReport& lint) {
  json::array out;
  for (const LintFinding& finding : lint.findings) {
    json::object item;
    item["rule"] = Name(finding.rule);
    item["line"] = finding.line;
    item["reason"] = ScrubLine(finding.reason, kMaxReason);
    out.push_back(std::move(item));
  }
  return out;
}

json::value ErrorJson(const Failure& error) {
  json::object out;
  out.reserve(6);
  out["kind"] = ToString(error.kind);
  out["stage"] = ToString(error.stage);
  out["name"] = Name(error.name);
  out["message"] = Scrub(error.message, kMaxMessage);
  out["line"] = std::max(error.line, 0);
  return out;
}

/// The clocks as they were read, so that every paid time can be computed again.
json::value RoundsJson(const std::vector<RoundClock>& rounds) {
  json::array out;
  for (const RoundClock& round : rounds) {
    json::object item;
    item["calls"] = round.calls;
    item["outside_us"] = Exact(round.outside_us);
    item["overhead_us"] = Exact(round.overhead_us);
    item["slack_us"] = Exact(round.slack_us);
    // Of a hostile clock with more samples than calls the number is evidence enough.
    const size_t shown =
        std::min(round.inside_us.size(), static_cast<size_t>(std::max(round.calls, 0)));
    item["inside_n"] = static_cast<int64_t>(round.inside_us.size());
    json::array inside;
    inside.reserve(shown);
    for (size_t i = 0; i < shown; ++i) inside.push_back(Exact(round.inside_us[i]));
    item["inside_us"] = std::move(inside);
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace

json::object ToJson(const Verdict& verdict, bool full) {
  const Records& records = verdict.records;
  json::object out;
  out.reserve(32);
  out["schema"] = kVerdictSchema;
  out["id"] = Name(records.id);
  out["task_id"] = Name(records.task_id);
  out["task_sha256"] = Name(records.task_sha256);
  out["submission_sha256"] = Name(records.submission_sha256);
  out["status"] = ToString(verdict.status);
  out["fault"] = ToString(verdict.fault);
  out["stage"] = ToString(verdict.stage);
  out["compiled"] = verdict.compiled;
  out["correct"] = verdict.correct;
  out["correctness"] = CorrectnessJson(records.correctness);
  out["timing"] = TimingJson(verdict);
  if (records.kernelbench)
    out["kernelbench"] = KernelBenchJson(*records.kernelbench, verdict.speedup);
  if (!records.precision.empty()) out["precision"] = Name(records.precision);
  if (!records.void_reason.empty()) out["void_reason"] = Name(records.void_reason);
  if (records.ghost) out["ghost"] = GhostJson(*records.ghost);
  if (records.profile) out["profile"] = ProfileJson(*records.profile);
  if (records.sanitizer) out["sanitizer"] = SanitizerJson(*records.sanitizer);
  if (verdict.roofline) out["roofline"] = ToJson(*verdict.roofline);
  json::array flags;
  for (const std::string& flag : verdict.flags) flags.emplace_back(Name(flag));
  out["flags"] = std::move(flags);
  out["lint"] = LintJson(records.lint);
  out["error"] =
      verdict.error.kind == FailureKind::kNone ? json::value(nullptr) : ErrorJson(verdict.error);
  out["feedback"] = verdict.feedback;
  json::object phases;
  for (const auto& [name, milliseconds] : records.phases_ms)
    phases[Name(name)] = Rounded(milliseconds);
  out["phases_ms"] = std::move(phases);
  out["environment"] = Tidy(records.environment);
  out["protocol"] = kProtocolVersion;
  if (!full) return out;

  json::object raw;
  raw["candidate"] = RoundsJson(records.timing.candidate);
  raw["reference"] = RoundsJson(records.timing.reference);
  if (!records.timing.clocks.empty()) {
    json::array clocks;
    for (const DeviceClock& clock : records.timing.clocks)
      clocks.push_back(
          json::object{{"sm_mhz", clock.sm_mhz}, {"throttle_reasons", clock.throttle_reasons}});
    raw["clocks"] = std::move(clocks);
  }
  out["raw"] = std::move(raw);
  out["stdout"] = TruncateMiddle(CleanText(records.stdout_text), kMaxStream);
  out["stderr"] = TruncateMiddle(CleanText(records.stderr_text), kMaxStream);
  return out;
}

}  // namespace assay
