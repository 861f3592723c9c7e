#include "worker/evaluation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <shared_mutex>

#include "base/log.h"
#include "roofline/bound.h"
#include "task/health.h"
#include "worker/host_results.h"

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

/// The judge answers, but the task's own code fails in it: nobody's fault here, and no better the
/// next time. A device that fails is another matter.
Failure ExamineFailure(const Error& error) {
  Failure failure = InfrastructureFailure(Stage::kLoad, error);
  const bool device = error.message.find("CUDA error") != std::string::npos ||
                      error.message.find("OutOfMemory") != std::string::npos;
  if (error.code == ErrorCode::kInternal && !device) failure.name = kBrokenReference;
  return failure;
}

/// Device memory one submission takes: three arenas, where those of the outputs also hold the
/// results of a round (see results_bytes() in lane.py), weights there and in the judge (once more
/// in float64), and the temporaries of a call and of its comparison in float64. A baseline has
/// outputs, weights and a context of its own. Where inputs are written, each process has its own.
uint64_t MemoryNeeded(const TaskShape& shape, uint64_t slots, uint64_t baselines) {
  const uint64_t own_inputs = shape.writes_inputs ? shape.input_bytes : 0;
  const uint64_t alone =
      slots * (shape.input_bytes + own_inputs + 4 * shape.output_bytes + shape.output_bytes / 2) +
      6 * shape.state_bytes + 4 * shape.input_bytes + 8 * shape.output_bytes + (3ull << 30);
  const uint64_t each = slots * (own_inputs + 2 * shape.output_bytes + shape.output_bytes / 4) +
                        2 * shape.state_bytes + 4 * shape.output_bytes + (2ull << 30);
  return alone + baselines * each;
}

}  // namespace

Failure CancelledFailure(Stage stage) {
  Failure failure;
  failure.kind = FailureKind::kCancelled;
  failure.stage = stage;
  failure.name = "cancelled";
  failure.message = "the submission was cancelled";
  return failure;
}

