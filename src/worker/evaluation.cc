#include "worker/evaluation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <shared_mutex>

#include "base/log.h"
#include "roofline/bound.h"
#include "task/health.h"
#include "worker/timing_session.h"

namespace assay {
namespace {

int NextLane() {
  static std::atomic<int> next{1};
  return next++;
}

Limits LimitsFor(Limits limits, const Submission& submission) {
  limits.trials = submission.trials.value_or(limits.trials);
  limits.load_s = submission.load_s.value_or(limits.load_s);
  limits.compile_s = submission.compile_s.value_or(limits.compile_s);
  limits.call_s = submission.call_s.value_or(limits.call_s);
  return limits;
}

Failure CancelledFailure(Stage stage) {
  Failure failure;
  failure.kind = FailureKind::kCancelled;
  failure.stage = stage;
  failure.name = "cancelled";
  failure.message = "the submission was cancelled";
  return failure;
}

/// The judge answers, but the task's own code fails in it: nobody's fault here, and no better the
/// next time. A device that fails is another matter.
Failure ExamineFailure(const Error& error) {
  Failure failure = InfrastructureFailure(Stage::kLoad, error);
  const bool device = error.message.find("CUDA error") != std::string::npos ||
                      error.message.find("OutOfMemory") != std::string::npos;
  if (error.code == ErrorCode::kInternal && !device) failure.name = kBrokenReference;
  return failure;
}

/// As a bound names it; float32 where it names none.
Precision PrecisionNamed(std::string_view name) {
  if (name == "tf32") return Precision::kTf32;
  if (name == "bf16" || name == "fp16") return Precision::kFp16;
  if (name == "fp8") return Precision::kFp8;
  if (name == "int8") return Precision::kInt8;
  return name.starts_with("fp64") ? Precision::kFp64 : Precision::kFp32;
}

/// Whether a submission failed by itself, rather than something around it.
bool FailedByItself(const Outcome& outcome) {
  switch (outcome.kind) {
    case FailureKind::kException:
    case FailureKind::kCrash:
    case FailureKind::kDeviceFault:
    case FailureKind::kMismatch:
    case FailureKind::kInputMutated:
      return true;
    default:
      return false;
  }
}

/// Device memory one submission takes: three arenas, where those of the outputs also hold the
/// results of a round (see results_bytes() in judge.py), weights there and in the judge (once more
/// in float64), and the temporaries of a call and of its comparison in float64.
uint64_t MemoryNeeded(const TaskShape& shape, uint64_t slots) {
  return slots * (shape.input_bytes + 4 * shape.output_bytes + shape.output_bytes / 2) +
         6 * shape.state_bytes + 4 * shape.input_bytes + 8 * shape.output_bytes + (3ull << 30);
}

}  // namespace

Evaluation::Evaluation(Device* device, MemoryBudget* budget, const Submission& submission,
                       std::string_view secret, SandboxLevel require_sandbox, Progress progress)
    : device_(device),
      budget_(budget),
      submission_(submission),
      require_sandbox_(require_sandbox),
      progress_(std::move(progress)),
      limits_(LimitsFor(device->limits(), submission)),
      lane_(NextLane()),
      seeds_(secret, submission.id) {
  records_.id = submission.id;
  records_.task_id = submission.task->id;
  records_.task_sha256 = submission.task->sha256;
  records_.submission_sha256 = Sha256Hex(submission.source);
  records_.environment = device->environment();
  records_.timing.requested = submission.time;
  if (const TimerReport* timer = device->timer(); timer != nullptr)
    records_.timing.instrument = timer->points;
  if (const TaskHealth* health = KnownHealth(submission.task->sha256, device->size());
      health != nullptr)
    records_.void_reason = VoidReason(*health);
}

Evaluation::~Evaluation() {
  // The candidate goes before the memory it maps.
  session_.reset();
  background_.reset();
  device_->pool().Destroy(std::move(candidate_.process));
  if (opened_) {
    const std::shared_lock device(device_->lock());
    static_cast<void>(device_->judge().Close(lane_));
  }
}

template <typename Step>
bool Evaluation::Do(const char* name, Stage stage, Step step) {
  if (Cancelled()) {
    records_.failure = CancelledFailure(stage);
    return false;
  }
  if (progress_) progress_(name);
  const TimePoint start = Clock::now();
  records_.failure = step();
  records_.phases_ms.emplace_back(name, MillisecondsSince(start));
  if (records_.failure.kind == FailureKind::kInfrastructure && Cancelled())
    records_.failure = CancelledFailure(stage);
  return Passed(records_.failure);
}

Outcome Evaluation::Interrupted(Stage stage) const {
  if (Cancelled()) return CancelledFailure(stage);
  const Seconds own =
      Clock::now() - leased_at_ - (device_->background().Paused() - paused_at_lease_);
  Failure failure;
  if (submission_.timeout_s <= 0 || own.count() < submission_.timeout_s) return failure;
  failure.kind = FailureKind::kDeadline;
  failure.stage = stage;
  failure.name = "deadline";
  failure.limit_s = submission_.timeout_s;
  failure.message =
      fmt::format("not judged within the {:g} s that were asked for", submission_.timeout_s);
  return failure;
}

std::unique_ptr<CandidateSession> Evaluation::NewSession() {
  auto session = std::make_unique<CandidateSession>(device_, candidate_.process.get());
  session->WatchMemory(candidate_.cgroup ? &*candidate_.cgroup : nullptr);
  session->SetOwnPidNamespace(GetBool(GetObject(candidate_.hello, "sandbox"), "pid_ns"));
  session->SetInterrupt([this](Stage stage) { return Interrupted(stage); });
  return session;
}

Records Evaluation::Run() {
  const TimePoint start = Clock::now();
  static_cast<void>(
      Do("lint", Stage::kLint, [&] { return LintSource({}); }) &&
      Do("prepare", Stage::kLoad, [&] { return Prepare(); }) &&
      Do("lease", Stage::kLoad, [&] { return Lease(); }) &&
      Do("load", Stage::kLoad, [&] { return Load(); }) &&
      Do("check", Stage::kCheck, [&] { return Check(); }) &&
      (!submission_.time || Do("time", Stage::kTime, [&] { return Time(); })) &&
      (!submission_.profile || Do("profile", Stage::kProfile, [&] { return TakeProfile(); })) &&
      (!submission_.ghost || Do("ghost", Stage::kProfile, [&] { return TakeGhost(); })));
  records_.phases_ms.emplace_back("total", MillisecondsSince(start));
  if (candidate_.process && !replaced_) {
    records_.stdout_text = candidate_.process->StdoutText();
    records_.stderr_text = candidate_.process->StderrText();
  }
  return std::move(records_);
}

Outcome Evaluation::LintSource(const LintOptions& options) {
  records_.lint = Lint(submission_.source, options);
  Failure failure;
  for (const LintFinding& finding : records_.lint.findings) {
    if (finding.severity != LintFinding::Severity::kInvalid) continue;
    failure = {
        FailureKind::kLintInvalid, Stage::kLint, finding.rule, finding.reason, finding.line, 0};
    break;
  }
  return failure;
}

Outcome Evaluation::Prepare() {
  {
    const std::shared_lock device(device_->lock());
    if (Status status = device_->judge().EnsureRunning(); !status.ok())
      return InfrastructureFailure(Stage::kLoad, status.error());
    Result<TaskShape> shape = device_->judge().Examine(lane_, *submission_.task, device_->size());
    if (!shape.ok()) return ExamineFailure(shape.error());
    shape_ = *std::move(shape);
    opened_ = true;
  }
  // Now that the task is known, its arity is too.
  if (shape_.forward_inputs >= 0) {
    LintOptions options;
    options.forward_inputs = shape_.forward_inputs;
    if (Outcome outcome = LintSource(options); !Passed(outcome)) return outcome;
  }
  if (const RooflineTarget* target = device_->roofline(); target != nullptr && shape_.work)
    records_.roofline =
        ToReport(ComputeBound(*shape_.work, target->card,
                              target->calibration ? &*target->calibration : nullptr, nullptr));
  PlanRounds();
  share_ = std::make_unique<MemoryBudget::Share>(budget_, MemoryNeeded(shape_, slots_));
  const std::shared_lock device(device_->lock());
  Result<LaneArena> arena = device_->judge().Open(lane_, slots_);
  if (!arena.ok()) return InfrastructureFailure(Stage::kLoad, arena.error());
  arena_ = *std::move(arena);
  return {};
}

void Evaluation::PlanRounds() {
  const Limits& limits = device_->limits();
  const uint64_t slot = std::max<uint64_t>(1, shape_.input_bytes + shape_.output_bytes);
  const uint64_t most = std::clamp<uint64_t>(
      ControlPage::kMaxPlaces / static_cast<uint64_t>(std::max(1, shape_.outputs)), 1,
      static_cast<uint64_t>(limits.max_calls));
  const auto within = [&](uint64_t room) { return std::clamp<uint64_t>(room / slot, 1, most); };
  const uint64_t fitting = within(device_->cuda() ? limits.slot_bytes_gpu : limits.slot_bytes_cpu);
  const uint64_t spare = within(device_->cuda() ? limits.spare_bytes_gpu : limits.slot_bytes_cpu);
  const double wanted = std::ceil(limits.round_us / std::max(1.0, shape_.reference_us));
  calls_ = static_cast<uint32_t>(std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, fitting));
  // More slots than a round of the reference takes: a faster candidate runs more calls in a round,
  // and addresses vary.
  slots_ = static_cast<uint32_t>(std::max<uint64_t>(calls_ + std::min<uint64_t>(calls_, 4), spare));
  slots_ = static_cast<uint32_t>(std::min<uint64_t>(slots_, std::max<uint64_t>(fitting, calls_)));
}

