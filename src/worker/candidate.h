#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "verdict/records.h"
#include "worker/device.h"

namespace assay {

/// What an operation of a candidate came to: nothing wrong, or a Failure that says whose.
using Outcome = Failure;

inline bool Passed(const Outcome& outcome) { return outcome.kind == FailureKind::kNone; }

/// Name of the integrity violation of a process whose results are not where it says.
inline constexpr const char* kWrongPlace = "result_place";

/// What breaks the rules of a measurement.
Failure Violation(Stage stage, std::string name, std::string message);

/// The integrity violation of a submission that wrote its inputs although it cannot by itself.
Failure InputsChanged(Stage stage);

/// An infrastructure failure from an Error of the engine's own parts.
Failure InfrastructureFailure(Stage stage, const Error& error);

/// One leased candidate (or the reference) and what can be asked of it. Turns everything that can
/// happen to a process that runs hostile code into a Failure. Owned by one thread.
class CandidateSession {
 public:
  CandidateSession(Device* device, RuntimeProcess* process) : device_(device), process_(process) {}

  struct LoadOptions {
    std::string source;
    std::string class_name;
    std::string size;                   ///< a task's SIZES for the reference; empty for submissions
    bool report_mutation = false;       ///< diagnose: private inputs, say whether they were written
    bool ghost = false;                 ///< its own kernels are never launched
    bool share_results = true;          ///< results of timed rounds may stay where they are
    std::string precision = "default";  ///< of float32 matrix work, set before the module's import
    std::string compile;                ///< mode of torch.compile for the model; empty: none
    Seconds limit{60};
  };
  /// Imports the module with the lane's arena mapped. Runs outside the device's lock.
  Outcome Load(const LaneArena& arena, int outputs_fd, const LoadOptions& options);

  /// A fresh instance from `seed`; `weights` says how it got the reference's parameters.
  Outcome Build(uint64_t seed, Seconds limit, std::string* weights);

  /// Enters the loop of rounds. In those of Stage::kTime the results stay where they are, if the
  /// judge can read them there. `shapes`: on smaller inputs, as Judge::Shapes gave them.
  Outcome BeginRounds(Stage stage, const json::object& shapes = {});
  struct RoundTime {
    TimePoint start;
    double us = 0;  ///< start to done, or, on the CPU, until the process was stopped
  };
  /// One round; see RuntimeProcess::StartRound. While the judge's `hold` keeps the device, the
  /// round's calls are queued there; the round starts when that ends. 0: it starts at go.
  Outcome Round(Stage stage, uint32_t first, uint32_t calls, bool freeze, Seconds limit,
                RoundTime* time, uint32_t hold = 0);
  /// What the process says of its rounds when it leaves the loop.
  struct RoundsReport {
    bool reused = false;                         ///< the module returns one buffer again and again
    int64_t skipped = 0;                         ///< launches that a ghost left out
    std::vector<std::vector<double>> inside_us;  ///< its own clock, per round and call; a claim
    std::vector<double> taking_us;               ///< ... and for taking a round's results
  };
  Outcome EndRounds(Stage stage, RoundsReport* report);

  /// Where the outputs of a call of the last round are said to stand, see Judge::Verify.
  [[nodiscard]] ResultPlaces Places(uint32_t call, int outputs) const;

  /// On the CPU, once the process is stopped: copies a call's outputs to where `results` then says.
  Outcome TakeResults(const LaneArena& arena, uint32_t slot, ResultPlaces* results);

  /// From now on the process attributes its launches; then Build(), then Profiled(). `reason`: why
  /// there can be no profile, as it says; else empty.
  Outcome BeginProfile(Seconds limit, std::string* reason);
  /// Lets it record what `calls` calls make the device do, on the lane's first slots. The report is
  /// a claim that makes sense; else `reason` says why there is none.
  Outcome Profiled(uint32_t calls, Seconds limit, std::optional<Profile>* profile,
                   std::string* reason);

  Outcome Unload();

  /// Global switches of torch that stood otherwise than they were set, as far as the process tells:
  /// names of the verdict's flags.
  [[nodiscard]] const std::set<std::string>& switches() const { return switches_; }

  /// In a pid namespace of its own the process cannot be killed by what runs inside it.
  void SetOwnPidNamespace(bool own) { killed_is_foreign_ = own; }

  /// Asked every 50 ms while the process is waited for: a failure ends the wait with it.
  void SetInterrupt(std::function<Outcome(Stage)> interrupted) {
    interrupted_ = std::move(interrupted);
  }

  /// From now on too much memory is told from a crash; `cgroup` may be null, else outlives this.
  void WatchMemory(const Cgroup* cgroup) {
    memory_ = device_->memory_watch().Watch(process_->process().pid());
    cgroup_ = cgroup;
  }
  RuntimeProcess& process() { return *process_; }

 private:
  Outcome Ask(json::object request, std::span<const int> fds, Stage stage, Seconds limit,
              json::object* reply);
  Outcome Await(Stage stage, Seconds limit, json::object* reply);
  Outcome FromError(const Error& error, Stage stage, Seconds limit);
  [[nodiscard]] Outcome Interrupted(Stage stage) const {
    return interrupted_ ? interrupted_(stage) : Outcome{};
  }

  Device* const device_;
  RuntimeProcess* const process_;
  [[nodiscard]] bool RanOutOfMemory() const;

  void NoteSwitches(const json::object& reply);

  std::set<std::string> switches_;
  int64_t sequence_ = 0;  ///< of the last request; replies repeat it
  MemoryWatch::Token memory_;
  const Cgroup* cgroup_ = nullptr;
  bool killed_is_foreign_ = false;
  std::function<Outcome(Stage)> interrupted_;
};

}  // namespace assay
