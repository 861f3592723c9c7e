#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "broker/job_leases.h"

namespace assay {

/// Threads that take jobs and have them judged: as many for each runner as it can work on at once.
/// Jobs go to whichever is free, so several devices share one queue.
///
/// A job that ends in a runner's fault goes back to the queue, and the runner is checked before it
/// takes more. One that fails its check is unfit: it takes nothing and is checked again after
/// pauses that grow to a minute, until it passes.
class RunnerPool {
 public:
  struct Pace {
    Seconds look{0.5};       ///< of one look into the queue, and so of a stop at most
    Seconds ttl{0};          ///< of the leases; 0: they live as long as the service
    Seconds first_pause{1};  ///< of a runner that fails its check
  };
  /// `leases` outlives this.
  RunnerPool(JobLeases* leases, std::vector<std::shared_ptr<JobRunner>> runners)
      : RunnerPool(leases, std::move(runners), Pace{}) {}
  RunnerPool(JobLeases* leases, std::vector<std::shared_ptr<JobRunner>> runners, Pace pace);
  /// Stop().
  ~RunnerPool();
  RunnerPool(const RunnerPool&) = delete;
  RunnerPool& operator=(const RunnerPool&) = delete;

  /// Takes no more jobs and waits for those that run (Broker::Interrupt ends them early).
  void Stop();

  struct WorkerState {
    std::string name;
    int jobs = 0;
    std::vector<std::string> working_on;  ///< ids
    uint64_t judged = 0;
    uint64_t failed = 0;     ///< jobs that it could not do and gave back
    std::string last_error;  ///< of the last of those, or of its check
    bool fit = true;         ///< false: it failed its check and takes no jobs
    json::object details;    ///< JobRunner::Describe()
  };
  /// One a runner. Thread-safe.
  [[nodiscard]] std::vector<WorkerState> Workers() const;

 private:
  struct Worker {
    std::shared_ptr<JobRunner> runner;
    std::set<std::string> working_on;
    uint64_t judged = 0;
    uint64_t failed = 0;
    std::string last_error;
    bool fit = true;
    bool checking = false;  ///< one of its threads is in Check() or in a pause between two
  };

  void Work(Worker* worker);
  void Judge(Worker* worker, const Delivery& delivery);
  [[nodiscard]] bool IsFit(const Worker& worker) const;
  void AwaitFit(Worker* worker);
  [[nodiscard]] Status Check(Worker* worker);
  bool PauseUnlessStopping(Seconds pause);

  JobLeases* const leases_;
  const Pace pace_;
  const std::shared_ptr<std::atomic<bool>> end_checks_ = std::make_shared<std::atomic<bool>>(false);
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace assay
