#pragma once

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
class RunnerPool {
 public:
  /// `leases` outlives this.
  RunnerPool(JobLeases* leases, std::vector<std::shared_ptr<JobRunner>> runners);
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
    std::string last_error;  ///< of the last of those
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
  };

  void Work(Worker* worker);
  void Judge(Worker* worker, const Delivery& delivery);
  bool PauseUnlessStopping(Seconds pause);

  JobLeases* const leases_;
  mutable std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
};

}  // namespace assay
