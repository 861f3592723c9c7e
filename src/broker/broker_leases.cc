#include <algorithm>
#include <future>

#include "base/hash.h"
#include "base/log.h"
#include "broker/broker.h"
#include "broker/instruments.h"
#include "verdict/verdict.h"

namespace assay {
namespace {

constexpr Duration kStoreBackoff = std::chrono::seconds(1);
constexpr double kSmoothing = 0.2;  ///< of mean durations: the last dozen judgings count
constexpr size_t kMaxOwnersTimed = 10'000;
constexpr std::string_view kStops = "the service stops";

void Smooth(double* mean, double value) {
  *mean = *mean <= 0 ? value : *mean + kSmoothing * (value - *mean);
}

Error Over(const Delivery& delivery) {
  return Err(ErrorCode::kClosed, "{}: delivery {} is over", delivery.job->request->id,
             delivery.number);
}

bool IsStatus(std::string_view status) {
  for (int i = 0; i <= static_cast<int>(VerdictStatus::kCancelled); ++i)
    if (ToString(static_cast<VerdictStatus>(i)) == status) return true;
  return false;
}

TimePoint LeaseEnd(TimePoint now, Seconds ttl) {
  return ttl.count() <= 0 ? TimePoint::max() : now + std::chrono::duration_cast<Duration>(ttl);
}

using Done = std::function<void(const Status&)>;

/// Waits for what calls its argument once, on whatever thread.
Status Await(const std::function<void(Done)>& start) {
  // Shared: the waiting side may be gone before set_value() has returned.
  auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> status = promise->get_future();
  start([promise](const Status& done) { promise->set_value(done); });
  return status.get();
}

}  // namespace

json::object UnjudgedVerdict(const JobRequest& request, bool cancelled, std::string_view name,
                             std::string_view message) {
  Records records;
  records.id = request.id;
  records.task_id = request.task_id;
  records.submission_sha256 = Sha256Hex(request.source);
  records.failure.kind = cancelled ? FailureKind::kCancelled : FailureKind::kInfrastructure;
  records.failure.stage = Stage::kLint;
  records.failure.name = name;
  records.failure.message = message;
  return ToJson(Decide(std::move(records)), /*full=*/false);
}

/// One at a time is woken, by the writer: it comes behind each submission and each delivery, so
/// there is another look as long as there is more to do. Of many short jobs, whose writing is done
/// in batches, the workers that are awake do most, instead of all taking turns.
bool Broker::WakesWorker() {
  if (worker_woken_ || idle_workers_ == 0 || queue_.size() == 0 || draining_) return false;
  worker_woken_ = true;
  return true;
}

Result<std::optional<Delivery>> Broker::Lease(const std::string& worker, Seconds wait,
                                              Seconds ttl) {
  const TimePoint deadline = DeadlineIn(wait);
  std::unique_lock<std::mutex> guard(mutex_);
  while (wait.count() > 0 && !stopping_ && (draining_ || queue_.size() == 0)) {
    ++idle_workers_;
    const std::cv_status woken = queue_changed_.wait_until(guard, deadline);
    --idle_workers_;
    worker_woken_ = false;
    if (woken == std::cv_status::timeout && Clock::now() >= deadline) break;
  }
  if (stopping_ || draining_ || queue_.size() == 0) return std::optional<Delivery>();
  const std::optional<FairQueue::Entry> next = queue_.Pop();
  const auto entry = queued_.find(next->sequence);
  Record& record = records_.at(entry->second);
  queued_.erase(entry);
  record.expected_s = ExpectedSeconds(next->owner);
  queue_.Charge(next->owner, record.expected_s);
  record.delivered = true;
  workers_ = std::max(workers_, ++running_);
  auto job = std::make_shared<Job>(*record.job);
  job->state = JobState::kRunning;
  job->worker = worker;
  job->started_at = std::max(options_.unix_now(), job->submitted_at);
  ++job->deliveries;
  record.started_at = options_.now();
  record.lease_end = LeaseEnd(record.started_at, ttl);
  if (job->deliveries == 1)
    instruments_->wait.Observe(
        std::max(0.0, Seconds(record.started_at - record.queued_at).count()));
  instruments_->deliveries.Add();
  record.job = job;
  record.phase = Phase::kRunning;
  Delivery delivery{job, job->deliveries, record.cancelled};
  // What is not in the store yet goes there as it is then.
  const bool first =
      record.inserted &&
      writer_->Queue([this, delivery](Store* store) { return WriteDelivery(delivery, store); },
                     nullptr,
                     [job](const Status& status) {
                       if (!status.ok())
                         LogWarn("{}: its delivery cannot be written: {}", job->request->id,
                                 status.error().message);
                     });
  Notify(&record);
  guard.unlock();
  if (first) writer_->Wake();
  LogJob(*job, "delivered number={} worker={}", job->deliveries, worker);
  return std::optional(std::move(delivery));
}

/// On the writer's thread. What ended meanwhile says all of it when it is written itself.
Status Broker::WriteDelivery(const Delivery& delivery, Store* store) {
  bool wakes = false;
  bool current = false;
  {
    const std::lock_guard guard(mutex_);
    current = FindDelivery(delivery) != nullptr;
    wakes = WakesWorker();
  }
  if (wakes) queue_changed_.notify_one();
  return current ? store->SetRunning(*delivery.job) : Status();
}

/// Not a later job that has the same id, after this one was withdrawn.
Broker::Record* Broker::FindRecord(const Job& job) {
  const auto found = records_.find(job.request->id);
  const bool same = found != records_.end() && found->second.job->sequence == job.sequence;
  return same ? &found->second : nullptr;
}

Broker::Record* Broker::FindDelivery(const Delivery& delivery) {
  Record* const record = FindRecord(*delivery.job);
  const bool current = record != nullptr && record->phase == Phase::kRunning &&
                       record->job->deliveries == delivery.number;
  return current ? record : nullptr;
}

Status Broker::Renew(const Delivery& delivery, Seconds ttl) {
  const std::lock_guard guard(mutex_);
  Record* record = FindRecord(*delivery.job);
  // While its verdict is written too: if that fails, it runs on.
  const bool leased =
      record != nullptr && record->job->deliveries == delivery.number &&
      (record->phase == Phase::kRunning || (record->phase == Phase::kEnding && record->delivered));
  if (!leased) return Over(delivery);
  record->lease_end = LeaseEnd(options_.now(), ttl);
  return {};
}

Status Broker::SetStage(const Delivery& delivery, std::string_view stage) {
  const std::lock_guard guard(mutex_);
  Record* record = FindDelivery(delivery);
  if (record == nullptr) return Over(delivery);
  record->stage = stage;
  Notify(record);
  return {};
}

Result<std::shared_ptr<Job>> Broker::BeginEnd(const Delivery& delivery, json::object verdict) {
  std::shared_ptr<Job> job;
  bool interrupted = false;
  {
    const std::lock_guard guard(mutex_);
    Record* record = FindDelivery(delivery);
    if (record == nullptr) {
      instruments_->late.Add();
      return Over(delivery);
    }
    const bool unasked = !record->cancel_requested &&
                         GetString(verdict, "status") == ToString(VerdictStatus::kCancelled);
    // A service that stops cancels what runs; that is nobody's verdict.
    interrupted = unasked && interrupted_;
    record->phase = interrupted ? Phase::kReturning : Phase::kEnding;
    job = std::make_shared<Job>(*record->job);
    if (unasked && record->timed_out)
      verdict = UnjudgedVerdict(job->request, false, "time_limit",
                                fmt::format("the judging did not end by itself after the {:g} s "
                                            "that were asked for",
                                            job->request->timeout_s));
  }
  if (interrupted) return std::shared_ptr<Job>();
  if (!IsStatus(GetString(verdict, "status"))) {
    LogWarn("{}: {} returned no verdict", job->request->id, job->worker);
    verdict = UnjudgedVerdict(job->request, false, "no_verdict", "the worker returned no verdict");
  }
  job->verdict = std::move(verdict);
  return job;
}

void Broker::CompleteThen(const Delivery& delivery, json::object verdict,
                          std::function<void(const Status&)> done) {
  const Result<std::shared_ptr<Job>> begun = BeginEnd(delivery, std::move(verdict));
  if (!begun.ok()) return done(begun.error());
  const std::shared_ptr<Job>& job = *begun;
  if (job == nullptr) return RequeueThen(delivery.job->request->id, kStops, std::move(done));
  FinishThen(job, [this, job, done = std::move(done)](const Status& stored) {
    if (!stored.ok()) {
      const std::lock_guard guard(mutex_);
      if (Record* record = FindRecord(*job); record != nullptr) record->phase = Phase::kRunning;
    }
    done(stored);
  });
}

Status Broker::Complete(const Delivery& delivery, json::object verdict) {
  return Await([&](Done done) { CompleteThen(delivery, std::move(verdict), std::move(done)); });
}

Status Broker::CompleteBehind(const Delivery& delivery, json::object verdict) {
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<Job> job, BeginEnd(delivery, std::move(verdict)));
  if (job == nullptr)
    return Await(
        [&](Done done) { RequeueThen(delivery.job->request->id, kStops, std::move(done)); });
  FinishBehind(job);
  return {};
}

