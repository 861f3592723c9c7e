#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// Of a request's options as text; they are a dozen numbers.
inline constexpr size_t kMaxOptionsBytes = 16u << 10;

/// What a client wants judged. Plain data: this is what is stored, so a job survives a restart.
struct JobRequest {
  std::string id;     ///< the client's own name for it; empty: one is made. Unique.
  std::string owner;  ///< name of the key that sent it; queues are shared fairly between owners
  std::string idempotency;  ///< the same key of one owner again gives the same job, or kInvalid if
                            ///< the content differs; empty: none
  std::string task_id;      ///< of the registry ...
  std::string task_source;  ///< ... or a reference module in KernelBench's format
  std::string entry = "Model";  ///< class of the reference in `task_source`
  std::string submission_entry = "ModelNew";
  std::string source;      ///< the submission
  json::object options;    ///< how to judge, see EvaluationOptions
  int priority = 0;        ///< higher first, within one owner
  double timeout_s = 0;    ///< of the whole judging, from its start; 0: the engine's phases only
  std::string request_id;  ///< of the request that brought it, for the log; not stored
};

/// A request that copies share: a job is copied at each change of its state, and what was asked for
/// never changes.
class SharedRequest {
 public:
  SharedRequest() : SharedRequest(JobRequest{}) {}
  SharedRequest(JobRequest request)  // NOLINT(google-explicit-constructor): it is one
      : request_(std::make_shared<JobRequest>(std::move(request))) {}

  const JobRequest& operator*() const { return *request_; }
  const JobRequest* operator->() const { return request_.get(); }
  operator const JobRequest&() const { return *request_; }  // NOLINT(google-explicit-constructor)

  /// To be changed by whoever makes it; other copies keep what they have. Not beside other threads
  /// that copy this object.
  JobRequest* Edit() {
    if (request_.use_count() != 1) request_ = std::make_shared<JobRequest>(*request_);
    return request_.get();
  }

 private:
  std::shared_ptr<JobRequest> request_;
};

enum class JobState { kQueued, kRunning, kDone };

/// One accepted submission. A job ends in exactly one verdict, whatever is killed when.
///
///     queued ──▶ running ──▶ done        cancel: queued ▶ done(cancelled) at once, running ▶ done
///     when
///        ▲          │                     the candidate is killed
///        └──────────┘ the worker died or the server was restarted: redelivered, at most 3 times,
///                     then done(infra_error)
struct Job {
  SharedRequest request;
  JobState state = JobState::kQueued;
  int64_t sequence = 0;     ///< order of acceptance; pages of listings follow it
  int deliveries = 0;       ///< times it was given to a worker
  std::string stage;        ///< while running: lint, prepare, load, check, time
  double submitted_at = 0;  ///< Unix time, seconds
  double started_at = 0;    ///< of the last delivery; 0: never
  double finished_at = 0;
  json::object verdict;  ///< the assay.verdict/1 document (with raw samples) once done
  std::string worker;    ///< that runs or ran it
};

/// A job as it was at one time; it never changes.
using SharedJob = std::shared_ptr<const Job>;

/// Counts for /metrics and back-pressure.
struct QueueDepth {
  size_t queued = 0;
  size_t running = 0;
  double oldest_wait_s = 0;     ///< of the queued ones
  double drain_estimate_s = 0;  ///< from recent judging rates; for Retry-After
};

/// Which jobs, newest first.
struct JobQuery {
  std::string owner;  ///< empty: all
  std::optional<JobState> state;
  std::string task_id;
  std::string status;          ///< the verdict's
  int64_t before = INT64_MAX;  ///< sequence of the last one of the page before
  size_t limit = 100;
  /// Jobs looked at for it, at most: others wait meanwhile. A page may be short for that.
  size_t visit = 5'000;
};

struct JobPage {
  std::vector<Job> jobs;
  int64_t next = 0;  ///< `before` of the page that follows; 0: there is none
};

/// Takes submissions, queues them, has them judged and keeps the verdicts. The seam between
/// protocols and the engine: every protocol (OpenEnv, KernelGYM, native) speaks to this.
/// Thread-safe; no call waits for a judgement.
class JobService {
 public:
  virtual ~JobService() = default;

  /// Durable when it returns. kInvalid: bad request (says what to do), kNotFound: unknown task,
  /// kUnavailable: the queue or the owner's quota is full (retry_after_of() tells when to come
  /// again), or the service is draining.
  virtual Result<Job> Submit(JobRequest request) = 0;

  /// As Submit, for threads that must not wait for the disk: calls `done` once, never under a lock,
  /// on any thread; it must not block.
  virtual void SubmitThen(SharedRequest request, std::function<void(Result<SharedJob>)> done) {
    const std::function<void(Result<SharedJob>)> answer = std::move(done);
    const SharedRequest asked = std::move(request);
    Result<Job> job = Submit(*asked);
    answer(job.ok() ? Result<SharedJob>(std::make_shared<const Job>(*std::move(job)))
                    : Result<SharedJob>(job.error()));
  }

  virtual Result<Job> Get(const std::string& id) = 0;
  /// As Get, without a copy: what status polls should use.
  virtual Result<SharedJob> Peek(const std::string& id) {
    ASSAY_ASSIGN_OR_RETURN(Job job, Get(id));
    return SharedJob(std::make_shared<Job>(std::move(job)));
  }
  /// Newest first; without the sources and the verdicts' raw samples (Get has them).
  virtual std::vector<Job> List(const JobQuery& query) = 0;
  /// As List, and where it goes on.
  virtual JobPage Page(const JobQuery& query) { return {List(query), 0}; }

  /// Asks for the job's end; a running candidate is killed. Ok when it is done already (the verdict
  /// stays). kNotFound.
  virtual Status Cancel(const std::string& id) = 0;
  /// As Cancel, for threads that must not wait for the disk: calls `done` once, never under a lock,
  /// on any thread; it must not block.
  virtual void CancelThen(const std::string& id, std::function<void(const Status&)> done) {
    const std::function<void(const Status&)> answer = std::move(done);
    answer(Cancel(id));
  }

  /// Calls `done` once with the finished job: at once if it is, else when it is. Never under a
  /// lock; on any thread; must not block. Destroying the handle cancels the call (one that has
  /// begun goes on). kNotFound.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> WhenDone(
      const std::string& id, std::function<void(const Job&)> done) = 0;

  /// As WhenDone, for those who hold a request open: also calls, once and for all, when the service
  /// drains and the job still waits. It is kept and judged after the next start, which may be long
  /// after this process is gone.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> WhenDoneOrKept(
      const std::string& id, std::function<void(const Job&)> done) {
    return WhenDone(id, std::move(done));
  }

  /// As WhenDone, for every change of state or stage on the way, and when the service drains and
  /// the job still waits.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> Watch(
      const std::string& id, std::function<void(const Job&)> changed) = 0;

  virtual QueueDepth Depth() = 0;
  virtual double retry_after_s() = 0;
  /// As retry_after_s(), for this owner: where only its own part is full, what that takes.
  virtual double retry_after_of(const std::string& owner) {
    static_cast<void>(owner);
    return retry_after_s();
  }
  /// It stops: what it refuses now, another server may take.
  [[nodiscard]] virtual bool draining() const { return false; }
};

}  // namespace assay
