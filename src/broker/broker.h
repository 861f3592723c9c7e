#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/adaptive_mutex.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_request.h"
#include "base/metrics.h"
#include "broker/documents.h"
#include "broker/done_cache.h"
#include "broker/fair_queue.h"
#include "broker/job_leases.h"
#include "broker/jobs.h"
#include "broker/notifier.h"
#include "broker/store_writer.h"

namespace assay {

/// Every limit of the job service, with its reason.
struct BrokerLimits {
  size_t max_queued = 10'000;                      ///< an hour of an H200's work at three a second
  size_t max_queued_per_owner = 5'000;             ///< nobody can take the whole queue
  size_t max_queued_bytes = 512u << 20;            ///< sources of waiting jobs are kept in memory
  size_t max_queued_bytes_per_owner = 256u << 20;  ///< nor all of that memory
  size_t max_source_bytes = 1u << 20;  ///< lint refuses over 256 KiB with a verdict that says so
  size_t cache_bytes = 64u << 20;      ///< finished jobs kept in memory: some thousand
  int max_redeliveries = 3;            ///< of a job whose worker died: it may be the job's doing
  double max_timeout_s = 86'400;
  /// A runner that was asked to end a job after its time limit has this long; the engine itself
  /// ends a judging in time.
  double timeout_grace_s = 60;
  double expected_s = 1;  ///< of a judging before any was seen
};

struct BrokerOptions {
  std::string path;  ///< of the SQLite file; ":memory:" in tests
  BrokerLimits limits;
  /// What only the runner knows of a request (task, options): kInvalid or kNotFound. Any thread.
  std::function<Status(const JobRequest&)> check;
  /// The most that an owner may have in the queue, below `max_queued_per_owner`; 0: that one only.
  /// Any thread; called under a lock, so it must be quick and not call back.
  std::function<size_t(const std::string& owner)> quota;
  /// Finished jobs with their verdicts, and documents of the kinds in `retained`, are deleted this
  /// long after their last change; 0: kept for ever.
  Seconds retain{0};
  std::vector<std::string> retained;
  bool log_jobs = false;              ///< a line for each that is accepted, delivered, done
  MetricRegistry* metrics = nullptr;  ///< outlives the broker; null: counted nowhere
  // Clocks, for tests.
  std::function<double()> unix_now;  ///< seconds; may jump
  std::function<TimePoint()> now;    ///< never goes back
  bool sweep_by_itself = true;       ///< false: the test calls Sweep()
};

/// The embedded job service: SQLite for what must survive, memory for what must be fast.
///
/// What a client was told is durable: that a job is accepted, and its verdict, are on the disk
/// before anybody hears of them. Workers do not wait for the disk: a job runs while it is being
/// written, and one that ends first is written once, with its verdict. The life of a job in memory:
///
///     queued ──Lease──▶ running ──Complete──▶ ending ─▶ done
///        │ ▲               │ Return, lease expired      ▲
///        │ └─ returning ◀──┘    (4th loss: infra_error) │
///        └──Cancel─▶ ending ────────────────────────────┘
///
/// In the states between, the transaction is on its way and nobody else may move the job. That it
/// runs is written behind its delivery, or not at all if its verdict comes first. A job that cannot
/// be accepted after all (the store cannot be written, its id was used long ago) is withdrawn: its
/// worker's result is late. Opening a store takes up what it finds: running jobs have lost their
/// worker and are queued again.
class Broker final : public JobService, public JobLeases {
 public:
  static Result<std::unique_ptr<Broker>> Open(BrokerOptions options);
  /// No thread may be in a call. What runs stays `running` in the store and is taken up again.
  ~Broker() override;

  // JobService
  Result<Job> Submit(JobRequest request) override;
  void SubmitThen(SharedRequest request, std::function<void(Result<SharedJob>)> done) override;
  Result<Job> Get(const std::string& id) override;
  Result<std::shared_ptr<const Job>> Peek(const std::string& id) override;
  std::vector<Job> List(const JobQuery& query) override { return Page(query).jobs; }
  JobPage Page(const JobQuery& query) override;
  Status Cancel(const std::string& id) override;
  void CancelThen(const std::string& id, std::function<void(const Status&)> done) override;
  Result<std::shared_ptr<void>> WhenDone(const std::string& id,
                                         std::function<void(const Job&)> done) override;
  Result<std::shared_ptr<void>> WhenDoneOrKept(const std::string& id,
                                               std::function<void(const Job&)> done) override;
  Result<std::shared_ptr<void>> Watch(const std::string& id,
                                      std::function<void(const Job&)> changed) override;
  QueueDepth Depth() override;
  double retry_after_s() override;
  double retry_after_of(const std::string& owner) override;

