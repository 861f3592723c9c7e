#include "worker/runtime_process.h"

#include <poll.h>

#include <cerrno>
#include <filesystem>

#include "worker/process_tree.h"

namespace assay {
namespace {

/// A death is noticed at least this often while waiting.
constexpr Seconds kDeathCheck{0.02};

/// A thread counts as stopped shortly before it leaves its processor and its run time is brought up
/// to date. Work between rounds would take milliseconds.
constexpr uint64_t kSettlingNs = 300'000;

/// How long a process may take to end once its channel is closed; one that has begun to end frees
/// a device's memory first.
constexpr Seconds kClosing{0.5};
constexpr Seconds kEnding{20};

}  // namespace

RuntimeProcess::~RuntimeProcess() {
  Kill();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<Message> RuntimeProcess::Call(const json::object& request, std::span<const int> fds,
                                     TimePoint deadline) {
  ASSAY_RETURN_IF_ERROR(Send(request, fds, deadline));
  return Receive(deadline);
}

Status RuntimeProcess::Send(const json::object& request, std::span<const int> fds,
                            TimePoint deadline) {
  Status sent = channel_.Send(request, fds, deadline);
  if (!sent.ok() && sent.error().code == ErrorCode::kClosed) return Died();
  return sent;
}

bool RuntimeProcess::WaitEvent(TimePoint deadline) const {
  pollfd entries[2] = {{channel_.fd(), POLLIN, 0}, {process_.pidfd(), POLLIN, 0}};
  return ::poll(entries, 2, PollTimeout(deadline)) > 0;
}

Result<Message> RuntimeProcess::Receive(TimePoint deadline) {
  for (;;) {
    pollfd entries[2] = {{channel_.fd(), POLLIN, 0}, {process_.pidfd(), POLLIN, 0}};
    const int ready = ::poll(entries, 2, PollTimeout(deadline));
    if (ready < 0 && errno != EINTR) return ErrnoError("poll", errno);
    // A message that was sent before the process died still counts.
    if ((entries[0].revents & POLLIN) != 0) {
      Result<Message> message = channel_.Receive(deadline);
      if (message.ok() || message.error().code != ErrorCode::kClosed) return message;
      return Died();
    }
    // End of the channel alone is no death: the process may have closed it. It is no use any more.
    if (entries[0].revents != 0 || entries[1].revents != 0) return Died();
    if (Clock::now() >= deadline) return Err(ErrorCode::kTimeout, "no answer in time");
  }
}

bool RuntimeProcess::Alive(Seconds patience) {
  if (!process_.running()) return false;
  Result<ExitStatus> status = process_.Wait(DeadlineIn(patience));
  if (!status.ok()) return true;
  exit_ = *status;
  return false;
}

void RuntimeProcess::Kill() {
  if (!process_.running()) return;
  Result<ExitStatus> status = process_.Kill();
  if (status.ok()) exit_ = *status;
}

Error RuntimeProcess::Died() {
  if (process_.running()) {
    Result<ExitStatus> status = process_.Wait(DeadlineIn(kClosing));
    if (!status.ok() && IsEnding(process_.pid())) status = process_.Wait(DeadlineIn(kEnding));
    if (status.ok()) {
      exit_ = *status;
    } else {
      closed_channel_ = true;
      Kill();
      return Err(ErrorCode::kClosed, "the process closed its channel");
    }
  }
  return Err(ErrorCode::kClosed, "the process ended with {}", exit_.ToString());
}

void RuntimeProcess::ResetRounds() {
  control_.page()->go.store(0);
  control_.page()->done.store(0);
  ++round_;
}

TimePoint RuntimeProcess::StartRound(uint32_t first, uint32_t calls, bool frozen, bool gated) {
  ControlPage& page = *control_.page();
  page.first_slot.store(first);
  page.calls.store(calls);
  page.failed.store(0);
  page.done.store(0);  // a word that was set ahead of its round says nothing
  page.queued.store(0);
  page.gate.store(gated ? 0 : round_);
  const TimePoint start = Clock::now();
  PostWord(page.go, round_);
  if (frozen) Thaw();
  return start;
}

void RuntimeProcess::AwaitQueued(TimePoint deadline) {
  WaitWord(control_.page()->queued, round_, deadline);
}

TimePoint RuntimeProcess::OpenGate() {
  const TimePoint start = Clock::now();
  control_.page()->gate.store(round_);
  return start;
}

bool RuntimeProcess::ReleaseHold(uint32_t hold, TimePoint deadline) {
  ControlPage& page = *control_.page();
  page.gate.store(hold);
  // The device answers within microseconds, and wakes nobody.
  while (page.ended.load(std::memory_order_acquire) != hold) {
    if (Clock::now() >= deadline) return false;
    __builtin_ia32_pause();
  }
  return true;
}

Result<RuntimeProcess::RoundEnd> RuntimeProcess::AwaitRound(TimePoint start, bool freeze,
                                                            TimePoint deadline, Duration spin,
                                                            const std::function<void()>& done) {
  ControlPage& page = *control_.page();
  const TimePoint spin_until = std::min(deadline, start + spin);
  while (page.done.load(std::memory_order_acquire) != round_ && Clock::now() < spin_until)
    __builtin_ia32_pause();
  for (;;) {
    const TimePoint slice = std::min(deadline, DeadlineIn(kDeathCheck));
    if (WaitWord(page.done, round_, slice)) break;
    if (!Alive()) return Died();
    if (Clock::now() >= deadline) return Err(ErrorCode::kTimeout, "the round did not end in time");
  }
  const double done_us = Microseconds(Clock::now() - start).count();
  RoundEnd end = {done_us, done_us};
  done();
  if (freeze) {
    TimePoint stopped;
    ASSAY_ASSIGN_OR_RETURN([[maybe_unused]] const int children,
                           Freeze(DeadlineIn(Seconds(5)), &stopped));
    end.stopped_us = Microseconds(stopped - start).count();
  }
  ++round_;
  return end;
}

void RuntimeProcess::EndRounds() { PostWord(control_.page()->go, ControlPage::kStop); }

Result<int> RuntimeProcess::Freeze(TimePoint deadline, TimePoint* stopped) {
  Result<int> children =
      StopTree(process_.pid(), process_.pidfd(), /*with_children=*/true, deadline, stopped);
  if (!children.ok())
    return children.error().code == ErrorCode::kClosed ? Died() : children.error();
  children_seen_ = std::max(children_seen_, *children);
  while (ConsumeStop(process_.pidfd())) {
  }
  frozen_ = true;
  frozen_children_ = *children;
  frozen_run_ns_ = *children > 0 ? RunTimeNs(process_.pid()) : 0;
  return children;
}

void RuntimeProcess::Thaw() {
  if (std::exchange(frozen_, false)) {
    // A signal from the kernel (a timer's, say) may have let it go on, and stop again.
    if (ConsumeStop(process_.pidfd())) ran_while_frozen_ = true;
    if (frozen_children_ > 0 && RunTimeNs(process_.pid()) > frozen_run_ns_ + kSettlingNs)
      ran_while_frozen_ = true;
  }
  ContinueTree(process_.pid(), process_.pidfd(), /*with_children=*/false);
}

}  // namespace assay
