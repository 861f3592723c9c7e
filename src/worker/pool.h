#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/cgroup.h"
#include "worker/background.h"
#include "worker/device_lock.h"
#include "worker/zygote.h"

namespace assay {

/// A candidate process that is warm and has run nothing but Assay's own code.
struct WarmCandidate {
  std::unique_ptr<RuntimeProcess> process;
  json::object hello;            ///< its "ready" message: sandbox report, milliseconds
  std::optional<Cgroup> cgroup;  ///< where the machine lets the worker make one
};

/// Keeps warmed, sandboxed, never used candidates ready. One thread forks them, another takes them
/// as they become warm; until then they are background of the device: a timing stops them.
/// Thread-safe.
///
///     forked --> confined --> warm (ready) --> leased --> used once --> destroyed
class CandidatePool {
 public:
  CandidatePool(Zygote* zygote, DeviceLock* lock, BackgroundSet* background, SandboxSpec sandbox,
                const Limits& limits);
  ~CandidatePool();
  CandidatePool(const CandidatePool&) = delete;
  CandidatePool& operator=(const CandidatePool&) = delete;

  /// A warm candidate. `default_connections`: with the driver's default number of hardware queues,
  /// for submissions that use streams; these are made on demand. Errors are infrastructure.
  Result<WarmCandidate> Lease(bool default_connections, TimePoint deadline);

  /// A process of Role::kTool, confined as a candidate is, that may read `folders` too and speak to
  /// itself over 127.0.0.1, as such tools do with what they look at. Wait for it with WaitReady().
  Result<WarmCandidate> ForkTool(const std::vector<std::string>& folders,
                                 std::unique_ptr<BackgroundSet::Member>* member);

  /// Candidates that are warm and wait for a submission.
  [[nodiscard]] size_t warm() const;

  /// Kills a used candidate; its context is torn down outside any timing. Whether it has ended.
  bool Destroy(std::unique_ptr<RuntimeProcess> process);

 private:
  struct Warming {
    WarmCandidate candidate;
    std::unique_ptr<BackgroundSet::Member> member;
  };

  void Fork();
  void Warm();
  [[nodiscard]] bool Wanting() const;
  void Failed(const Error& error);
  Result<WarmCandidate> Make(Role role, int connections, SandboxSpec spec,
                             std::unique_ptr<BackgroundSet::Member>* member);

  Zygote* const zygote_;
  DeviceLock* const lock_;
  BackgroundSet* const background_;
  const SandboxSpec sandbox_;
  const Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Warming> warming_;
  std::deque<WarmCandidate> ready_;
  bool cgroups_ = true;  ///< until the first one could not be made
  std::string last_error_;
  int failures_ = 0;
  uint32_t made_ = 0;
  int leased_ = 0;
  int waiting_ = 0;  ///< leases that wait for a candidate
  bool stopping_ = false;
  std::thread forker_;
  std::thread warmer_;
};

}  // namespace assay