  // JobLeases
  Result<std::optional<Delivery>> Lease(const std::string& worker, Seconds wait,
                                        Seconds ttl) override;
  Status Renew(const Delivery& delivery, Seconds ttl) override;
  Status SetStage(const Delivery& delivery, std::string_view stage) override;
  Status Complete(const Delivery& delivery, json::object verdict) override;
  Status CompleteBehind(const Delivery& delivery, json::object verdict) override;
  Status Return(const Delivery& delivery, bool lost, std::string_view why) override;

  // As Complete and Return, for threads that must not wait for the disk: `done` is called once, on
  // a thread of the writer or at once, never under a lock; it must not block.
  void CompleteThen(const Delivery& delivery, json::object verdict,
                    std::function<void(const Status&)> done);
  void ReturnThen(const Delivery& delivery, bool lost, std::string_view why,
                  std::function<void(const Status&)> done);
  /// For those who look into the queue with a Lease() that does not wait: calls `look` when there
  /// may be something in it, and when the service drains; never under a lock, on any thread; it
  /// must not block. There is one at a time: the newest. Destroying the handle ends it.
  [[nodiscard]] std::shared_ptr<void> WhenQueued(std::function<void()> look);

  /// From now on nothing is accepted and nothing is delivered; what runs goes on, what is queued
  /// waits in the store for the next start, and who waits for it is told.
  void Drain();
  [[nodiscard]] bool draining() const override;
  /// As Drain, and ends what runs: it is queued again and waits for the next start.
  void Interrupt();
  /// Waits until nothing runs; false at the deadline.
  bool WaitIdle(TimePoint deadline);

  /// Ends leases that were not renewed and jobs over their time limit, tries again to store
  /// verdicts that were not, and has deleted what is kept no longer. The broker's own thread calls
  /// it ten times a second.
  void Sweep();

  DocumentStore* documents() { return documents_.get(); }

 private:
  enum class Phase { kQueued, kRunning, kReturning, kEnding };
  enum class Until { kDone, kDoneOrKept, kNever };
  struct Watcher {
    std::function<void(const Job&)> call;
    Until until = Until::kDone;  ///< kNever: every change
    bool over = false;
  };
  /// A verdict on its way into the store.
  struct Ending {
    Store::Ended end;
    bool written = false;  ///< together with the job; the writer's thread only
  };
  struct Record {
    std::shared_ptr<const Job> job;  ///< see Current()
    std::shared_ptr<Ending> ending;
    std::string stage;  ///< newer than the job's
    Phase phase = Phase::kQueued;
    int losses = 0;
    bool accepted = true;    ///< somebody may have been told
    bool inserted = true;    ///< it is in the store, or in the transaction that is being made
    bool delivered = false;  ///< counted in running_
    bool cancel_requested = false;
    bool timed_out = false;
    std::shared_ptr<std::atomic<bool>> cancelled;
    TimePoint queued_at;
    TimePoint started_at;
    TimePoint lease_end = TimePoint::max();
    double expected_s = 0;
    std::vector<std::weak_ptr<Watcher>> watchers;
  };
  /// Who waits for the queue without a thread.
  struct Listener {
    std::function<void()> look;
    std::atomic<bool> told{false};  ///< and has not looked since
  };
  struct Admission;
  struct Instruments;

  explicit Broker(BrokerOptions options);
  Status Recover();
  std::shared_ptr<const Job> AddRecord(StoredJob stored);

  // broker_submit.cc
  using Admitted = std::function<void(Result<std::shared_ptr<const Job>>)>;
  [[nodiscard]] Status Validate(const JobRequest& request) const;
  [[nodiscard]] Status RoomFor(const JobRequest& request, std::string* reason) const;
  [[nodiscard]] size_t PlacesOf(const std::string& owner) const;
  void Enqueue(Admission* admission);
  void Withdraw(Admission* admission);
  static void TakeExisting(Admission* admission, StoredJob found, std::string_view what);
  Status WriteAdmission(Admission* admission, Store* store);
  void AnswerAdmission(Admission* admission, const Status& durable);
  /// `admitted` is called on a thread of the writer (or at once with a refusal).
  void Admit(SharedRequest request, Admitted admitted);