void Broker::FinishBehind(const std::shared_ptr<Job>& job) {
  FinishThen(job, [this, job](const Status& stored) {
    if (stored.ok()) return;
    LogWarn("{}: the verdict cannot be stored: {}", job->request->id, stored.error().message);
    if (stored.error().code == ErrorCode::kClosed) return;
    const std::lock_guard guard(mutex_);
    unstored_.push_back(job);
  });
}

void Broker::FinishThen(const std::shared_ptr<Job>& job, std::function<void(const Status&)> done) {
  job->state = JobState::kDone;
  job->stage.clear();
  job->finished_at = std::max({options_.unix_now(), job->started_at, job->submitted_at});
  auto ending = std::make_shared<Ending>();
  ending->end = {
      .job = job,
      .verdict = std::make_shared<const Store::VerdictText>(Store::Prepare(job->verdict))};
  {
    const std::lock_guard guard(mutex_);
    if (Record* record = FindRecord(*job); record != nullptr) record->ending = ending;
  }
  writer_->Post(
      [ending](Store* store) {
        if (ending->written) return Status();
        const Job& ended = *ending->end.job;
        return store->SetDone(ended, ended.deliveries, ending->end.verdict);
      },
      [this, job, done = std::move(done)](const Status& stored) {
        if (stored.ok()) End(job);
        done(stored);
      });
}

