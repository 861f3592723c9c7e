#include "broker/broker.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/host.h"
#include "base/log.h"
#include "broker/instruments.h"

namespace assay {
namespace {

constexpr std::chrono::milliseconds kSweepPeriod{100};
constexpr double kDrainingRetryS = 10;  ///< a restart takes about as long as importing torch
constexpr double kMaxRetryS = 300;

/// The documents of the protocols, written by the broker's writer.
class Documents final : public DocumentStore {
 public:
  Documents(StoreWriter* writer, Store* reader, std::function<double()> now)
      : writer_(writer), reader_(reader), now_(std::move(now)) {}

  Status Put(const std::string& kind, const std::string& id,
             const json::object& document) override {
    return writer_->Run([&, text = json::serialize(document), now = now_()](Store* store) {
      return store->PutDocument(kind, id, text, now);
    });
  }
  void PutThen(const std::string& kind, const std::string& id, json::object document,
               std::function<void(const Status&)> done) override {
    PutTextThen(kind, id, json::serialize(document), std::move(done));
  }
  void PutTextThen(const std::string& kind, const std::string& id, std::string text,
                   std::function<void(const Status&)> done) override {
    writer_->Post([kind, id, text = std::move(text),
                   now = now_()](Store* store) { return store->PutDocument(kind, id, text, now); },
                  std::move(done));
  }
  Result<json::object> Get(const std::string& kind, const std::string& id) override {
    const std::lock_guard guard(reader_->mutex());
    return reader_->GetDocument(kind, id);
  }
  Status Delete(const std::string& kind, const std::string& id) override {
    Status found;
    ASSAY_RETURN_IF_ERROR(writer_->Run([&](Store* store) -> Status {
      found = store->DeleteDocument(kind, id);
      if (!found.ok() && found.error().code != ErrorCode::kNotFound) return found;
      return {};
    }));
    return found;
  }
  std::vector<std::string> List(const std::string& kind, size_t limit) override {
    const std::lock_guard guard(reader_->mutex());
    Result<std::vector<std::string>> ids = reader_->ListDocuments(kind, limit);
    if (ids.ok()) return *std::move(ids);
    LogWarn("cannot list documents: {}", ids.error().message);
    return {};
  }