  // broker_retention.cc
  void SweepOld();
  Status DeleteOld(Store* store, double before);

  /// A line about a job, with the request that brought it.
  template <typename... Args>
  void LogJob(const Job& job, fmt::format_string<Args...> format, Args&&... args) const {
    if (!options_.log_jobs || !LogEnabled(LogLevel::kInfo)) return;
    const LogRequest of(job.request->request_id);
    LogInfo("job {} {}", job.request->id, fmt::format(format, std::forward<Args>(args)...));
  }

  // With mutex_ held.
  /// Whether to notify_one(queue_changed_), after the lock: a worker that wakes up wants it.
  [[nodiscard]] bool WakesWorker();
  void TellListener();
  Record* FindRecord(const Job& job);
  Record* FindDelivery(const Delivery& delivery);
  static std::shared_ptr<const Job> Current(Record* record);
  [[nodiscard]] double ExpectedSeconds(const std::string& owner) const;
  [[nodiscard]] double MeanSeconds() const;
  [[nodiscard]] double RetrySeconds(size_t waiting, double each_s) const;
  void StartDraining();
  void Notify(Record* record);
  void Tell(const std::shared_ptr<Watcher>& watcher, Record* record);
  static FairQueue::Entry EntryOf(const Record& record);

  /// The job with its verdict, its record kEnding; null: it is to be queued again (kReturning).
  Result<std::shared_ptr<Job>> BeginEnd(const Delivery& delivery, json::object verdict);
  void FinishBehind(const std::shared_ptr<Job>& job);
  /// Stores the job's verdict and ends it. The record is kEnding, so that nobody else moves it.
  void FinishThen(const std::shared_ptr<Job>& job, std::function<void(const Status&)> done);
  Status WriteDelivery(const Delivery& delivery, Store* store);
  void End(std::shared_ptr<const Job> job);
  /// `done` is called on a thread of the writer, or at once.
  void CancelBehind(const std::string& id, std::function<void(const Status&)> done);
  void PutBack(const Job& job);
  /// Queued again, or done if it is cancelled or was lost too often. The record is kReturning.
  /// `done` is called on a thread of the writer, or at once.
  void RequeueThen(const std::string& id, std::string_view why,
                   std::function<void(const Status&)> done);
  void QueueAgain(const std::shared_ptr<Job>& job);
  static size_t SourceBytes(const JobRequest& request) {
    return request.source.size() + request.task_source.size();
  }
  Result<std::shared_ptr<void>> AddWatcher(const std::string& id, Watcher watcher);

  const BrokerOptions options_;
  std::unique_ptr<Store> store_;   ///< the writer's
  std::unique_ptr<Store> reader_;  ///< null for ":memory:"
  std::unique_ptr<Instruments> instruments_;

  mutable AdaptiveMutex mutex_;
  std::condition_variable queue_changed_;
  size_t idle_workers_ = 0;    ///< that wait for a job
  bool worker_woken_ = false;  ///< one of them is on its way
  std::weak_ptr<Listener> listener_;
  std::condition_variable idle_;  ///< nothing runs any more
  std::condition_variable stop_;
  std::unordered_map<std::string, Record> records_;  ///< all that are not done
  std::map<int64_t, std::string> queued_;            ///< ids by sequence
  FairQueue queue_;
  DoneCache done_;
  size_t running_ = 0;  ///< running, returning, or ending after a delivery
  size_t workers_ = 0;  ///< most that ran at once: the best known number of workers
  std::vector<std::shared_ptr<Job>> unstored_;  ///< ended, but the store could not be written
  TimePoint next_storing_{};
  std::map<std::string, double> seconds_;  ///< by owner, recent mean of a judging
  double mean_s_ = 0;
  bool draining_ = false;
  bool interrupted_ = false;
  bool stopping_ = false;
  int64_t next_sequence_ = 1;
  TimePoint next_deletion_{};
  bool deleting_ = false;
  double clock_offset_ = 0;  ///< wall clock minus steady clock at the start, seconds
  bool clock_warned_ = false;

  std::unique_ptr<DocumentStore> documents_;
  std::thread sweeper_;
  // Last, so that they go first: their threads use the members above.
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<StoreWriter> writer_;
};

}  // namespace assay
