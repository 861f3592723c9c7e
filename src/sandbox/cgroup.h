#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"

namespace assay {

struct CgroupLimits {
  uint64_t memory_bytes = 0;  ///< memory.max, 0: none
  uint64_t processes = 0;     ///< pids.max, 0: none
};

/// A cgroup (version 2) of one candidate: bounds all its processes together and kills or freezes
/// them at once, also those that left their process group. Made by the worker, never the candidate,
/// below the worker's own cgroup, which must be delegated to it (writable, with the memory and pids
/// controllers).
///
/// The worker itself moves into a leaf beside its candidates (`worker`), because a cgroup with
/// controllers for its children may hold no process of its own.
///
/// Owned by one thread. Destruction kills what is inside and removes the folder.
class Cgroup {
 public:
  /// kUnavailable, with the reason, where cgroup v2 is not mounted or not delegated. `root` is the
  /// mount point, for tests.
  static Result<Cgroup> Create(const std::string& name, const CgroupLimits& limits,
                               const std::string& root = "/sys/fs/cgroup");
  /// Whether Create() has what it needs; changes nothing. kUnavailable with the reason.
  static Status CheckAvailable(const std::string& root = "/sys/fs/cgroup");
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Moves a process in; its later children are born there.
  Status Add(pid_t pid) const;
  /// SIGKILL to everything inside (Linux 5.14).
  Status Kill() const;
  /// Stops or continues everything inside; the kernel completes it shortly after.
  Status Freeze(bool frozen) const;
  /// Bytes in use now.
  [[nodiscard]] Result<uint64_t> MemoryBytes() const;
  /// How often the kernel killed a process inside for memory: tells such an end from a crash.
  [[nodiscard]] Result<uint64_t> OutOfMemoryKills() const;

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}
  void Remove();

  std::string path_;  ///< empty after a move
};

}  // namespace assay
