#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "task/modes.h"
#include "verdict/records.h"
#include "worker/candidate.h"

namespace assay {

/// What a submission is timed against beside the reference: the task's Model in a process of its
/// own, under another compiler or precision. What goes wrong with it makes it unavailable, with the
/// reason, and nothing else. Owned by one thread.
class Baseline {
 public:
  /// `interrupted`: see CandidateSession::SetInterrupt.
  Baseline(Device* device, std::string name, std::function<Outcome(Stage)> interrupted)
      : device_(device), interrupted_(std::move(interrupted)), record_{std::move(name), {}, ""} {}
  /// A process that was not given back by Finish() is ended: it may be inside its rounds.
  ~Baseline() { lease_.Drop(); }
  Baseline(const Baseline&) = delete;
  Baseline& operator=(const Baseline&) = delete;

  /// Loads the task, builds it from `weights_seed` and calls it once, on a slot whose inputs stand
  /// there: now it compiles. Runs as background of the device.
  void Prepare(const LaneArena& arena, int outputs_fd, const Task& task,
               const std::string& precision, uint64_t weights_seed, uint32_t slot);

  [[nodiscard]] bool available() const { return record_.unavailable.empty(); }
  [[nodiscard]] CandidateSession& session() { return *session_; }
  /// From now on it is unavailable.
  void Fail(const Outcome& outcome);
  /// Gives the process back, if it is still of use.
  void Finish();

  uint32_t calls = 1;      ///< per round
  RoundClock clock;        ///< of the last round
  std::vector<bool> kept;  ///< of each round since the clocks were last read: whether it counts
  /// The rounds that count, and why there are none.
  BaselineRecord& record() { return record_; }

 private:
  Outcome TryPrepare(const LaneArena& arena, int outputs_fd, const Task& task,
                     const std::string& precision, uint64_t weights_seed, uint32_t slot);

  Device* const device_;
  const std::function<Outcome(Stage)> interrupted_;
  BaselineRecord record_;
  BaselineProcesses::Lease lease_;
  std::unique_ptr<CandidateSession> session_;
};

}  // namespace assay