Seconds Evaluation::LoadLimit() const {
  return Seconds(records_.lint.uses_extension ? limits_.compile_s : limits_.load_s);
}

Outcome Evaluation::Lease() {
  Result<WarmCandidate> leased = device_->pool().Lease(
      records_.lint.uses_streams, DeadlineIn(Seconds(device_->limits().warm_s)));
  if (!leased.ok()) return InfrastructureFailure(Stage::kLoad, leased.error());
  candidate_ = *std::move(leased);
  background_.emplace(&device_->background(), *candidate_.process);
  const json::object& sandbox = GetObject(candidate_.hello, "sandbox");
  const std::string level = GetString(sandbox, "level", "none");
  records_.environment["sandbox"] = level;
  records_.environment["cgroup"] = candidate_.cgroup.has_value();
  Result<SandboxLevel> reached = ParseSandboxLevel(level);
  if (!reached.ok() || *reached < require_sandbox_)
    return InfrastructureFailure(
        Stage::kLoad,
        Err(ErrorCode::kUnavailable,
            "the sandbox reached level '{}', '{}' is required; `assay doctor` says why", level,
            ToString(require_sandbox_)));
  if (*reached < SandboxLevel::kIsolated) records_.flags.emplace_back("sandbox_degraded");
  return {};
}

