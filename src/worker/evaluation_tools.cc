// Nsight Compute and compute-sanitizer: a run of the submission under a program that looks into it,
// in a process of its own, after everything that counts. What they print is text of an untrusted
// process: it informs, and decides nothing.

#include <poll.h>
#include <signal.h>

#include <cstdlib>
#include <shared_mutex>

#include "base/log.h"
#include "base/strings.h"
#include "tools/ending.h"
#include "tools/find.h"
#include "worker/evaluation.h"
#include "worker/process_tree.h"

namespace assay {
namespace {

constexpr Seconds kCancelCheck{0.05};
constexpr Seconds kOutputWait{2};
constexpr size_t kMostSaid = 300;

/// What the replay writes to standard error when it is through (see replay.py). Whoever forges it
/// deceives himself.
constexpr std::string_view kDone = "assay: the replay came to its end";

/// Tests of the way to a tool need none of its GPU.
bool ToolsOnProcessor() {
  const char* value = std::getenv("ASSAY_TOOLS_ON_CPU");  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && std::string_view(value) == "1";
}

/// Everything below a process; without a pid namespace its end does not take them along.
void KillTree(RuntimeProcess* process) {
  const pid_t pid = process->process().pid();
  std::vector<pid_t> below;
  if (StopTree(pid, process->process().pidfd(), /*with_children=*/true, DeadlineIn(Seconds(2)))
          .ok())
    below = Descendants(pid);
  process->Kill();
  for (const pid_t child : below) ::kill(child, SIGKILL);
}

}  // namespace

struct Evaluation::ToolPlan {
  ToolInfo tool;
  std::vector<std::string> arguments;
  json::object env;
  bool alone = false;      ///< it has the device to itself
  bool must_pass = false;  ///< of a submission that fails without the tool nothing is learned
};

struct Evaluation::ToolRun {
  std::string out;
  std::string err;
  ExitStatus exit;
  std::string stopped;  ///< why it did not come to its end; empty if it did

