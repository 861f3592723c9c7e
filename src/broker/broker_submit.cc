#include <algorithm>
#include <cmath>
#include <future>

#include "base/hash.h"
#include "base/strings.h"
#include "broker/broker.h"
#include "broker/instruments.h"

namespace assay {
namespace {

constexpr size_t kMaxId = 128;
constexpr size_t kMaxOwnersPart = 64;  ///< of an id
constexpr size_t kMaxKey = 255;

bool IsIdentifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= 100 && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// Ids stand in paths, logs and seeds: no spaces, slashes or control characters. A protocol may set
/// the owner's name behind one, after an '@'.
bool IsId(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('@'));
  return !name.empty() && name.size() <= kMaxId &&
         text.size() <= name.size() + 1 + kMaxOwnersPart && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == ':' || c == '@';
         });
}

bool IsPrintable(std::string_view text, size_t max_bytes) {
  return text.size() <= max_bytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c != 0x7f; });
}

}  // namespace

/// A submission on its way into the store.
struct Broker::Admission {
  SharedRequest request;
  bool id_given = false;
  bool existing = false;            ///< it is a job that was there before
  Status refusal;                   ///< why it is neither that nor accepted
  std::string reason;               ///< of the refusal, for the metrics
  std::shared_ptr<const Job> job;   ///< the queued one, or the existing one as stored
  std::shared_ptr<Ending> written;  ///< the end that was stored together with the job
  Admitted admitted;
};

Status Broker::Validate(const JobRequest& request) const {
  if (!IsId(request.id))
    return Err(ErrorCode::kInvalid,
               "the id is not usable: 1 to {} letters, digits and any of -_.:", kMaxId);
  if (!IsPrintable(request.owner, kMaxKey))
    return Err(ErrorCode::kInvalid, "the owner's name is not usable");
  if (!IsPrintable(request.idempotency, kMaxKey))
    return Err(ErrorCode::kInvalid,
               "the idempotency key is not usable: at most {} printable ASCII characters", kMaxKey);
  if (Trim(request.source).empty())
    return Err(ErrorCode::kInvalid,
               "the submission is empty; send a Python module that defines ModelNew");
  if (request.source.size() > options_.limits.max_source_bytes)
    return Err(ErrorCode::kInvalid, "the submission has {} bytes; {} is the most",
               request.source.size(), options_.limits.max_source_bytes);
  if (request.task_id.empty() && request.task_source.empty())
    return Err(ErrorCode::kInvalid, "name a task, or send a reference module as the task's source");
  if (!IsIdentifier(request.entry) || !IsIdentifier(request.submission_entry))
    return Err(ErrorCode::kInvalid, "the entry points must be names of Python classes");
  if (json::serialize(request.options).size() > kMaxOptionsBytes)
    return Err(ErrorCode::kInvalid, "the options are larger than {} bytes", kMaxOptionsBytes);
  if (!std::isfinite(request.timeout_s) || request.timeout_s < 0 ||
      request.timeout_s > options_.limits.max_timeout_s)
    return Err(ErrorCode::kInvalid, "the time limit must be between 0 (none) and {:g} seconds",
               options_.limits.max_timeout_s);
  return options_.check ? options_.check(request) : Status();
}

/// The most that an owner may have in the queue.
size_t Broker::PlacesOf(const std::string& owner) const {
  const size_t limit = options_.limits.max_queued_per_owner;
  const size_t quota = options_.quota ? options_.quota(owner) : 0;
  return quota > 0 ? std::min(limit, quota) : limit;
}

