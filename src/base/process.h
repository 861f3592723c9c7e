#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"

namespace assay {

/// How a process ended.
struct ExitStatus {
  int code = -1;   ///< exit code, or -1 when a signal ended it
  int signal = 0;  ///< signal number, or 0
  [[nodiscard]] bool success() const { return code == 0; }
  /// "exit code 3" or "signal 11 (Segmentation fault)".
  [[nodiscard]] std::string ToString() const;
};

/// A child of this process, known by pidfd so that its number cannot be mistaken for another's.
/// The owner reaps it; destruction kills the whole process group and reaps.
class ChildProcess {
 public:
  ChildProcess() = default;
  /// Adopts a child (or a process that was re-parented to this one). `group`: kill its group too.
  static Result<ChildProcess> Adopt(pid_t pid, bool group);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] bool running() const { return pid_ > 0; }
  void Signal(int signal) const;
  /// Waits until the process has ended and reaps it; kTimeout at the deadline.
  Result<ExitStatus> Wait(TimePoint deadline);
  /// SIGKILL to the process (group), then reaps; waits at most 10 s for the kernel.
  Result<ExitStatus> Kill();

 private:
  pid_t pid_ = -1;
  bool group_ = false;
  UniqueFd pidfd_;
};

struct SpawnOptions {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>>
      env;  ///< added to, or replacing, the inherited ones
  std::vector<std::string> unset_env;
  std::vector<std::pair<int, int>> fds;  ///< (ours, the child's number); all others are closed
};

/// Starts a program in a process group of its own. It outlives this process unless it watches a
/// descriptor that closes with it (PR_SET_PDEATHSIG would follow the calling thread, not the
/// process).
Result<ChildProcess> Spawn(const SpawnOptions& options);

struct CommandOutput {
  ExitStatus status;
  std::string out;
  std::string err;
};

/// Runs a program to its end and captures its output (each stream's first `max_bytes`, the rest is
/// drained and dropped). kTimeout kills its group.
Result<CommandOutput> RunCommand(const std::vector<std::string>& argv, Seconds timeout,
                                 size_t max_bytes = 16u << 20);

/// Full path of a program on PATH, or kNotFound.
Result<std::string> FindProgram(const std::string& name);

}  // namespace assay
