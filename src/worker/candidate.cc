#include "worker/candidate.h"

#include <signal.h>

#include <map>

#include "base/log.h"
#include "base/strings.h"
#include "verdict/verdict.h"
#include "worker/host_results.h"

namespace assay {
namespace {

/// An interruption is noticed at least this often while waiting.
// Waking up costs this thread more than all else that a bracket of a round on a GPU contains.
constexpr Duration kSpin = std::chrono::milliseconds(20);

constexpr Seconds kInterruptCheck{0.05};

/// What the runtime calls failures, and what they are. The candidate could lie here, but only about
/// how it failed.
FailureKind KindFromName(std::string_view name) {
  static const std::map<std::string_view, FailureKind> kKinds = {
      {"syntax_error", FailureKind::kSyntaxError},   {"no_model", FailureKind::kLintInvalid},
      {"compile_error", FailureKind::kCompileError}, {"device_memory", FailureKind::kDeviceMemory},
      {"host_memory", FailureKind::kHostMemory},     {"device_fault", FailureKind::kDeviceFault},
      {"mismatch", FailureKind::kMismatch},          {"input_mutated", FailureKind::kInputMutated},
      {"exception", FailureKind::kException}};
  const auto found = kKinds.find(name);
  return found == kKinds.end() ? FailureKind::kException : found->second;
}

Failure ReadFailure(const json::object& error, Stage stage) {
  Failure failure;
  failure.kind = KindFromName(GetString(error, "kind"));
  failure.stage = stage;
  // In a call a SyntaxError is an exception like any other.
  if (!CandidateCanCause(failure.kind, stage)) failure.kind = FailureKind::kException;
  failure.name = TruncateMiddle(CleanText(GetString(error, "name", "error")), 200);
  failure.message = TruncateMiddle(CleanText(GetString(error, "message")), 16'000);
  failure.line = static_cast<int>(std::clamp<int64_t>(GetInt(error, "line"), 0, 1'000'000));
  return failure;
}

}  // namespace

Failure InfrastructureFailure(Stage stage, const Error& error) {
  Failure failure;
  failure.kind = FailureKind::kInfrastructure;
  failure.stage = stage;
  failure.name = "infrastructure";
  failure.message = error.message;
  return failure;
}

Failure Violation(Stage stage, std::string name, std::string message) {
  Failure failure;
  failure.kind = FailureKind::kIntegrity;
  failure.stage = stage;
  failure.name = std::move(name);
  failure.message = std::move(message);
  return failure;
}

Failure InputsChanged(Stage stage) {
  return Violation(stage, "inputs_changed",
                   "the inputs, which are mapped read-only, were changed by native code");
}

bool CandidateSession::RanOutOfMemory() const {
  if (memory_ && memory_->load()) return true;
  if (cgroup_ == nullptr) return false;
  const Result<uint64_t> kills = cgroup_->OutOfMemoryKills();
  return kills.ok() && *kills > 0;
}

Outcome CandidateSession::FromError(const Error& error, Stage stage, Seconds limit) {
  Failure failure;
  failure.stage = stage;
  switch (error.code) {
    case ErrorCode::kTimeout:
      failure.kind = FailureKind::kDeadline;
      failure.name = "deadline";
      failure.limit_s = limit.count();
      failure.message = fmt::format("still running after {:.0f} s", limit.count());
      return failure;
    case ErrorCode::kClosed: {
      const ExitStatus& exit = process_->exit();
      if (RanOutOfMemory()) {
        failure.kind = FailureKind::kHostMemory;
        failure.name = "host_memory";
        failure.message = fmt::format("used more than {} MiB of host memory",
                                      device_->limits().memory_bytes >> 20);
        return failure;
      }
      if (process_->closed_channel()) {
        failure.kind = FailureKind::kCrash;
        failure.name = "closed_channel";
        failure.message =
            "the process closed the descriptors that it answers by; close only what you opened";
        return failure;
      }
      // From inside its pid namespace nothing can send SIGKILL to the process: someone else did.
      if (exit.signal == SIGKILL && killed_is_foreign_)
        return InfrastructureFailure(
            stage, Err(ErrorCode::kUnavailable, "the candidate's process was killed from outside"));
      failure.kind = FailureKind::kCrash;
      failure.name = exit.signal != 0 ? ::sigabbrev_np(exit.signal) != nullptr
                                            ? std::string("SIG") + ::sigabbrev_np(exit.signal)
                                            : "signal"
                                      : "exit";
      failure.message = "the process ended by itself: " + exit.ToString();
      return failure;
    }
    case ErrorCode::kProtocol:
      failure.kind = FailureKind::kIntegrity;
      failure.name = "protocol";
      failure.message = "the process wrote to the engine's channel: " + error.message;
      return failure;
    default:
      return InfrastructureFailure(stage, error);
  }
}

Outcome CandidateSession::Await(Stage stage, Seconds limit, json::object* reply) {
  const Seconds paused_before = device_->background().Paused();
  const TimePoint begin = Clock::now();
  for (;;) {
    if (Outcome outcome = Interrupted(stage); !Passed(outcome)) return outcome;
    // A timing of someone else stops this process meanwhile: that time is not its own.
    const TimePoint deadline = begin + std::chrono::duration_cast<Duration>(
                                           limit + device_->background().Paused() - paused_before);
    // Waits in slices, but reads a frame that has begun as a whole.
    if (Clock::now() < deadline &&
        !process_->WaitEvent(std::min(deadline, DeadlineIn(kInterruptCheck))))
      continue;
    Result<Message> message = process_->Receive(deadline);
    if (!message.ok()) return FromError(message.error(), stage, limit);
    // A reply to nothing that was asked: the submission writes to the channel itself.
    if (GetInt(message->body, "seq", -1) != sequence_)
      return FromError(Err(ErrorCode::kProtocol, "a message out of turn"), stage, limit);
    if (message->body.contains("ok") && !GetBool(message->body, "ok"))
      return ReadFailure(GetObject(message->body, "error"), stage);
    *reply = std::move(message->body);
    LogDebug("{}: {} took {:.2f} ms", process_->process().pid(), ToString(stage),
             GetDouble(*reply, "ms"));
    return {};
  }
}

Outcome CandidateSession::Ask(json::object request, std::span<const int> fds, Stage stage,
                              Seconds limit, json::object* reply) {
  request["seq"] = ++sequence_;
  if (Status sent = process_->Send(request, fds, DeadlineIn(limit)); !sent.ok())
    return FromError(sent.error(), stage, limit);
  return Await(stage, limit, reply);
}

Outcome CandidateSession::Load(const LaneArena& arena, int outputs_fd, const LoadOptions& options) {
  json::object request = arena.load;
  request["op"] = "load";
  request["source"] = options.source;
  request["class"] = options.class_name;
  request["size"] = options.size;
  request["report_mutation"] = options.report_mutation;
  request["ghost"] = options.ghost;
  request["share_results"] = options.share_results && arena.results_stay;
  request["precision"] = options.precision;
  request["compile"] = options.compile;
  const int fds[] = {arena.inputs.get(), outputs_fd};
  json::object reply;
  Outcome outcome = Ask(request, fds, Stage::kLoad, options.limit, &reply);
  NoteSwitches(reply);
  return outcome;
}

void CandidateSession::NoteSwitches(const json::object& reply) {
  constexpr std::string_view kKnown[] = {"global_cudnn", "global_deterministic", "global_dtype",
                                         "global_precision"};
  for (const json::value& name : GetArray(reply, "switches"))
    for (const std::string_view known : kKnown)
      if (name.is_string() && std::string(name.get_string()) == known) switches_.emplace(known);
}

Outcome CandidateSession::Build(uint64_t seed, Seconds limit, std::string* weights) {
  json::object reply;
  Outcome outcome = Ask({{"op", "build"}, {"seed", seed}}, {}, Stage::kLoad, limit, &reply);
  if (Passed(outcome) && weights != nullptr) {
    const std::string said = GetString(reply, "weights");
    *weights = said == "copied" || said == "none" ? said : "seed";
  }
  return outcome;
}

Outcome CandidateSession::BeginRounds(Stage stage, const json::object& shapes) {
  process_->ResetRounds();
  json::object reply;
  return Ask({{"op", "rounds"}, {"timed", stage == Stage::kTime}, {"shapes", shapes}}, {}, stage,
             Seconds(device_->limits().build_s), &reply);
}

Outcome CandidateSession::Round(Stage stage, uint32_t first, uint32_t calls, bool freeze,
                                Seconds limit, RoundTime* time, uint32_t hold) {
  const Seconds paused_before = device_->background().Paused();
  TimePoint start = process_->StartRound(first, calls, freeze, hold != 0);
  if (hold != 0) {
    process_->AwaitQueued(DeadlineIn(Seconds(device_->limits().gate_s)));
    if (Status status = device_->judge().Release(hold); !status.ok())
      return InfrastructureFailure(stage, status.error());
    start = process_->OpenGate();
  }
  const auto deadline = [&] {
    return start + std::chrono::duration_cast<Duration>(limit + device_->background().Paused() -
                                                        paused_before);
  };
  const auto await = [&] {
    return process_->AwaitRound(start, freeze, std::min(deadline(), DeadlineIn(kInterruptCheck)),
                                hold != 0 ? kSpin : Duration(0), [&] {
                                  // Only then: the judge may be busy for another submission.
                                  if (hold != 0) device_->judge().AskForLook(hold);
                                });
  };
  Result<RuntimeProcess::RoundEnd> end = await();
  while (!end.ok() && end.error().code == ErrorCode::kTimeout && Clock::now() < deadline()) {
    if (Outcome outcome = Interrupted(stage); !Passed(outcome)) return outcome;
    end = await();
  }
  if (!end.ok()) return FromError(end.error(), stage, limit);
  // A device is looked at when it may be done; what a host computes until it is stopped counts.
  *time = {start, device_->cuda() ? end->done_us : end->stopped_us};
  LogDebug("{}: a round of {} calls took {:.1f} us, until it was stopped {:.1f} us",
           process_->process().pid(), calls, end->done_us, end->stopped_us);
  if (!process_->RoundFailed()) return {};
  if (freeze) process_->Thaw();
  json::object reply;
  Outcome outcome = Await(stage, Seconds(device_->limits().build_s), &reply);
  if (!Passed(outcome)) return outcome;
  return Violation(stage, "control_page",
                   "the round was marked as failed, but no error was reported");
}

Outcome CandidateSession::EndRounds(Stage stage, RoundsReport* report) {
  process_->EndRounds();
  process_->Thaw();
  json::object reply;
  Outcome outcome = Await(stage, Seconds(device_->limits().build_s), &reply);
  NoteSwitches(reply);
  if (!Passed(outcome) || report == nullptr) return outcome;
  report->reused = GetBool(reply, "reused");
  report->skipped = std::max<int64_t>(GetInt(reply, "skipped"), 0);
  for (const json::value& round : GetArray(reply, "inside_us")) {
    std::vector<double>& values = report->inside_us.emplace_back();
    if (!round.is_array()) continue;
    for (const json::value& value : round.get_array())
      if (value.is_number()) values.push_back(value.to_number<double>());
  }
  for (const json::value& value : GetArray(reply, "taking_us"))
    report->taking_us.push_back(value.is_number() ? value.to_number<double>() : 0);
  return outcome;
}

ResultPlaces CandidateSession::Places(uint32_t call, int outputs) const {
  ResultPlaces results;
  for (int i = 0; i < outputs; ++i) {
    const size_t at = static_cast<size_t>(call) * static_cast<size_t>(outputs) + i;
    results.places.push_back(at < ControlPage::kMaxPlaces ? process_->Place(at) : -1);
  }
  const size_t strided = std::min(static_cast<size_t>(outputs), ControlPage::kMaxStrided);
  for (size_t i = 0; i < strided * ControlPage::kMaxDims; ++i)
    results.strides.push_back(process_->Stride(i));
  return results;
}

Outcome CandidateSession::TakeResults(const LaneArena& arena, uint32_t slot,
                                      ResultPlaces* results) {
  if (!arena.results_stay) {  // all were copied, whatever the process says
    results->places.assign(results->places.size(), -1);
    return {};
  }
  const Status taken = TakeHostResults(arena, process_->process().pid(), slot, results);
  if (taken.ok()) return {};
  if (taken.error().code != ErrorCode::kInvalid && taken.error().code != ErrorCode::kClosed)
    return InfrastructureFailure(Stage::kTime, taken.error());
  // What is killed meanwhile has no memory either, and is told as what it died of.
  if (!process_->Alive(Seconds(taken.error().code == ErrorCode::kClosed ? 0.5 : 0)))
    return FromError(Err(ErrorCode::kClosed, "{}", taken.error().message), Stage::kTime, {});
  return Violation(Stage::kTime, kWrongPlace, taken.error().message);
}

Outcome CandidateSession::BeginProfile(Seconds limit, std::string* reason) {
  json::object reply;
  Outcome outcome = Ask({{"op", "profile_begin"}}, {}, Stage::kProfile, limit, &reply);
  *reason = CleanText(TruncateMiddle(GetString(reply, "unavailable"), 1000));
  return outcome;
}

Outcome CandidateSession::Profiled(uint32_t calls, Seconds limit, std::optional<Profile>* profile,
                                   std::string* reason) {
  json::object reply;
  Outcome outcome = Ask({{"op", "profile"}, {"calls", calls}}, {}, Stage::kProfile, limit, &reply);
  if (!Passed(outcome)) return outcome;
  *reason = CleanText(TruncateMiddle(GetString(reply, "unavailable"), 1000));
  if (!reason->empty()) return outcome;
  const json::object& report = GetObject(reply, "profile");
  Result<Profile> read = ReadProfile(report);
  if (!read.ok()) {
    *reason = read.error().message;
    return outcome;
  }
  LogDebug("profile by {}: {} records in the free window; launches by {}",
           CleanText(GetString(report, "library")), GetInt(report, "free_records"),
           CleanText(json::serialize(GetObject(report, "callers"))));
  *profile = *std::move(read);
  return outcome;
}

Outcome CandidateSession::Unload() {
  json::object reply;
  return Ask({{"op", "unload"}}, {}, Stage::kTime, Seconds(device_->limits().build_s), &reply);
}

}  // namespace assay