Outcome Evaluation::Load() {
  leased_at_ = Clock::now();
  paused_at_lease_ = device_->background().Paused();
  session_ = NewSession();
  CandidateSession::LoadOptions options;
  options.source = submission_.source;
  options.class_name = "ModelNew";
  options.limit = LoadLimit();
  options.share_results = !records_.lint.uses_streams;  // graphs keep memory of their own pools
  return session_->Load(arena_, arena_.outputs.get(), options);
}

Outcome Evaluation::Check() {
  const int trials = limits_.trials;
  records_.correctness.trials = trials;
  for (int number = 0; number < trials; ++number) {
    Outcome outcome = Trial(number);
    if (outcome.kind == FailureKind::kCrash || outcome.kind == FailureKind::kDeviceFault)
      return DiagnoseMutation(std::move(outcome));
    if (!Passed(outcome)) return outcome;
    ++records_.correctness.passed;
  }
  if (records_.correctness.weights == "seed") records_.flags.emplace_back("weights_seed");
  return {};
}

/// The task's own inputs first and most often, then each of the other families once.
std::string Evaluation::FamilyOf(int trial) const {
  const auto index = static_cast<size_t>(trial);
  return index < shape_.families.size() ? shape_.families[index] : shape_.families.front();
}

Outcome Evaluation::Trial(int number) {
  const std::string family = FamilyOf(number);
  weights_seed_ = seeds_.Next("weights");
  slot_ = static_cast<uint32_t>(seeds_.Next("slot") % slots_);
  {
    const std::shared_lock device(device_->lock());
    Judge& judge = device_->judge();
    if (Status status = judge.Weights(lane_, weights_seed_); !status.ok())
      return InfrastructureFailure(Stage::kCheck, status.error());
    const std::vector<uint64_t> seeds = seeds_.Next("trial", 1);
    if (Result<Quietness> filled = judge.Fill(lane_, slot_, seeds, 0, 0, family); !filled.ok())
      return InfrastructureFailure(Stage::kCheck, filled.error());
  }
  if (Outcome outcome = CallOnce(number == 0); !Passed(outcome)) return outcome;
  const std::shared_lock device(device_->lock());
  Result<Comparison> result = device_->judge().Verify(lane_, slot_, {}, /*exact=*/true, 0, nullptr);
  if (!result.ok()) return InfrastructureFailure(Stage::kCheck, result.error());
  Compare(*result, family == shape_.families.front());
  if (result->inputs_changed) return InputsChanged(Stage::kCheck);
  if (result->passed) return {};
  Failure failure;
  failure.kind = FailureKind::kMismatch;
  failure.stage = Stage::kCheck;
  failure.name = "values";
  failure.message = result->pattern;
  return failure;
}