 private:
  StoreWriter* const writer_;
  Store* const reader_;
  const std::function<double()> now_;
};

}  // namespace

Broker::Broker(BrokerOptions options)
    : options_([&] {
        if (!options.unix_now) options.unix_now = UnixNow;
        if (!options.now) options.now = [] { return Clock::now(); };
        return std::move(options);
      }()),
      instruments_(std::make_unique<Instruments>(options_.metrics)),
      done_(options_.limits.cache_bytes),
      clock_offset_(options_.unix_now() - Seconds(options_.now().time_since_epoch()).count()) {}

Result<std::unique_ptr<Broker>> Broker::Open(BrokerOptions options) {
  std::unique_ptr<Broker> broker(new Broker(std::move(options)));
  ASSAY_ASSIGN_OR_RETURN(broker->store_, Store::Open(broker->options_.path, Store::Mode::kWrite));
  if (broker->options_.path != ":memory:") {
    ASSAY_ASSIGN_OR_RETURN(broker->reader_, Store::Open(broker->options_.path, Store::Mode::kRead));
  }
  ASSAY_RETURN_IF_ERROR(broker->Recover());
  broker->notifier_ = std::make_unique<Notifier>();
  broker->writer_ = std::make_unique<StoreWriter>(broker->store_.get());
  Store* reader = broker->reader_ ? broker->reader_.get() : broker->store_.get();
  broker->documents_ =
      std::make_unique<Documents>(broker->writer_.get(), reader, broker->options_.unix_now);
  broker->instruments_->depth =
      broker->instruments_->registry->AddCollector([broker = broker.get()] {
        const QueueDepth depth = broker->Depth();
        constexpr const char* kJobs = "Jobs that are not done.";
        return std::vector<MetricSample>{{"assay_jobs",
                                          kJobs,
                                          MetricType::kGauge,
                                          {{"state", "queued"}},
                                          static_cast<double>(depth.queued)},
                                         {"assay_jobs",
                                          kJobs,
                                          MetricType::kGauge,
                                          {{"state", "running"}},
                                          static_cast<double>(depth.running)},
                                         {"assay_queue_oldest_wait_seconds",
                                          "Age of the oldest queued job.",
                                          MetricType::kGauge,
                                          {},
                                          depth.oldest_wait_s},
                                         {"assay_queue_drain_estimate_seconds",
                                          "Until what is queued is judged, by recent rates.",
                                          MetricType::kGauge,
                                          {},
                                          depth.drain_estimate_s}};
      });
  if (!broker->options_.sweep_by_itself) return broker;
  broker->sweeper_ = std::thread([broker = broker.get()] {
    std::unique_lock<std::mutex> guard(broker->mutex_);
    while (!broker->stopping_) {
      broker->stop_.wait_for(guard, kSweepPeriod, [&] { return broker->stopping_; });
      guard.unlock();
      broker->Sweep();
      guard.lock();
    }
  });
  return broker;
}

Broker::~Broker() {
  instruments_->depth.reset();
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  queue_changed_.notify_all();
  stop_.notify_all();
  if (sweeper_.joinable()) sweeper_.join();
}

std::shared_ptr<const Job> Broker::AddRecord(StoredJob stored) {
  const double age = std::max(0.0, options_.unix_now() - stored.job.submitted_at);
  Record record;
  record.losses = stored.losses;
  record.queued_at =
      options_.now() - std::chrono::duration_cast<Duration>(Seconds(std::min(age, 1e8)));
  record.cancelled = std::make_shared<std::atomic<bool>>(false);
  const std::string id = stored.job.request->id;
  record.job = std::make_shared<const Job>(std::move(stored.job));
  queue_.Push(EntryOf(record));
  queued_.emplace(record.job->sequence, id);
  return records_.emplace(id, std::move(record)).first->second.job;
}

Status Broker::Recover() {
  ASSAY_ASSIGN_OR_RETURN(const int64_t last, store_->LastSequence());
  next_sequence_ = last + 1;
  ASSAY_ASSIGN_OR_RETURN(std::vector<StoredJob> jobs, store_->Unfinished());
  size_t again = 0;
  ASSAY_RETURN_IF_ERROR(store_->Begin());
  for (StoredJob& stored : jobs) {
    Job& job = stored.job;
    const bool lost = job.state == JobState::kRunning;
    stored.losses += lost ? 1 : 0;
    if (stored.cancel_requested || stored.losses > options_.limits.max_redeliveries) {
      job.verdict =
          stored.cancel_requested
              ? UnjudgedVerdict(job.request, true, "cancelled", "the submission was cancelled")
              : UnjudgedVerdict(
                    job.request, false, "lost",
                    fmt::format("the service ended {} times while it was judged", stored.losses));
      job.finished_at = std::max(options_.unix_now(), job.started_at);
      ASSAY_RETURN_IF_ERROR(store_->SetDone(job, job.deliveries));
      continue;
    }
    if (lost) {
      ASSAY_RETURN_IF_ERROR(store_->SetQueued(job, stored.losses));
      job.state = JobState::kQueued;
      ++again;
    }
    static_cast<void>(AddRecord(std::move(stored)));
  }
  ASSAY_RETURN_IF_ERROR(store_->Commit());
  instruments_->losses.Add(static_cast<double>(again));
  if (!jobs.empty())
    LogInfo("the store holds {} jobs that are not done, {} of them were being judged", jobs.size(),
            again);
  return {};
}

FairQueue::Entry Broker::EntryOf(const Record& record) {
  const JobRequest& request = record.job->request;
  return {request.owner, request.priority, record.job->sequence, SourceBytes(request)};
}

Result<std::shared_ptr<const Job>> Broker::Peek(const std::string& id) {
  {
    const std::lock_guard guard(mutex_);
    if (const auto found = records_.find(id); found != records_.end() && found->second.accepted)
      return Current(&found->second);
    if (std::shared_ptr<const Job> job = done_.Find(id)) return job;
  }
  std::shared_ptr<const Job> job;
  {
    Store* reader = reader_ ? reader_.get() : store_.get();
    const std::lock_guard guard(reader->mutex());
    ASSAY_ASSIGN_OR_RETURN(std::optional<StoredJob> stored, reader->Find(id));
    if (!stored) return Err(ErrorCode::kNotFound, "there is no submission '{}'", id);
    job = std::make_shared<const Job>(std::move(stored->job));
  }
  // One that was accepted since the first look is found in memory now.
  const std::lock_guard guard(mutex_);
  if (const auto found = records_.find(id); found != records_.end()) return Current(&found->second);
  if (job->state == JobState::kDone) (void)done_.Put(job);
  return job;
}

Result<Job> Broker::Get(const std::string& id) {
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const Job> job, Peek(id));
  return *job;
}