/// The job's verdict is on the disk.
void Broker::End(std::shared_ptr<const Job> job) {
  instruments_->Verdict(*job);
  LogJob(*job, "done status={} worker={}", GetString(job->verdict, "status"), job->worker);
  std::vector<std::shared_ptr<const Job>> forgotten;  // goes after the lock
  {
    const std::lock_guard guard(mutex_);
    const auto found = records_.find(job->request->id);
    if (FindRecord(*job) == nullptr) return;
    Record& record = found->second;
    record.stage.clear();
    record.job = job;
    if (record.delivered) {
      const double seconds = std::max(0.0, Seconds(options_.now() - record.started_at).count());
      queue_.Charge(job->request->owner, seconds - record.expected_s);
      instruments_->judging.Observe(seconds);
      Smooth(&mean_s_, seconds);
      if (seconds_.size() > kMaxOwnersTimed) seconds_.clear();
      Smooth(&seconds_[job->request->owner], seconds);
      --running_;
    }
    Notify(&record);
    records_.erase(found);
    forgotten = done_.Put(std::move(job));
    if (running_ == 0) idle_.notify_all();
  }
}

void Broker::ReturnThen(const Delivery& delivery, bool lost, std::string_view why,
                        std::function<void(const Status&)> done) {
  {
    std::unique_lock guard(mutex_);
    Record* record = FindDelivery(delivery);
    if (record == nullptr) {
      guard.unlock();
      return done(Over(delivery));
    }
    record->phase = Phase::kReturning;
    record->losses += lost ? 1 : 0;
    record->cancelled->store(true);  // for what may still work on it
  }
  if (lost) instruments_->losses.Add();
  RequeueThen(delivery.job->request->id, why, std::move(done));
}

Status Broker::Return(const Delivery& delivery, bool lost, std::string_view why) {
  return Await([&](Done done) { ReturnThen(delivery, lost, why, std::move(done)); });
}

void Broker::RequeueThen(const std::string& id, std::string_view why,
                         std::function<void(const Status&)> done) {
  std::shared_ptr<Job> job;
  int losses = 0;
  bool cancelled = false;
  {
    std::unique_lock guard(mutex_);
    const auto found = records_.find(id);
    if (found == records_.end() || found->second.phase != Phase::kReturning) {
      guard.unlock();
      return done(Err(ErrorCode::kClosed, "{} was withdrawn", id));
    }
    Record& record = found->second;
    job = std::make_shared<Job>(*record.job);
    record.stage.clear();
    losses = record.losses;
    cancelled = record.cancel_requested;
  }
  if (cancelled || losses > options_.limits.max_redeliveries) {
    job->verdict =
        cancelled
            ? UnjudgedVerdict(job->request, true, "cancelled", "the submission was cancelled")
            : UnjudgedVerdict(job->request, false, "lost",
                              fmt::format("it was judged {} times without a result; the last: {}",
                                          losses, why));
    return FinishThen(job, [this, job, done = std::move(done)](const Status& stored) {
      if (!stored.ok()) QueueAgain(job);
      done(stored);
    });
  }
  const LogRequest of(job->request->request_id);
  LogWarn("{}: delivery {} to {} ended without a result: {}", id, job->deliveries, job->worker,
          why);
  // What cannot be written is queued in memory all the same: the next delivery is written again.
  writer_->Post([job, losses](Store* store) { return store->SetQueued(*job, losses); },
                [this, job, done = std::move(done)](const Status& stored) {
                  QueueAgain(job);
                  done(stored);
                });
}