/// `reason`: of a refusal, for the metrics.
Status Broker::RoomFor(const JobRequest& request, std::string* reason) const {
  *reason = "draining";
  if (draining_) return Err(ErrorCode::kUnavailable, "the service is shutting down");
  const BrokerLimits& limits = options_.limits;
  *reason = "full";
  if (queue_.size() >= limits.max_queued)
    return Err(ErrorCode::kUnavailable, "the queue is full ({} jobs)", limits.max_queued);
  *reason = "quota";
  const size_t own_limit = PlacesOf(request.owner);
  if (queue_.size(request.owner) >= own_limit)
    return Err(ErrorCode::kUnavailable, "you have {} jobs in the queue, which is the most",
               own_limit);
  const size_t bytes = SourceBytes(request);
  if (queue_.bytes(request.owner) + bytes > limits.max_queued_bytes_per_owner)
    return Err(ErrorCode::kUnavailable,
               "you have {} bytes of sources in the queue, and {} are the most",
               queue_.bytes(request.owner), limits.max_queued_bytes_per_owner);
  *reason = "full";
  if (queue_.bytes() + bytes > limits.max_queued_bytes)
    return Err(ErrorCode::kUnavailable, "the queue is full ({} bytes of sources)",
               limits.max_queued_bytes);
  return {};
}

/// A worker may have the job from now on. None is woken here but by the writer, which comes next
/// and takes many at once: of jobs that are quick a worker then finds several. The lock is held.
void Broker::Enqueue(Admission* admission) {
  StoredJob stored;
  stored.job.request = admission->request;
  stored.job.sequence = next_sequence_++;
  stored.job.submitted_at = options_.unix_now();
  admission->job = AddRecord(std::move(stored));
  Record& record = records_.at(admission->job->request->id);
  record.accepted = record.inserted = false;
  TellListener();
}

/// The job that was queued is not accepted: as if it had never been.
void Broker::Withdraw(Admission* admission) {
  const std::lock_guard guard(mutex_);
  const std::shared_ptr<const Job> job = std::exchange(admission->job, nullptr);
  if (FindRecord(*job) == nullptr) return;
  const auto found = records_.find(job->request->id);
  Record& record = found->second;
  if (record.phase == Phase::kQueued) {
    static_cast<void>(queue_.Remove(EntryOf(record)));
    queued_.erase(job->sequence);
  }
  record.cancelled->store(true);
  if (record.delivered && --running_ == 0) idle_.notify_all();
  records_.erase(found);
}

/// The request is that of a job that was there before, or must not be.
void Broker::TakeExisting(Admission* admission, StoredJob found, std::string_view what) {
  const JobRequest& request = admission->request;
  if (found.job.request->owner == request.owner && SameQuestion(found.job.request, request)) {
    admission->existing = true;
    admission->job = std::make_shared<const Job>(std::move(found.job));
  } else {
    admission->reason = "conflict";
    admission->refusal =
        Err(ErrorCode::kInvalid, "this {} was used before, for another submission", what);
  }
}

Status Broker::WriteAdmission(Admission* admission, Store* store) {
  // It may be the second run, after a neighbour's error undid the first.
  if (admission->existing) admission->job.reset();
  admission->existing = false;
  admission->refusal = {};
  if (admission->job == nullptr) {
    const JobRequest& request = admission->request;
    if (!request.idempotency.empty()) {
      ASSAY_ASSIGN_OR_RETURN(std::optional<StoredJob> found,
                             store->FindIdempotent(request.owner, request.idempotency));
      if (found) return TakeExisting(admission, *std::move(found), "idempotency key"), Status();
    }
    if (admission->id_given) {
      ASSAY_ASSIGN_OR_RETURN(std::optional<StoredJob> found, store->Find(request.id));
      if (found) return TakeExisting(admission, *std::move(found), "id"), Status();
    }
    const std::lock_guard guard(mutex_);
    if (Status room = RoomFor(request, &admission->reason); !room.ok()) {
      admission->refusal = std::move(room);
      return {};
    }
    Enqueue(admission);
  }
  // What has become of it meanwhile is written with it.
  std::shared_ptr<const Job> now = admission->job;
  std::shared_ptr<Ending> ending;
  bool wakes = false;
  {
    const std::lock_guard guard(mutex_);
    if (Record* record = FindRecord(*admission->job); record != nullptr) {
      now = record->job;
      ending = record->ending;
      record->inserted = true;
    }
    wakes = WakesWorker();
  }
  if (wakes) queue_changed_.notify_one();
  ASSAY_ASSIGN_OR_RETURN(const bool inserted,
                         store->Insert(std::move(now), ending == nullptr ? nullptr : &ending->end));
  if (inserted) {
    if (ending != nullptr) ending->written = true;
    admission->written = std::move(ending);
    return {};
  }
  // Nobody had it in memory, but it is an old one.
  const std::string id = admission->job->request->id;
  Withdraw(admission);
  ASSAY_ASSIGN_OR_RETURN(std::optional<StoredJob> found, store->Find(id));
  if (!found) return Err(ErrorCode::kInternal, "'{}' is neither new nor there", id);
  TakeExisting(admission, *std::move(found), "id");
  return {};
}

