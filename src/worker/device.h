#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "gpu/nvml.h"
#include "roofline/override.h"
#include "roofline/target.h"
#include "timing/timer_report.h"
#include "worker/background.h"
#include "worker/baseline_processes.h"
#include "worker/device_lock.h"
#include "worker/empty_rounds.h"
#include "worker/judge.h"
#include "worker/memory_watch.h"
#include "worker/pool.h"

namespace assay {

struct DeviceOptions {
  std::string python = "python3";
  std::string device = "auto";  ///< auto, cpu, cuda, cuda:N
  SandboxLevel require_sandbox = SandboxLevel::kNone;
  Limits limits;
  BoundOverrides overrides;
};

/// One device with everything that serves it: zygote, judge, reference, warm pool, and the lock
/// that keeps timings alone. Thread-safe.
class Device {
 public:
  static Result<std::unique_ptr<Device>> Open(const DeviceOptions& options);
  ~Device();

  [[nodiscard]] bool cuda() const { return cuda_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const json::object& environment() const { return environment_; }
  [[nodiscard]] const std::string& size() const {
    return size_;
  }  ///< "gpu" or "cpu": a task's SIZES

  /// What bounds are computed for, fixed when the device was opened so that rewards stay
  /// comparable; null where nothing is known of it.
  [[nodiscard]] const RooflineTarget* roofline() const { return roofline_ ? &*roofline_ : nullptr; }

  /// What people know of tasks' bounds.
  [[nodiscard]] const BoundOverrides& overrides() const { return overrides_; }

  /// What `assay timer-check` found of the instrument here; null where it never ran.
  [[nodiscard]] const TimerReport* timer() const { return timer_ ? &*timer_ : nullptr; }

  /// The card's clock; null on a CPU and where the driver does not tell. Only under the exclusive
  /// lock.
  [[nodiscard]] const ClockGauge* clock_gauge() const { return clock_gauge_.get(); }

  /// Memory that submissions judged at once may take together.
  [[nodiscard]] uint64_t memory_bytes() const { return memory_bytes_; }

  Judge& judge() { return *judge_; }
  CandidatePool& pool() { return *pool_; }
  MemoryWatch& memory_watch() { return *memory_watch_; }
  DeviceLock& lock() { return lock_; }
  Zygote& zygote() { return *zygote_; }

  /// The turn at the reference's process, taken before the device's lock: what it loads, it loads
  /// before the device is taken for a timing.
  DeviceLock& reference_turn() { return reference_turn_; }
  /// The trusted process that runs references, for whoever has the turn. Null until
  /// EnsureReference() succeeded; DropReference() after it failed. `default_connections`: as the
  /// submission beside it has them (CandidatePool::Lease), for a chain of short kernels takes some
  /// percent longer where there are more.
  Status EnsureReference(bool default_connections);
  void DropReference() {
    reference_.reset();
    for (EmptyRoundTimes& times : empty_rounds_) times.Clear();
  }
  RuntimeProcess* reference() { return reference_.get(); }
  /// Of rounds that start with a hold, or without. For whoever has the reference's turn.
  EmptyRoundTimes& empty_rounds(bool held) { return empty_rounds_[held ? 1 : 0]; }

  BaselineProcesses& baselines() { return *baselines_; }
  BackgroundSet& background() { return *background_; }

  /// The device for one timing: the lock exclusively, all background processes stopped. The one
  /// that is to be timed leaves the background in between.
  class Exclusive {
   public:
    template <typename Member>
    Exclusive(Device* device, Member* leaving)
        : lock_(device->lock_),
          pause_((leaving->reset(), device->background_.get()), Seconds(device->limits_.stop_s)) {}

   private:
    const std::unique_lock<DeviceLock> lock_;
    const BackgroundSet::Pause pause_;
  };

 private:
  Device() = default;

  bool cuda_ = false;
  uint64_t memory_bytes_ = 0;
  std::string size_;
  Limits limits_;
  json::object environment_;
  std::optional<RooflineTarget> roofline_;
  BoundOverrides overrides_;
  std::optional<TimerReport> timer_;
  std::unique_ptr<ClockGauge> clock_gauge_;
  DeviceLock lock_;
  DeviceLock reference_turn_;
  std::unique_ptr<OutputDrain> drain_;
  std::unique_ptr<Zygote> zygote_;
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<MemoryWatch> memory_watch_;
  std::unique_ptr<RuntimeProcess> reference_;
  int reference_connections_ = 0;
  std::unique_ptr<BaselineProcesses> baselines_;
  std::array<EmptyRoundTimes, 2> empty_rounds_;
  std::unique_ptr<BackgroundSet> background_;
  std::unique_ptr<CandidatePool> pool_;  // last: its thread uses the members above
};

}  // namespace assay