Evaluation::Evaluation(Device* device, MemoryBudget* budget, const Submission& submission,
                       std::string_view secret, SandboxLevel require_sandbox, Progress progress)
    : device_(device),
      budget_(budget),
      submission_(submission),
      require_sandbox_(require_sandbox),
      progress_(std::move(progress)),
      limits_(LimitsFor(device->limits(), submission)),
      lane_(NextLane()),
      seeds_(secret, fmt::format("{}#{}", submission.id, submission.attempt)) {
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
  baselines_.clear();
  background_.reset();
  DestroyCandidate();
  if (opened_) {
    const std::shared_lock device(device_->lock());
    static_cast<void>(device_->judge().Close(lane_, candidates_ended_));
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

template <typename Step>
void Evaluation::Inform(const char* name, Step step) {
  if (Cancelled()) return;
  if (progress_) progress_(name);
  const TimePoint start = Clock::now();
  step();
  records_.phases_ms.emplace_back(name, MillisecondsSince(start));
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
  const auto reports_shapes = [this] {  // once the task is known
    return submission_.modes.shape_jitter == ShapeJitter::kReport && !shape_.general_shapes;
  };
  const auto times_more = [this] {
    return submission_.time && submission_.modes.processes > 1 && records_.timing.meaningful;
  };
  static_cast<void>(
      Do("lint", Stage::kLint, [&] { return LintSource({}); }) &&
      Do("prepare", Stage::kLoad, [&] { return Prepare(); }) &&
      Do("lease", Stage::kLoad, [&] { return Lease(); }) &&
      Do("load", Stage::kLoad, [&] { return Load(); }) &&
      Do("check", Stage::kCheck, [&] { return Check(); }) &&
      (!submission_.time || submission_.modes.baselines.empty() ||
       Do("baselines", Stage::kTime, [&] { return PrepareBaselines(); })) &&
      (!submission_.time || Do("time", Stage::kTime, [&] { return Time(); })) &&
      (!times_more() || Do("time_more", Stage::kTime, [&] { return TimeMore(); })) &&
      ((!submission_.profile && !submission_.ncu) ||
       Do("profile", Stage::kProfile, [&] { return TakeProfile(); })) &&
      (!reports_shapes() || probe_failed_ ||
       Do("shapes", Stage::kVerdict, [&] { return ReportShapes(); })) &&
      (!submission_.ghost || Do("ghost", Stage::kProfile, [&] { return TakeGhost(); })));
  if (submission_.ncu && records_.profile && Passed(records_.failure))
    Inform("ncu", [&] { TakeNcu(); });
  if (!submission_.sanitize.empty() && WorthSanitizing())
    Inform("sanitize", [&] { TakeSanitizer(); });
  NoteSwitches();
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
    Result<TaskShape> shape = device_->judge().Examine(lane_, *submission_.task, device_->size(),
                                                       submission_.modes.precision);
    if (!shape.ok()) return ExamineFailure(shape.error());
    shape_ = *std::move(shape);
    opened_ = true;
  }
  records_.precision = shape_.precision;
  if (shape_.same_inputs && records_.void_reason.empty())
    records_.void_reason = "get_inputs() gives the same inputs from every seed";
  if (shape_.draws > 0) records_.flags.emplace_back("statistical");
  if (shape_.constant_inputs) records_.flags.emplace_back("constant_input");
  // Now that the task is known, its arity is too.
  if (shape_.forward_inputs >= 0) {
    LintOptions options;
    options.forward_inputs = shape_.forward_inputs;
    if (Outcome outcome = LintSource(options); !Passed(outcome)) return outcome;
  }
  if (const RooflineTarget* target = device_->roofline(); target != nullptr && shape_.work)
    records_.roofline = ToReport(ComputeBound(
        *shape_.work, target->card, target->calibration ? &*target->calibration : nullptr,
        FindOverride(device_->overrides(), submission_.task->id, submission_.task->sha256)));
  PlanRounds();
  const size_t baselines = submission_.time ? submission_.modes.baselines.size() : 0;
  const LaneNeeds needs = {slots_,
                           submission_.modes.warm_cache,
                           baselines,
                           MemoryNeeded(shape_, slots_, baselines),
                           submission_.frugal,
                           device_->memory_bytes()};
  share_ = std::make_unique<MemoryBudget::Share>(budget_, needs.bytes);
  const std::shared_lock device(device_->lock());
  Result<LaneArena> arena = device_->judge().Open(lane_, needs);
  if (!arena.ok()) return InfrastructureFailure(Stage::kLoad, arena.error());
  arena_ = *std::move(arena);
  return {};
}

void Evaluation::PlanRounds() {
  const Limits& limits = device_->limits();
  const uint64_t copies = shape_.writes_inputs ? 2 : 1;
  const uint64_t slot = std::max<uint64_t>(1, copies * shape_.input_bytes + shape_.output_bytes);
  const uint64_t most = std::clamp<uint64_t>(
      ControlPage::kMaxPlaces / static_cast<uint64_t>(std::max(1, shape_.outputs)), 1,
      static_cast<uint64_t>(limits.max_calls));
  const auto within = [&](uint64_t room) { return std::clamp<uint64_t>(room / slot, 1, most); };
  const uint64_t fitting = within(device_->cuda() ? limits.slot_bytes_gpu : limits.slot_bytes_cpu);
  const uint64_t spare = within(device_->cuda() ? limits.spare_bytes_gpu : limits.spare_bytes_cpu);
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

/// Its descendants are known to have ended with it where it was the init of a pid namespace.
void Evaluation::DestroyCandidate() {
  if (!candidate_.process) return;
  const bool alone = GetBool(GetObject(candidate_.hello, "sandbox"), "pid_ns");
  candidates_ended_ =
      device_->pool().Destroy(std::move(candidate_.process)) && alone && candidates_ended_;
}

/// The submission goes on in a new process; of what was printed, the first one's is kept.
Status Evaluation::LeaseAnother() {
  RetireCandidate();
  ASSAY_ASSIGN_OR_RETURN(candidate_,
                         device_->pool().Lease(records_.lint.uses_streams,
                                               DeadlineIn(Seconds(device_->limits().warm_s))));
  background_.emplace(&device_->background(), *candidate_.process);
  session_ = NewSession();
  return {};
}

void Evaluation::RetireCandidate() {
  if (!candidate_.process) return;
  if (!replaced_) {
    records_.stdout_text = candidate_.process->StdoutText();
    records_.stderr_text = candidate_.process->StderrText();
  }
  replaced_ = true;
  NoteSwitches();
  session_.reset();
  background_.reset();
  DestroyCandidate();
}

void Evaluation::NoteSwitches() {
  if (session_)
    records_.flags.insert(records_.flags.end(), session_->switches().begin(),
                          session_->switches().end());
}

Outcome Evaluation::Load() {
  if (!replaced_) {  // the time that was asked for is that of all its processes
    leased_at_ = Clock::now();
    paused_at_lease_ = device_->background().Paused();
  }
  session_ = NewSession();
  // The trusted processes do as the candidate must, so that rounds cost both sides the same.
  // Without a filter of system calls a page of its memory could make whoever reads it wait.
  const Result<SandboxLevel> level =
      ParseSandboxLevel(GetString(GetObject(candidate_.hello, "sandbox"), "level", "none"));
  const bool filtered = level.ok() && *level >= SandboxLevel::kFiltered;
  arena_.results_stay =
      device_->cuda() || (filtered && CanReadMemory(candidate_.process->process().pid()));
  CandidateSession::LoadOptions options;
  options.source = submission_.source;
  options.class_name = "ModelNew";
  options.precision = shape_.precision;
  options.limit = LoadLimit();
  // On a GPU graphs keep memory of their own pools.
  options.share_results = !device_->cuda() || !records_.lint.uses_streams;
  return session_->Load(arena_, arena_.outputs.get(), options);
}

}  // namespace assay