/// A fresh instance and one call, outside the lock: it may compile for seconds, and a timing of
/// another submission stops it meanwhile.
Outcome Evaluation::CallOnce(bool first) {
  if (Outcome outcome = session_->Build(weights_seed_, LoadLimit(), &records_.correctness.weights);
      !Passed(outcome))
    return outcome;
  records_.compiled = true;
  if (Outcome outcome = session_->BeginRounds(Stage::kCheck); !Passed(outcome)) return outcome;
  if (first) records_.phases_ms.emplace_back("lease_to_call", MillisecondsSince(leased_at_));
  Seconds limit(std::max(limits_.call_s, limits_.call_factor * shape_.reference_us * 1e-6));
  if (first) limit = std::max(limit, LoadLimit());  // the first call may compile
  CandidateSession::RoundTime elapsed;
  if (Outcome outcome = session_->Round(Stage::kCheck, slot_, 1, false, limit, &elapsed);
      !Passed(outcome))
    return outcome;
  return session_->EndRounds(Stage::kCheck, nullptr);
}

void Evaluation::Compare(const Comparison& result, bool native) {
  Correctness& all = records_.correctness;
  if (result.bits && result.bits < all.effective_bits.value_or(1e9)) {
    all.effective_bits = result.bits;
    all.reference_bits = result.reference_bits;
  }
  if (native && result.kernelbench) {
    if (!records_.kernelbench) records_.kernelbench.emplace();
    records_.kernelbench->tolerance = result.kernelbench_tolerance;
    ++records_.kernelbench->trials;
    records_.kernelbench->passed += *result.kernelbench ? 1 : 0;
  }
  all.max_abs_err = std::max(all.max_abs_err, result.max_abs_err);
  all.max_rel_err = std::max(all.max_rel_err, result.max_rel_err);
  all.mismatch_fraction = std::max(all.mismatch_fraction, result.mismatch_fraction);
  all.atol = all.rtol = result.tolerance;
  all.reference = result.reference;
  if (result.passed) return;
  all.pattern = result.pattern;
  // Values of the task's own inputs teach; those of the others would tell how they are made.
  if (native && result.bad_output >= 0)
    all.first_bad = BadElement{result.bad_output, result.bad_index, result.got, result.expected};
}

/// A store into read-only inputs kills the process like any wild store. Whether that was the cause
/// is found in a second candidate, with private copies of the inputs that are looked at afterwards.
Outcome Evaluation::DiagnoseMutation(Outcome crash) {
  if (shape_.private_inputs) return crash;
  if (!LeaseAnother().ok()) return crash;
  CandidateSession::LoadOptions options;
  options.source = submission_.source;
  options.class_name = "ModelNew";
  options.report_mutation = true;
  options.limit = LoadLimit();
  {
    if (Outcome outcome = session_->Load(arena_, arena_.outputs.get(), options); !Passed(outcome))
      return crash;
  }
  CandidateSession::RoundTime elapsed;
  if (Passed(session_->Build(weights_seed_, LoadLimit(), nullptr)) &&
      Passed(session_->BeginRounds(Stage::kCheck))) {
    Outcome outcome = session_->Round(Stage::kCheck, slot_, 1, false, LoadLimit(), &elapsed);
    if (outcome.kind == FailureKind::kInputMutated) return outcome;
  }
  return crash;
}

