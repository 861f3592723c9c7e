#pragma once

#include <functional>
#include <memory>
#include <string>

#include "arena/control_page.h"
#include "base/channel.h"
#include "base/process.h"
#include "worker/output_drain.h"

namespace assay {

/// A process forked from the zygote: judge, reference or candidate. Owned by one thread at a time;
/// destruction kills and reaps it, and removes its folder on the host if it has one.
///
/// A candidate's replies are claims. Only `kClosed` (it died) and `kTimeout` are facts.
class RuntimeProcess {
 public:
  RuntimeProcess(ChildProcess process, Channel channel, SharedControl control,
                 std::shared_ptr<CapturedOutput> out, std::shared_ptr<CapturedOutput> err)
      : process_(std::move(process)),
        channel_(std::move(channel)),
        control_(std::move(control)),
        out_(std::move(out)),
        err_(std::move(err)) {}

  ~RuntimeProcess();
  RuntimeProcess(const RuntimeProcess&) = delete;
  RuntimeProcess& operator=(const RuntimeProcess&) = delete;

  [[nodiscard]] const ChildProcess& process() const { return process_; }
  void RemoveAtEnd(std::string folder) { folder_ = std::move(folder); }
  [[nodiscard]] std::string StdoutText() const { return out_->Text(); }
  [[nodiscard]] std::string StderrText() const { return err_->Text(); }
  /// After its end: until all that it wrote is there.
  void AwaitOutput(TimePoint deadline) const {
    out_->AwaitEnd(deadline);
    err_->AwaitEnd(deadline);
  }

  /// Sends a request and returns the reply with its descriptors. kClosed: the process died (see
  /// `exit`); kTimeout: no answer in time; kProtocol: it broke the framing.
  Result<Message> Call(const json::object& request, std::span<const int> fds, TimePoint deadline);
  Status Send(const json::object& request, std::span<const int> fds, TimePoint deadline);
  Result<Message> Receive(TimePoint deadline);
  /// Whether there is something to receive, be it the process's death, before the deadline.
  [[nodiscard]] bool WaitEvent(TimePoint deadline) const;

  /// Whether the process still runs, after `patience` at most; fills `exit` when it does not.
  bool Alive(Seconds patience = Seconds(0));
  /// How it ended, once a call failed with kClosed or after Kill.
  [[nodiscard]] const ExitStatus& exit() const { return exit_; }
  /// Whether it had to be killed because it had closed its channel and went on.
  [[nodiscard]] bool closed_channel() const { return closed_channel_; }
  void Kill();

  /// Begins a series of rounds: the process waits for go. Call after the channel said "rounds".
  void ResetRounds();
  /// Begins a round of `calls` calls on slots `first`...: reads the clock, sets go, lets the
  /// process run if it is `frozen`. Returns the clock. `gated`: the device waits for OpenGate().
  TimePoint StartRound(uint32_t first, uint32_t calls, bool frozen, bool gated);
  /// Waits until the device has been given the round's calls, or for `deadline`.
  void AwaitQueued(TimePoint deadline);
  /// Reads the clock and lets the device begin the round. Returns the clock.
  TimePoint OpenGate();
  struct RoundEnd {
    double done_us = 0;  ///< from the start until the process said done
    double stopped_us =
        0;  ///< ... until it and its children were stopped, or done where they are not
  };
  /// Waits for done, calls `done`, and stops the process again if `freeze`. Until `spin` after the
  /// start it keeps its core. After kTimeout it may be called again.
  Result<RoundEnd> AwaitRound(TimePoint start, bool freeze, TimePoint deadline, Duration spin,
                              const std::function<void()>& done);
  /// What the process wrote into ControlPage::places: kLostPlace for kLost, -1 for kInSlot and what
  /// no memory can have.
  static constexpr int64_t kLostPlace = -2;
  [[nodiscard]] int64_t Place(size_t index) const {
    const uint64_t place = control_.page()->places[index].load();
    if (place == ControlPage::kLost) return kLostPlace;
    return place > (uint64_t{1} << 62) ? -1 : static_cast<int64_t>(place);
  }

  /// ... and into ControlPage::strides.
  [[nodiscard]] int64_t Stride(size_t index) const {
    return control_.page()->strides[index].load();
  }

  /// The judge's process: ends its hold number `hold`; false when that does not end in time.
  bool ReleaseHold(uint32_t hold, TimePoint deadline);
  /// The judge's process: the round that began with `hold` is done.
  void AskForLook(uint32_t hold) { control_.page()->look.store(hold); }

  /// Ends the series; the process goes back to its channel (continue it first).
  void EndRounds();
  [[nodiscard]] bool RoundFailed() const { return control_.page()->failed.load() != 0; }
  /// Stops it and its children (see StopTree), and lets it run again (children stay stopped).
  Result<int> Freeze(TimePoint deadline, TimePoint* stopped = nullptr);
  void Thaw();
  [[nodiscard]] int children_seen() const { return children_seen_; }
  /// True if the process, or something below it, has run between a Freeze() and the Thaw() after
  /// it.
  [[nodiscard]] bool ran_while_frozen() const { return ran_while_frozen_; }

 private:
  Error Died();

  ChildProcess process_;
  Channel channel_;
  SharedControl control_;
  std::shared_ptr<CapturedOutput> out_;
  std::shared_ptr<CapturedOutput> err_;
  ExitStatus exit_;
  bool closed_channel_ = false;
  std::string folder_;
  uint32_t round_ = 0;
  int children_seen_ = 0;
  bool frozen_ = false;
  bool ran_while_frozen_ = false;
  int frozen_children_ = 0;
  uint64_t frozen_run_ns_ = 0;  ///< of the children, when they were stopped
};

}  // namespace assay