  /// How it ended, for a note; empty if the submission ran to its end.
  [[nodiscard]] std::string Ending(std::string_view program) const {
    if (!stopped.empty()) return stopped;
    const bool done = err.find(kDone) != std::string::npos;
    if (done && exit.success()) return "";
    const std::string last = ReasonOf(err, kMostSaid);
    if (!done && exit.signal == 0)
      return fmt::format("the submission did not run to its end under {}{}{}", program,
                         last.empty() ? "" : ": ", last);
    return fmt::format("{} ended with {}{}{}", program, exit.ToString(), last.empty() ? "" : ": ",
                       last);
  }
};

/// Errors are notes: why the tool looked at nothing.
Status Evaluation::RunTool(const ToolPlan& plan, ToolRun* run) {
  if (!device_->cuda() && !ToolsOnProcessor())
    return Err(ErrorCode::kUnavailable, "{} needs a GPU; this device is a processor",
               plan.tool.program);
  ASSAY_ASSIGN_OR_RETURN(
      const std::string program,
      FindTool(plan.tool, GetString(device_->zygote().environment(), "cuda_home")));
  RetireCandidate();
  std::unique_ptr<BackgroundSet::Member> member;
  ASSAY_ASSIGN_OR_RETURN(WarmCandidate leased,
                         device_->pool().ForkTool(FoldersOf(program), &member));
  RuntimeProcess* process = leased.process.get();
  // It leaves the background before it is reaped, and takes all that it started along.
  struct Ended {
    Device* device;
    RuntimeProcess* process;
    std::unique_ptr<BackgroundSet::Member>* member;
    void End() const {
      member->reset();
      const std::shared_lock guard(device->lock());
      if (process->Alive()) KillTree(process);
    }
    ~Ended() { End(); }
  };
  const Ended ended{device_, process, &member};
  const MemoryWatch::Token memory = device_->memory_watch().Watch(process->process().pid());
  ASSAY_ASSIGN_OR_RETURN(const json::object hello,
                         WaitReady(process, DeadlineIn(Seconds(device_->limits().warm_s))));
  const Result<SandboxLevel> level =
      ParseSandboxLevel(GetString(GetObject(hello, "sandbox"), "level", "none"));
  if (!level.ok() || *level < require_sandbox_)
    return Err(ErrorCode::kUnavailable, "its sandbox reached less than '{}'",
               ToString(require_sandbox_));
  ASSAY_RETURN_IF_ERROR(Rehearse(process, plan.must_pass));
  if (plan.alone) {
    const Device::Exclusive exclusive(device_, &member);
    Become(plan, program, process, run);
    if (process->Alive()) KillTree(process);
  } else {
    Become(plan, program, process, run);
  }
  ended.End();
  if (memory->load())
    run->stopped = fmt::format("stopped: it used more than {} MiB of host memory",
                               device_->limits().memory_bytes >> 20);
  process->AwaitOutput(DeadlineIn(kOutputWait));
  run->out = process->StdoutText();
  run->err = process->StderrText();
  LogDebug("{} ended with {}: {}", plan.tool.program, run->exit.ToString(),
           TruncateMiddle(CleanText(run->out + run->err), 20'000));
  return {};
}

/// Calls the submission once without the tool: what has to be compiled is compiled then.
Status Evaluation::Rehearse(RuntimeProcess* process, bool must_pass) {
  const json::object request{
      {"op", "rehearse"},
      {"seq", 1},
      {"task", submission_.task->source},
      {"submission", submission_.source},
      {"plan",
       {{"entry", submission_.task->entry},
        {"size", device_->size()},
        {"precision", records_.precision.empty() ? "default" : records_.precision}}}};
  const Seconds limit = LoadLimit() + Seconds(limits_.call_s);
  const Seconds paused = device_->background().Paused();
  const TimePoint begin = Clock::now();
  ASSAY_RETURN_IF_ERROR(process->Send(request, {}, DeadlineIn(limit)));
  for (;;) {
    const TimePoint deadline = begin + std::chrono::duration_cast<Duration>(
                                           limit + device_->background().Paused() - paused);
    if (Cancelled()) return Err(ErrorCode::kUnavailable, "cancelled");
    if (Clock::now() < deadline &&
        !process->WaitEvent(std::min(deadline, DeadlineIn(kCancelCheck))))
      continue;
    Result<Message> reply = process->Receive(deadline);
    if (!reply.ok() && reply.error().code == ErrorCode::kTimeout)
      return Err(ErrorCode::kTimeout, "without the tool it still ran after {:.0f} s",
                 limit.count());
    if (!reply.ok()) return reply.error();
    const std::string failed = GetString(reply->body, "failed");
    if (failed.empty() || !must_pass) return {};
    return Err(ErrorCode::kUnavailable, "the submission failed without the tool: {}",
               TruncateMiddle(CleanText(failed), kMostSaid));
  }
}

/// The process becomes the tool; waits for its end, but no longer than it may last.
void Evaluation::Become(const ToolPlan& plan, const std::string& program, RuntimeProcess* process,
                        ToolRun* run) {
  json::array argv{program};
  for (const std::string& argument : plan.arguments) argv.emplace_back(argument);
  const Seconds limit(device_->limits().tool_s);
  const Seconds paused = device_->background().Paused();
  const TimePoint begin = Clock::now();
  const json::object request{{"op", "become"}, {"seq", 2}, {"argv", argv}, {"env", plan.env}};
  if (const Status sent = process->Send(request, {}, DeadlineIn(limit)); !sent.ok()) {
    run->stopped = sent.error().message;
    return;
  }
  while (process->Alive()) {
    const TimePoint deadline =
        begin + std::chrono::duration_cast<Duration>(
                    limit + (plan.alone ? Seconds(0) : device_->background().Paused() - paused));
    if (Cancelled() || Clock::now() >= deadline) {
      run->stopped =
          Cancelled() ? "cancelled" : fmt::format("stopped after {:g} s, its limit", limit.count());
      return;
    }
    pollfd entry{process->process().pidfd(), POLLIN, 0};
    ::poll(&entry, 1, PollTimeout(std::min(deadline, DeadlineIn(kCancelCheck))));
  }
  run->exit = process->exit();
}

void Evaluation::TakeNcu() {
  NcuRecord& record = records_.profile->ncu.emplace();
  std::vector<std::string> own;
  if (const std::optional<Profile>& profile = records_.profile->profile; profile) {
    for (const ProfiledKernel& kernel : profile->kernels)
      if (kernel.own && std::find(own.begin(), own.end(), kernel.name) == own.end())
        own.push_back(kernel.name);
    if (own.empty()) {
      record.reason = "the submission launches no kernel of its own";
      return;
    }
  }
  ToolPlan plan{.tool = kNcu, .arguments = NcuArguments(), .alone = true, .must_pass = true};
  ToolRun run;
  if (const Status ran = RunTool(plan, &run); !ran.ok()) {
    record.reason = ran.error().message;
    return;
  }
  // Where it says that it was refused differs between versions.
  const std::string said = run.out + "\n" + run.err;
  Result<NcuSummary> summary = ReadNcu(said, own);
  const std::string ending = run.Ending(plan.tool.program);
  if (summary.ok()) {
    record.summary = *std::move(summary);
    record.reason = ending;  // of a table that may be half
  } else {
    // The tool's own words say more than how it ended.
    const bool told = run.stopped.empty() && said.find("==ERROR==") != std::string::npos &&
                      said.find("returned an error") == std::string::npos;
    record.reason = told || ending.empty() ? summary.error().message : ending;
  }
}

/// Of what was never loaded, never ends, or broke the rules, there is nothing to learn here.
bool Evaluation::WorthSanitizing() const {
  return records_.compiled &&
         (records_.failure.kind == FailureKind::kNone || FailedByItself(records_.failure.kind));
}

void Evaluation::TakeSanitizer() {
  SanitizerRecord& record = records_.sanitizer.emplace();
  record.tool = submission_.sanitize;
  // In memory that torch keeps and divides, a step past a tensor's end is inside.
  ToolPlan plan{.tool = kComputeSanitizer,
                .arguments = SanitizerArguments(record.tool),
                .env = {{"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}}};
  ToolRun run;
  if (const Status ran = RunTool(plan, &run); !ran.ok()) {
    record.reason = ran.error().message;
    return;
  }
  Result<SanitizerReport> report = ReadSanitizer(run.out);
  const bool ended = run.stopped.empty() && run.exit.success();
  record.reason = !report.ok() && ended ? report.error().message : run.Ending(plan.tool.program);
  if (report.ok()) record.report = *std::move(report);
  // Of a submission that did not run to its end, and of a report that breaks off, no finding is no
  // news.
  if (record.report && record.report->findings.empty() &&
      (!record.reason.empty() || !record.report->errors)) {
    if (record.reason.empty()) record.reason = "the report breaks off";
    record.report.reset();
  }
}

}  // namespace assay