/// The submission goes on in a new process; of what was printed, the first one's is kept.
Status Evaluation::LeaseAnother() {
  records_.stdout_text = candidate_.process->StdoutText();
  records_.stderr_text = candidate_.process->StderrText();
  replaced_ = true;
  session_.reset();
  background_.reset();
  device_->pool().Destroy(std::move(candidate_.process));
  ASSAY_ASSIGN_OR_RETURN(candidate_,
                         device_->pool().Lease(records_.lint.uses_streams,
                                               DeadlineIn(Seconds(device_->limits().warm_s))));
  background_.emplace(&device_->background(), *candidate_.process);
  session_ = NewSession();
  return {};
}

/// Like the profile it decides nothing.
Outcome Evaluation::TakeGhost() {
  GhostRecord& record = records_.ghost.emplace();
  Outcome outcome = GhostCall(&record);
  if (outcome.kind == FailureKind::kIntegrity || outcome.kind == FailureKind::kCancelled)
    return outcome;
  // Without its kernels a submission may well fail: then they were needed.
  if (FailedByItself(outcome))
    record.still_right = false;
  else if (!Passed(outcome))
    record.reason = outcome.message;
  return {};
}

/// One call on new inputs and poisoned outputs, in a process that launches none of the submission's
/// own kernels.
Outcome Evaluation::GhostCall(GhostRecord* record) {
  const auto infrastructure = [](const Error& error) {
    return InfrastructureFailure(Stage::kProfile, error);
  };
  if (const Status leased = LeaseAnother(); !leased.ok()) return infrastructure(leased.error());
  {
    const std::shared_lock device(device_->lock());
    const std::vector<uint64_t> seeds = seeds_.Next("ghost", 1);
    if (const Result<Quietness> filled = device_->judge().Fill(lane_, slot_, seeds, 0, 0);
        !filled.ok())
      return infrastructure(filled.error());
  }
  CandidateSession::LoadOptions options;
  options.source = submission_.source;
  options.class_name = "ModelNew";
  options.limit = LoadLimit();
  options.ghost = true;
  options.share_results = false;
  CandidateSession::RoundTime elapsed;
  CandidateSession::RoundsReport report;
  Outcome outcome = session_->Load(arena_, arena_.outputs.get(), options);
  if (Passed(outcome)) outcome = session_->Build(weights_seed_, LoadLimit(), nullptr);
  if (Passed(outcome)) outcome = session_->BeginRounds(Stage::kProfile);
  if (Passed(outcome))
    outcome = session_->Round(Stage::kProfile, slot_, 1, false, LoadLimit(), &elapsed);
  if (Passed(outcome)) outcome = session_->EndRounds(Stage::kProfile, &report);
  if (!Passed(outcome)) return outcome;
  record->skipped = report.skipped;
  if (report.skipped == 0) {
    record->reason = "it launched no kernel of its own that could be left out";
    return {};
  }
  const std::shared_lock device(device_->lock());
  const Result<Comparison> compared =
      device_->judge().Verify(lane_, slot_, {}, /*exact=*/true, 0, nullptr);
  if (!compared.ok()) return infrastructure(compared.error());
  record->still_right = compared->passed;
  return {};
}