/// The record is kReturning; what becomes of it is in the store as far as it could be written.
void Broker::QueueAgain(const std::shared_ptr<Job>& job) {
  bool wakes = false;
  {
    const std::lock_guard guard(mutex_);
    Record* const returning = FindRecord(*job);
    if (returning == nullptr) return;
    Record& record = *returning;
    job->state = JobState::kQueued;
    job->stage.clear();
    job->verdict.clear();
    job->finished_at = 0;
    queue_.Charge(job->request->owner,
                  Seconds(options_.now() - record.started_at).count() - record.expected_s);
    record.phase = Phase::kQueued;
    record.ending.reset();
    record.delivered = false;
    record.timed_out = false;
    // The old flag stays with the old worker.
    record.cancelled = std::make_shared<std::atomic<bool>>(record.cancel_requested);
    record.lease_end = TimePoint::max();
    --running_;
    record.job = job;
    queue_.Push(EntryOf(record));
    queued_.emplace(job->sequence, job->request->id);
    Notify(&record);
    wakes = WakesWorker();
    TellListener();
    if (running_ == 0) idle_.notify_all();
  }
  if (wakes) queue_changed_.notify_one();
}

void Broker::CancelBehind(const std::string& id, std::function<void(const Status&)> done) {
  std::shared_ptr<Job> waiting;
  bool ending = false;
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = records_.find(id); found != records_.end()) {
      Record& record = found->second;
      ending = record.phase == Phase::kEnding;
      if (record.phase == Phase::kQueued) {
        static_cast<void>(queue_.Remove(EntryOf(record)));
        queued_.erase(record.job->sequence);
        record.phase = Phase::kEnding;
        waiting = std::make_shared<Job>(*record.job);
      } else if (!ending) {
        record.cancel_requested = true;
      }
    }
  }
  if (ending) return done({});
  if (waiting != nullptr) {
    waiting->verdict =
        UnjudgedVerdict(waiting->request, true, "cancelled", "the submission was cancelled");
    return FinishThen(waiting, [this, waiting, done = std::move(done)](const Status& stored) {
      if (!stored.ok()) PutBack(*waiting);
      done(stored);
    });
  }
  const Result<std::shared_ptr<const Job>> known = Peek(id);
  if (!known.ok()) return done(known.error());
  if ((*known)->state == JobState::kDone) return done({});
  // First on the disk: after a restart it must not run again.
  writer_->Post([id](Store* store) { return store->SetCancelRequested(id); },
                [this, id, done = std::move(done)](const Status& stored) {
                  if (!stored.ok()) return done(stored);
                  bool again = false;
                  {
                    const std::lock_guard guard(mutex_);
                    if (const auto found = records_.find(id); found != records_.end()) {
                      found->second.cancelled->store(true);
                      again = found->second.phase == Phase::kQueued;
                    }
                  }
                  // It came back to the queue meanwhile.
                  if (again) return CancelBehind(id, done);
                  done({});
                });
}

/// Its end could not be stored: it waits as before.
void Broker::PutBack(const Job& job) {
  const std::lock_guard guard(mutex_);
  Record* const record = FindRecord(job);
  if (record == nullptr) return;
  record->phase = Phase::kQueued;
  record->ending.reset();
  queue_.Push(EntryOf(*record));
  queued_.emplace(job.sequence, job.request->id);
  TellListener();
}

Status Broker::Cancel(const std::string& id) {
  return Await([&](Done done) { CancelBehind(id, std::move(done)); });
}

void Broker::CancelThen(const std::string& id, std::function<void(const Status&)> done) {
  CancelBehind(id, [this, done = std::move(done)](const Status& status) {
    notifier_->Post([done, status] { done(status); });
  });
}

void Broker::Sweep() {
  std::vector<std::string> expired;
  std::vector<std::shared_ptr<Job>> unstored;
  {
    const std::lock_guard guard(mutex_);
    const TimePoint now = options_.now();
    if (now >= next_storing_) {
      next_storing_ = now + kStoreBackoff;
      unstored.swap(unstored_);
    }
    for (auto& [id, record] : records_) {
      if (record.phase != Phase::kRunning) continue;
      if (record.lease_end < now) {
        record.phase = Phase::kReturning;
        ++record.losses;
        record.cancelled->store(true);  // for a worker that lives after all
        expired.push_back(id);
        continue;
      }
      const double limit = record.job->request->timeout_s;
      if (limit > 0 && !record.timed_out &&
          Seconds(now - record.started_at).count() > limit + options_.limits.timeout_grace_s) {
        record.timed_out = true;
        record.cancelled->store(true);
      }
    }
  }
  instruments_->losses.Add(static_cast<double>(expired.size()));
  for (const std::string& id : expired)
    static_cast<void>(Await(
        [&](Done done) { RequeueThen(id, "its lease was not renewed in time", std::move(done)); }));
  for (const std::shared_ptr<Job>& job : unstored) FinishBehind(job);
  SweepOld();
}

}  // namespace assay
