#include "verdict/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "verdict/feedback.h"
#include "verdict/scrub.h"

namespace assay {
namespace {

/// A 95 % interval wider than this share of the speedup is flagged `noisy`.
constexpr double kNoisyWidth = 0.10;

constexpr const char* kEagerBaseline = "eager";
constexpr size_t kMaxReason = 300;

/// float32 arithmetic keeps 19 bits and more even of long sums; TF32 and float16 keep 11 to 13,
/// bfloat16 8 to 10. A reference that is no better itself shows nothing.
constexpr double kReducedBits = 17;
constexpr double kReducedAgainstReference = 3;

bool ReducedPrecision(const Correctness& checks) {
  return checks.effective_bits && checks.reference_bits && *checks.effective_bits < kReducedBits &&
         *checks.effective_bits < *checks.reference_bits - kReducedAgainstReference;
}

struct Outcome {
  VerdictStatus status;
  Fault fault;
};

Outcome OutcomeOf(FailureKind kind) {
  switch (kind) {
    case FailureKind::kNone:
      return {VerdictStatus::kCorrect, Fault::kNone};
    case FailureKind::kLintInvalid:
    case FailureKind::kSyntaxError:
      return {VerdictStatus::kInvalidSubmission, Fault::kCandidate};
    case FailureKind::kCompileError:
      return {VerdictStatus::kCompileError, Fault::kCandidate};
    case FailureKind::kException:
    case FailureKind::kCrash:
    case FailureKind::kDeviceFault:
      return {VerdictStatus::kRuntimeError, Fault::kCandidate};
    case FailureKind::kDeadline:
      return {VerdictStatus::kTimeout, Fault::kCandidate};
    case FailureKind::kHostMemory:
    case FailureKind::kDeviceMemory:
      return {VerdictStatus::kOutOfMemory, Fault::kCandidate};
    case FailureKind::kMismatch:
    case FailureKind::kInputMutated:
      return {VerdictStatus::kIncorrect, Fault::kCandidate};
    case FailureKind::kIntegrity:
      return {VerdictStatus::kRejectedCheat, Fault::kIntegrity};
    case FailureKind::kInfrastructure:
      return {VerdictStatus::kInfraError, Fault::kInfrastructure};
    case FailureKind::kCancelled:
      return {VerdictStatus::kCancelled, Fault::kNone};
  }
  return {VerdictStatus::kInfraError, Fault::kInfrastructure};
}

Failure EngineBug(std::string message) {
  Failure failure;
  failure.kind = FailureKind::kInfrastructure;
  failure.stage = Stage::kVerdict;
  failure.name = "inconsistent_records";
  failure.message = std::move(message);
  return failure;
}

/// What is missing from records without a failure before they may count as correct.
std::optional<std::string> MissingProof(const Records& records) {
  const Correctness& checks = records.correctness;
  const TimingRecord& timing = records.timing;
  if (!records.compiled) return "no stage failed, but the submission was never loaded";
  if (checks.trials <= 0) return "no stage failed, but no correctness trial was run";
  if (checks.passed != checks.trials)
    return fmt::format("no stage failed, but {} of {} correctness trials passed", checks.passed,
                       checks.trials);
  if (!timing.measured) {
    if (timing.requested && timing.meaningful)
      return "no stage failed, but the requested times were not measured";
    return std::nullopt;
  }
  if (timing.candidate.empty() || timing.candidate.size() != timing.reference.size())
    return fmt::format("times were measured, but of {} candidate and {} reference rounds",
                       timing.candidate.size(), timing.reference.size());
  int64_t in_pairs = 0;
  for (const int rounds : timing.pairs) in_pairs += std::max(rounds, 0);
  const bool empty_pair =
      std::any_of(timing.pairs.begin(), timing.pairs.end(), [](int rounds) { return rounds <= 0; });
  if (empty_pair ||
      (!timing.pairs.empty() && in_pairs != static_cast<int64_t>(timing.candidate.size())))
    return fmt::format("times were measured, but the pairs of processes have {} of {} rounds",
                       in_pairs, timing.candidate.size());
  for (const BaselineRecord& baseline : timing.baselines)
    if (baseline.unavailable.empty() &&
        (baseline.rounds.size() != timing.candidate.size() ||
         !std::all_of(baseline.rounds.begin(), baseline.rounds.end(), IsValid)))
      return fmt::format("times were measured, but not those of the baseline {}", baseline.name);
  for (const std::vector<RoundClock>* rounds : {&timing.candidate, &timing.reference})
    if (!std::all_of(rounds->begin(), rounds->end(), IsValid))
      return "times were measured, but a round of the worker's own clock is not a time";
  if (timing.meaningful && timing.rounds_verified <= 0)
    return "times were measured, but no timed output was verified";
  return std::nullopt;
}

/// The failure that decides, or kNone for a correct submission.
Failure DecidingFailure(const Records& records) {
  Failure failure = records.failure;
  if (failure.kind == FailureKind::kNone && records.lint.invalid()) {
    failure.kind = FailureKind::kLintInvalid;
    failure.stage = Stage::kLint;
  }
  if (failure.kind == FailureKind::kLintInvalid && failure.message.empty()) {
    for (const LintFinding& finding : records.lint.findings) {
      if (finding.severity != LintFinding::Severity::kInvalid) continue;
      failure.name = finding.rule;
      failure.message = finding.reason;
      failure.line = finding.line;
      break;
    }
  }
  if (OutcomeOf(failure.kind).fault == Fault::kCandidate &&
      !CandidateCanCause(failure.kind, failure.stage))
    return EngineBug(fmt::format("a submission cannot cause {} in stage {}: {}",
                                 ToString(failure.kind), ToString(failure.stage), failure.message));
  if (failure.kind != FailureKind::kNone) return failure;
  if (auto missing = MissingProof(records)) return EngineBug(std::move(*missing));
  return failure;
}

/// `pairs`: of the timing record.
BaselineTiming Against(std::string name, const std::vector<RoundClock>& rounds,
                       std::span<const double> paid_us, const std::vector<int>& pairs) {
  const std::vector<double> us = TrustedTimes(rounds);
  return {std::move(name), Summarize(us),
          pairs.empty() ? PairedRatio(us, paid_us) : RatioOverPairs(us, paid_us, pairs), ""};
}

/// The speedup in each pair of processes.
std::vector<Ratio> RatioOfEach(const std::vector<RoundClock>& rounds,
                               std::span<const double> paid_us, const std::vector<int>& pairs) {
  const std::vector<double> us = TrustedTimes(rounds);
  std::vector<Ratio> each;
  size_t at = 0;
  for (const int count : pairs) {
    const auto size = static_cast<size_t>(count);
    each.push_back(PairedRatio(std::span(us).subspan(at, size), paid_us.subspan(at, size)));
    at += size;
  }
  return each;
}

/// Fills the times of a correct submission. False when they are not numbers that could be paid.
bool FillTiming(Verdict* verdict) {
  const TimingRecord& timing = verdict->records.timing;
  if (!timing.meaningful)
    verdict->timing_note =
        "The kernels ran in Triton's interpreter, on the CPU: correctness counts, times are not "
        "meaningful and give no speedup.";
  else if (!timing.measured)
    verdict->timing_note = "Timing was not requested.";
  if (!timing.measured) return true;

  verdict->candidate_clock = Reconcile(timing.candidate);
  verdict->candidate_us = Summarize(verdict->candidate_clock.paid_us);
  verdict->timed = true;
  const std::vector<double>& paid_us = verdict->candidate_clock.paid_us;
  const BaselineTiming eager = Against(kEagerBaseline, timing.reference, paid_us, timing.pairs);
  BaselineTiming chosen = eager;
  const std::vector<RoundClock>* chosen_rounds = &timing.reference;
  if (!timing.baselines.empty()) verdict->baselines.push_back(eager);
  for (const BaselineRecord& baseline : timing.baselines) {
    BaselineTiming against = baseline.unavailable.empty()
                                 ? Against(baseline.name, baseline.rounds, paid_us, timing.pairs)
                                 : BaselineTiming{baseline.name, {}, {}, baseline.unavailable};
    if (baseline.name == timing.baseline) {
      chosen = against;
      chosen_rounds = &baseline.rounds;
    }
    verdict->baselines.push_back(std::move(against));
  }
  if (!timing.meaningful)
    for (BaselineTiming& baseline : verdict->baselines) baseline.speedup = {};
  if (!chosen.unavailable.empty()) {
    // Another one in its place would be another score.
    verdict->reference_us = eager.us;
    verdict->timing_note = fmt::format("The baseline {} is unavailable: {}", chosen.name,
                                       ScrubLine(chosen.unavailable, kMaxReason));
    return true;
  }
  verdict->reference_us = chosen.us;
  if (!timing.meaningful) return true;
  verdict->speedup = chosen.speedup;
  if (timing.pairs.size() > 1) verdict->pairs = RatioOfEach(*chosen_rounds, paid_us, timing.pairs);
  return std::isfinite(verdict->speedup.high) && verdict->speedup.low > 0;
}

/// Sets the paid time against what the card can do at the most.
void FillRoofline(Verdict* verdict) {
  verdict->roofline = verdict->records.roofline;
  if (!verdict->roofline || verdict->speedup.value <= 0) return;
  const double time_us = verdict->candidate_us.median;
  SetFraction(time_us, &*verdict->roofline);
  verdict->plausibility =
      CheckPlausible(*verdict->roofline, time_us, Uncertainty(verdict->speedup));
}

/// Notes on whose kernels do the work. What is not known to be another's counts as the
/// submission's.
void ProfileFlags(const Records& records, std::vector<std::string>* flags) {
  const Profile& profile = *records.profile->profile;
  const double known_us = profile.own_us + profile.library_us + profile.copy_us;
  const double total_us = known_us + profile.unknown_us;
  if (total_us <= 0 || profile.dropped > 0) return;
  const bool has_kernels = records.lint.uses_triton || records.lint.uses_extension;
  if (has_kernels && profile.own_us + profile.unknown_us < kDecoyShare * total_us)
    flags->emplace_back("decoy");
  if (profile.library_us > kLibraryShare * total_us) flags->emplace_back("library");
}

std::vector<std::string> CollectFlags(const Verdict& verdict) {
  const Records& records = verdict.records;
  std::vector<std::string> flags = records.flags;
  for (const LintFinding& finding : records.lint.findings)
    if (finding.severity == LintFinding::Severity::kFlag) flags.push_back(finding.rule);
  if (!records.void_reason.empty()) flags.emplace_back("void_task");
  // Of wrong values it says nothing.
  if (verdict.correct && ReducedPrecision(records.correctness))
    flags.emplace_back("reduced_precision");
  if (records.correctness.weights == "seed") flags.emplace_back("weights_seed");
  if (verdict.timed && records.timing.meaningful) {
    // A clock that claims more than the outside one harms nobody but its owner.
    const Reconciled& clock = verdict.candidate_clock;
    if (!clock.agree && clock.overruled > 0) flags.emplace_back("clock_disagrees");
    if (verdict.speedup.high - verdict.speedup.low > kNoisyWidth * verdict.speedup.value)
      flags.emplace_back("noisy");
    if (std::any_of(records.timing.clocks.begin(), records.timing.clocks.end(),
                    [](const DeviceClock& round) { return round.Slowed(); }))
      flags.emplace_back("throttled");
  }
  if (MemoryGrowth(records.timing.memory, records.timing.output_bytes) > 0)
    flags.emplace_back("memory_grows");
  if (records.ghost && records.ghost->still_right.value_or(false)) flags.emplace_back("decoy");
  if (records.profile && records.profile->profile) ProfileFlags(records, &flags);
  if (verdict.plausibility == Plausibility::kAtRoof) flags.emplace_back("at_roof");
  if (verdict.plausibility == Plausibility::kSuperluminal) flags.emplace_back("superluminal");
  if (verdict.timed && verdict.roofline && verdict.speedup.value > 0 &&
      Collapsed(*verdict.roofline, verdict.candidate_us.median, Uncertainty(verdict.speedup)))
    flags.emplace_back("collapse");
  std::sort(flags.begin(), flags.end());
  flags.erase(std::unique(flags.begin(), flags.end()), flags.end());
  return flags;
}

}  // namespace

bool CandidateCanCause(FailureKind kind, Stage stage) {
  switch (kind) {
    case FailureKind::kLintInvalid:
    case FailureKind::kSyntaxError:
      return stage == Stage::kLint || stage == Stage::kLoad;
    case FailureKind::kMismatch:
    case FailureKind::kInputMutated:
      return stage == Stage::kCheck || stage == Stage::kTime || stage == Stage::kProfile;
    default:
      return stage != Stage::kLint && stage != Stage::kVerdict;
  }
}

std::string_view ToString(Stage stage) {
  switch (stage) {
    case Stage::kLint:
      return "lint";
    case Stage::kLoad:
      return "load";
    case Stage::kCheck:
      return "check";
    case Stage::kTime:
      return "time";
    case Stage::kProfile:
      return "profile";
    case Stage::kVerdict:
      return "verdict";
  }
  return "unknown";
}

std::string_view ToString(FailureKind kind) {
  switch (kind) {
    case FailureKind::kNone:
      return "none";
    case FailureKind::kLintInvalid:
      return "lint_invalid";
    case FailureKind::kSyntaxError:
      return "syntax_error";
    case FailureKind::kCompileError:
      return "compile_error";
    case FailureKind::kException:
      return "exception";
    case FailureKind::kCrash:
      return "crash";
    case FailureKind::kDeviceFault:
      return "device_fault";
    case FailureKind::kDeadline:
      return "deadline";
    case FailureKind::kHostMemory:
      return "host_memory";
    case FailureKind::kDeviceMemory:
      return "device_memory";
    case FailureKind::kMismatch:
      return "mismatch";
    case FailureKind::kInputMutated:
      return "input_mutated";
    case FailureKind::kIntegrity:
      return "integrity";
    case FailureKind::kInfrastructure:
      return "infrastructure";
    case FailureKind::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view ToString(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::kCorrect:
      return "correct";
    case VerdictStatus::kIncorrect:
      return "incorrect";
    case VerdictStatus::kInvalidSubmission:
      return "invalid_submission";
    case VerdictStatus::kCompileError:
      return "compile_error";
    case VerdictStatus::kRuntimeError:
      return "runtime_error";
    case VerdictStatus::kTimeout:
      return "timeout";
    case VerdictStatus::kOutOfMemory:
      return "out_of_memory";
    case VerdictStatus::kRejectedCheat:
      return "rejected_cheat";
    case VerdictStatus::kInfraError:
      return "infra_error";
    case VerdictStatus::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view ToString(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kCandidate:
      return "candidate";
    case Fault::kIntegrity:
      return "integrity";
    case Fault::kInfrastructure:
      return "infrastructure";
  }
  return "unknown";
}

Verdict Decide(Records records) {
  Verdict verdict;
  verdict.records = std::move(records);
  verdict.error = DecidingFailure(verdict.records);
  if (verdict.error.kind == FailureKind::kNone && !FillTiming(&verdict)) {
    Records evidence = std::move(verdict.records);
    verdict = Verdict{};
    verdict.records = std::move(evidence);
    verdict.error = EngineBug("times were measured, but their ratio is not a positive number");
  }
  const auto [status, fault] = OutcomeOf(verdict.error.kind);
  verdict.status = status;
  verdict.fault = fault;
  verdict.correct = status == VerdictStatus::kCorrect;
  verdict.stage = verdict.correct ? Stage::kVerdict : verdict.error.stage;
  verdict.compiled = verdict.records.compiled && status != VerdictStatus::kCompileError &&
                     status != VerdictStatus::kInvalidSubmission;
  if (!verdict.correct) verdict.timing_note = "Only correct submissions are paid for their time.";
  FillRoofline(&verdict);
  verdict.flags = CollectFlags(verdict);
  verdict.feedback = Feedback(verdict);
  return verdict;
}

int ExitCode(const Verdict& verdict) {
  switch (verdict.fault) {
    case Fault::kNone:
      return verdict.correct ? 0 : 3;
    case Fault::kCandidate:
      return 1;
    case Fault::kIntegrity:
      return 4;
    case Fault::kInfrastructure:
      return 3;
  }
  return 3;
}

}  // namespace assay