Outcome Evaluation::Time() {
  const TimePoint asked = Clock::now();
  const Device::Exclusive exclusive(device_, &background_);
  records_.phases_ms.emplace_back("time_wait", MillisecondsSince(asked));
  if (Status status = device_->EnsureReference(); !status.ok())
    return InfrastructureFailure(Stage::kTime, status.error());
  CandidateSession reference(device_, device_->reference());
  CandidateSession::LoadOptions options;
  options.source = submission_.task->source;
  options.class_name = submission_.task->entry;
  options.size = device_->size();
  options.limit = Seconds(device_->limits().compile_s);
  const auto reference_failed = [&](const Outcome& outcome) {
    device_->DropReference();
    candidate_.process->Kill();
    return InfrastructureFailure(Stage::kTime,
                                 Err(ErrorCode::kInternal, "the reference cannot be timed: {}: {}",
                                     outcome.name, outcome.message));
  };
  if (Outcome outcome = reference.Load(arena_, arena_.reference_outputs.get(), options);
      !Passed(outcome))
    return reference_failed(outcome);
  if (Outcome outcome =
          reference.Build(weights_seed_, Seconds(device_->limits().compile_s), nullptr);
      !Passed(outcome))
    return reference_failed(outcome);

  TimingSession::Plan plan;
  plan.lane = lane_;
  plan.slots = slots_;
  plan.outputs = shape_.outputs;
  plan.calls = calls_;
  plan.reference_us = shape_.reference_us;
  plan.call_s = limits_.call_s;
  plan.private_inputs = shape_.private_inputs;
  plan.interpreted = !device_->cuda() && records_.lint.uses_triton;
  // A stream of the submission's own need not wait for what its round waits for.
  plan.hold = !records_.lint.uses_streams;
  TimingSession session(device_, session_.get(), &reference, &seeds_, plan);
  Outcome outcome = session.Run(&records_.timing, &records_.correctness, &records_.flags);
  if (plan.interpreted) records_.flags.emplace_back("triton_interpreter");
  // After a failure the reference may still be inside its rounds, and stopped.
  if (!Passed(outcome) || !Passed(reference.Unload())) device_->DropReference();
  StopCandidate(Passed(outcome));
  return outcome;
}

/// It must not run through the timings of others until it is destroyed.
void Evaluation::StopCandidate(bool sound) {
  if (!sound || !candidate_.process->Freeze(DeadlineIn(Seconds(device_->limits().stop_s))).ok())
    candidate_.process->Kill();
}

/// Runs last and decides nothing: what goes wrong here is the profile's reason, unless it breaks
/// the rules.
Outcome Evaluation::TakeProfile() {
  ProfileRecord& record = records_.profile.emplace();
  record.scale = Scale();
  if (!device_->cuda()) {
    record.reason = "a profile needs a GPU; this device is a processor";
    return {};
  }
  const Device::Exclusive exclusive(device_, &background_);
  candidate_.process->Thaw();
  Outcome outcome;
  ProfileCandidate(&record, &outcome);
  StopCandidate(Passed(outcome));
  if (outcome.kind == FailureKind::kIntegrity || outcome.kind == FailureKind::kCancelled)
    return outcome;
  if (!Passed(outcome))
    record.reason = fmt::format("the submission failed while it was profiled: {}: {}", outcome.name,
                                outcome.message);
  return {};
}

void Evaluation::ProfileCandidate(ProfileRecord* record, Outcome* outcome) {
  constexpr double kWindowUs = 2000;
  constexpr uint32_t kMostCalls = 8;
  const double wanted = std::ceil(kWindowUs / std::max(1.0, shape_.reference_us));
  const auto calls =
      static_cast<uint32_t>(std::clamp<double>(wanted, 1, std::min(slots_, kMostCalls)));
  const std::vector<uint64_t> seeds = seeds_.Next("profile", calls);
  if (const Result<Quietness> filled = device_->judge().Fill(lane_, 0, seeds, 0, 0); !filled.ok()) {
    record->reason = "the judge failed: " + filled.error().message;
    return;
  }
  const Seconds limit(std::max(
      limits_.call_s, limits_.call_factor * shape_.reference_us * 1e-6 * (2.0 * calls + 2)));
  *outcome = session_->BeginProfile(limit, &record->reason);
  if (!Passed(*outcome) || !record->reason.empty()) return;
  // A new instance: its graphs are captured where their launches can be seen.
  *outcome = session_->Build(weights_seed_, Seconds(device_->limits().build_s), nullptr);
  if (Passed(*outcome))
    *outcome = session_->Profiled(calls, limit, &record->profile, &record->reason);
}

ProfileScale Evaluation::Scale() const {
  ProfileScale scale;
  if (records_.roofline) scale.required_bytes = records_.roofline->bytes;
  if (shape_.work)
    for (const Work::Operator& op : shape_.work->operators) scale.required_flops += op.flops;
  if (const RooflineTarget* target = device_->roofline(); target != nullptr) {
    scale.peak_gbs = target->card.dram_gbs;
    const std::string name = records_.roofline ? records_.roofline->precision : "";
    scale.peak_tflops = PeakFlops(target->card, PrecisionNamed(name)) / 1e12;
  }
  return scale;
}

}  // namespace assay