JobPage Broker::Page(const JobQuery& query) {
  JobPage page;
  {
    Store* reader = reader_ ? reader_.get() : store_.get();
    const std::lock_guard guard(reader->mutex());
    Result<JobPage> listed = reader->List(query);
    if (!listed.ok()) {
      LogWarn("cannot list submissions: {}", listed.error().message);
      return {};
    }
    page = *std::move(listed);
  }
  const std::lock_guard guard(mutex_);
  for (Job& job : page.jobs)
    if (const auto found = records_.find(job.request->id); found != records_.end()) {
      // The store may know a verdict that is not on the disk yet.
      job.state = found->second.job->state;
      job.stage = found->second.stage;
      job.finished_at = 0;
      job.verdict.clear();
    }
  return page;
}

QueueDepth Broker::Depth() {
  const std::lock_guard guard(mutex_);
  QueueDepth depth;
  depth.queued = queue_.size();
  depth.running = running_;
  if (!queued_.empty())
    depth.oldest_wait_s = std::max(
        0.0, Seconds(options_.now() - records_[queued_.begin()->second].queued_at).count());
  depth.drain_estimate_s =
      (static_cast<double>(depth.queued) + static_cast<double>(depth.running) / 2) * MeanSeconds() /
      static_cast<double>(std::max<size_t>(1, workers_));
  return depth;
}

double Broker::retry_after_s() {
  const std::lock_guard guard(mutex_);
  return RetrySeconds(queue_.size(), MeanSeconds());
}

double Broker::retry_after_of(const std::string& owner) {
  const std::lock_guard guard(mutex_);
  const BrokerLimits& limits = options_.limits;
  const bool own = queue_.size(owner) >= PlacesOf(owner) ||
                   queue_.bytes(owner) > limits.max_queued_bytes_per_owner / 2;
  if (!own || queue_.size() >= limits.max_queued) return RetrySeconds(queue_.size(), MeanSeconds());
  // Owners take turns, so its own jobs get their share of the workers.
  return RetrySeconds(queue_.size(owner),
                      ExpectedSeconds(owner) * static_cast<double>(queue_.owners()));
}

/// Until an eighth of what waits is judged: all that were refused come back then, not only one. The
/// lock is held.
double Broker::RetrySeconds(size_t waiting, double each_s) const {
  if (draining_) return kDrainingRetryS;
  const double places = std::max(1.0, std::ceil(static_cast<double>(waiting) / 8));
  return std::clamp(places * each_s / static_cast<double>(std::max<size_t>(1, workers_)), 1.0,
                    kMaxRetryS);
}

double Broker::MeanSeconds() const { return mean_s_ > 0 ? mean_s_ : options_.limits.expected_s; }

double Broker::ExpectedSeconds(const std::string& owner) const {
  const auto found = seconds_.find(owner);
  return found == seconds_.end() ? MeanSeconds() : found->second;
}