void Broker::AnswerAdmission(Admission* admission, const Status& durable) {
  if (!durable.ok() || !admission->refusal.ok()) {
    instruments_->Refused(durable.ok() ? admission->reason : "store");
    admission->admitted(durable.ok() ? admission->refusal.error() : durable.error());
    return;
  }
  if (admission->existing) {
    instruments_->repeated.Add();
    // What is known in memory is newer than what was read.
    Result<std::shared_ptr<const Job>> now = Peek(admission->job->request->id);
    admission->admitted(now.ok() ? *now : admission->job);
    return;
  }
  instruments_->accepted.Add();
  LogJob(*admission->job, "accepted owner={}", admission->job->request->owner);
  {
    const std::lock_guard guard(mutex_);
    if (Record* record = FindRecord(*admission->job); record != nullptr) record->accepted = true;
  }
  admission->admitted(admission->job);
}

void Broker::Admit(SharedRequest request, Admitted admitted) {
  auto admission = std::make_shared<Admission>();
  admission->id_given = !request->id.empty();
  if (!admission->id_given) request.Edit()->id = NewId("sub-");
  if (Status valid = Validate(request); !valid.ok()) {
    instruments_->Refused(valid.error().code == ErrorCode::kNotFound ? "unknown_task" : "invalid");
    admitted(valid.error());
    return;
  }
  admission->request = std::move(request);
  admission->admitted = std::move(admitted);
  std::unique_lock guard(mutex_);
  // What may be about a job that is there looks into the store first, on the writer's thread. All
  // else is queued at once, beside its writing; a refusal costs no transaction.
  const JobRequest& wanted = admission->request;
  if (wanted.idempotency.empty() && !records_.contains(wanted.id) &&
      done_.Find(wanted.id) == nullptr) {
    const Status room = RoomFor(wanted, &admission->reason);
    if (room.ok()) {
      Enqueue(admission.get());
    } else if (!admission->id_given) {
      guard.unlock();
      instruments_->Refused(admission->reason);
      admission->admitted(room.error());
      return;
    }
  }
  // Under the lock: it must be written before all that comes of it.
  const bool first = writer_->Queue(
      [this, admission](Store* store) { return WriteAdmission(admission.get(), store); },
      [this, admission](const Status& status) { AnswerAdmission(admission.get(), status); },
      [this, admission](const Status& status) {
        if (status.ok() || admission->job == nullptr || admission->existing) return;
        if (admission->written != nullptr) admission->written->written = false;
        Withdraw(admission.get());
      });
  guard.unlock();
  if (first) writer_->Wake();
}

Result<Job> Broker::Submit(JobRequest request) {
  // Shared: the waiting side may be gone before set_value() has returned.
  auto promise = std::make_shared<std::promise<Result<std::shared_ptr<const Job>>>>();
  std::future<Result<std::shared_ptr<const Job>>> future = promise->get_future();
  Admit(std::move(request),
        [promise](Result<std::shared_ptr<const Job>> job) { promise->set_value(std::move(job)); });
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const Job> job, future.get());
  return *job;
}

void Broker::SubmitThen(SharedRequest request, std::function<void(Result<SharedJob>)> done) {
  // Called once; what `done` holds must not be copied on the writer's thread.
  auto shared = std::make_shared<std::function<void(Result<SharedJob>)>>(std::move(done));
  Admit(std::move(request), [this, shared](Result<SharedJob> job) {
    notifier_->Post([shared, job = std::move(job)] { (*shared)(job); });
  });
}

}  // namespace assay
