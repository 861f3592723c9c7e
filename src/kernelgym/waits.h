#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "broker/jobs.h"
#include "http/timer.h"

namespace assay::kernelgym {

/// Things to do when jobs end, each with a deadline: no client waits for ever. Thread-safe. The job
/// service and the timers must outlive it; what is pending at the end is dropped without a call.
class Waits {
 public:
  Waits(JobService* jobs, http::Timers* timers) : jobs_(jobs), timers_(timers) {}

  /// Calls `done` once: with the finished job, or with null when `limit` has passed or the job is
  /// not known. Where there is a limit a client waits: then also with the queued job when the
  /// service drains, which keeps it for its next start. At once or later, on any thread.
  void Await(const std::string& job_id, std::optional<Seconds> limit,
             std::function<void(const Job*)> done);

  [[nodiscard]] size_t pending() const;

 private:
  struct Wait;
  struct Book {
    std::mutex mutex;
    uint64_t next = 0;
    std::unordered_map<uint64_t, std::shared_ptr<Wait>> waits;
  };
  static void Finish(const std::shared_ptr<Book>& book, const std::shared_ptr<Wait>& wait,
                     const Job* job);

  JobService* const jobs_;
  http::Timers* const timers_;
  std::shared_ptr<Book> book_ = std::make_shared<Book>();
};

}  // namespace assay::kernelgym