Result<std::shared_ptr<void>> Broker::AddWatcher(const std::string& id, Watcher watcher) {
  auto handle = std::make_shared<Watcher>(std::move(watcher));
  for (;;) {
    {
      const std::lock_guard guard(mutex_);
      if (const auto found = records_.find(id); found != records_.end()) {
        std::erase_if(found->second.watchers, [](const auto& other) { return other.expired(); });
        found->second.watchers.emplace_back(handle);
        if (handle->until == Until::kDoneOrKept) Tell(handle, &found->second);
        return std::shared_ptr<void>(handle);
      }
    }
    ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<const Job> job, Peek(id));
    // Accepted between the two looks.
    if (job->state != JobState::kDone) continue;
    notifier_->Post([weak = std::weak_ptr(handle), job] {
      if (const std::shared_ptr<Watcher> alive = weak.lock()) alive->call(*job);
    });
    return std::shared_ptr<void>(handle);
  }
}

Result<std::shared_ptr<void>> Broker::WhenDone(const std::string& id,
                                               std::function<void(const Job&)> done) {
  return AddWatcher(id, {std::move(done), Until::kDone});
}

Result<std::shared_ptr<void>> Broker::WhenDoneOrKept(const std::string& id,
                                                     std::function<void(const Job&)> done) {
  return AddWatcher(id, {std::move(done), Until::kDoneOrKept});
}

Result<std::shared_ptr<void>> Broker::Watch(const std::string& id,
                                            std::function<void(const Job&)> changed) {
  return AddWatcher(id, {std::move(changed), Until::kNever});
}

/// The job as it is now; stages change often and are asked for rarely.
std::shared_ptr<const Job> Broker::Current(Record* record) {
  if (record->job->stage != record->stage) {
    auto job = std::make_shared<Job>(*record->job);
    job->stage = record->stage;
    record->job = std::move(job);
  }
  return record->job;
}

void Broker::Notify(Record* record) {
  for (const std::weak_ptr<Watcher>& weak : record->watchers)
    if (const std::shared_ptr<Watcher> watcher = weak.lock()) Tell(watcher, record);
}

/// Whether what has become of the job is what this one waits for.
void Broker::Tell(const std::shared_ptr<Watcher>& watcher, Record* record) {
  const bool done = record->job->state == JobState::kDone;
  const bool kept = draining_ && record->phase == Phase::kQueued;
  if (watcher->until != Until::kNever) {
    if (watcher->over || (!done && !(kept && watcher->until == Until::kDoneOrKept))) return;
    watcher->over = true;
  }
  notifier_->Post([weak = std::weak_ptr(watcher), job = Current(record)] {
    if (const std::shared_ptr<Watcher> alive = weak.lock()) alive->call(*job);
  });
}

std::shared_ptr<void> Broker::WhenQueued(std::function<void()> look) {
  auto listener = std::make_shared<Listener>();
  listener->look = std::move(look);
  const std::lock_guard guard(mutex_);
  listener_ = listener;
  return listener;
}

void Broker::TellListener() {
  const std::shared_ptr<Listener> listener = listener_.lock();
  if (listener == nullptr || listener->told.exchange(true)) return;
  notifier_->Post([weak = listener_] {
    const std::shared_ptr<Listener> alive = weak.lock();
    if (alive == nullptr) return;
    alive->told.store(false);
    alive->look();
  });
}

void Broker::StartDraining() {
  if (std::exchange(draining_, true)) return;
  for (auto& [id, record] : records_)
    if (record.phase == Phase::kQueued) Notify(&record);
  TellListener();
}

void Broker::Drain() {
  {
    const std::lock_guard guard(mutex_);
    StartDraining();
  }
  queue_changed_.notify_all();
}

void Broker::Interrupt() {
  {
    const std::lock_guard guard(mutex_);
    StartDraining();
    interrupted_ = true;
    for (auto& [id, record] : records_)
      if (record.delivered) record.cancelled->store(true);
  }
  queue_changed_.notify_all();
}

bool Broker::draining() const {
  const std::lock_guard guard(mutex_);
  return draining_;
}

bool Broker::WaitIdle(TimePoint deadline) {
  std::unique_lock<std::mutex> guard(mutex_);
  return idle_.wait_until(guard, deadline, [&] { return running_ == 0; });
}

}  // namespace assay
