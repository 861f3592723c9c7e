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
constexpr size_t kMaxKey = 255;
constexpr size_t kMaxOptions = 16u << 10;

bool IsIdentifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && text.size() <= 100 && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

/// Ids stand in paths, logs and seeds: no spaces, slashes or control characters.
bool IsId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxId && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == ':';
         });
}

bool IsPrintable(std::string_view text, size_t max_bytes) {
  return text.size() <= max_bytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c != 0x7f; });
}

}  // namespace

/// A submission on its way into the store.
struct Broker::Admission {
  StoredJob stored;
  bool id_given = false;
  bool reserved = false;           ///< holds a place in the queue
  bool existing = false;           ///< it is a job that was there before
  Status refusal;                  ///< why it is neither
  std::string reason;              ///< of the refusal, for the metrics
  std::shared_ptr<const Job> job;  ///< the accepted one, or the existing one as stored
  Admitted admitted;
};

Status Broker::Validate(JobRequest* request) const {
  if (request->id.empty()) request->id = NewId("sub-");
  if (!IsId(request->id))
    return Err(ErrorCode::kInvalid,
               "the id is not usable: 1 to {} letters, digits and any of -_.:", kMaxId);
  if (!IsPrintable(request->owner, kMaxKey))
    return Err(ErrorCode::kInvalid, "the owner's name is not usable");
  if (!IsPrintable(request->idempotency, kMaxKey))
    return Err(ErrorCode::kInvalid,
               "the idempotency key is not usable: at most {} printable ASCII characters", kMaxKey);
  if (Trim(request->source).empty())
    return Err(ErrorCode::kInvalid,
               "the submission is empty; send a Python module that defines ModelNew");
  if (request->source.size() > options_.limits.max_source_bytes)
    return Err(ErrorCode::kInvalid, "the submission has {} bytes; {} is the most",
               request->source.size(), options_.limits.max_source_bytes);
  if (request->task_id.empty() && request->task_source.empty())
    return Err(ErrorCode::kInvalid, "name a task, or send a reference module as the task's source");
  if (!IsIdentifier(request->entry) || !IsIdentifier(request->submission_entry))
    return Err(ErrorCode::kInvalid, "the entry points must be names of Python classes");
  if (json::serialize(request->options).size() > kMaxOptions)
    return Err(ErrorCode::kInvalid, "the options are larger than {} bytes", kMaxOptions);
  if (!std::isfinite(request->timeout_s) || request->timeout_s < 0 ||
      request->timeout_s > options_.limits.max_timeout_s)
    return Err(ErrorCode::kInvalid, "the time limit must be between 0 (none) and {:g} seconds",
               options_.limits.max_timeout_s);
  return options_.check ? options_.check(*request) : Status();
}

Status Broker::RoomFor(const JobRequest& request) const {
  if (draining_) return Err(ErrorCode::kUnavailable, "the service is shutting down");
  const BrokerLimits& limits = options_.limits;
  if (queue_.size() + reserved_total_ >= limits.max_queued)
    return Err(ErrorCode::kUnavailable, "the queue is full ({} jobs)", limits.max_queued);
  size_t own_limit = limits.max_queued_per_owner;
  if (const size_t quota = options_.quota ? options_.quota(request.owner) : 0; quota > 0)
    own_limit = std::min(own_limit, quota);
  const auto reserved = reserved_.find(request.owner);
  if (queue_.size(request.owner) + (reserved == reserved_.end() ? 0 : reserved->second) >=
      own_limit)
    return Err(ErrorCode::kUnavailable, "you have {} jobs in the queue, which is the most",
               own_limit);
  if (queued_bytes_ + SourceBytes(request) > limits.max_queued_bytes)
    return Err(ErrorCode::kUnavailable, "the queue is full ({} bytes of sources)",
               limits.max_queued_bytes);
  return {};
}

Status Broker::TryInsert(Admission* admission, Store* store) {
  StoredJob& stored = admission->stored;
  const JobRequest& request = stored.job.request;
  // It may be the second run, after a neighbour's error undid the first.
  admission->existing = false;
  admission->refusal = {};
  admission->job.reset();
  const auto take = [&](std::optional<StoredJob> found, std::string_view what) {
    if (found->fingerprint == stored.fingerprint && found->job.request.owner == request.owner) {
      admission->existing = true;
      admission->job = std::make_shared<const Job>(std::move(found->job));
    } else {
      admission->reason = "conflict";
      admission->refusal =
          Err(ErrorCode::kInvalid, "this {} was used before, for another submission", what);
    }
    return Status();
  };
  if (!request.idempotency.empty()) {
    ASSAY_ASSIGN_OR_RETURN(std::optional<StoredJob> found,
                           store->FindIdempotent(request.owner, request.idempotency));
    if (found) return take(std::move(found), "idempotency key");
  }
  if (admission->id_given) {
    ASSAY_ASSIGN_OR_RETURN(std::optional<StoredJob> found, store->Find(request.id));
    if (found) return take(std::move(found), "id");
  }
  if (!admission->reserved) {
    const std::lock_guard guard(mutex_);
    if (Status room = RoomFor(request); !room.ok()) {
      admission->reason = draining_ ? "draining" : "full";
      admission->refusal = std::move(room);
      return {};
    }
    admission->reserved = true;
    ++reserved_[request.owner];
    ++reserved_total_;
    queued_bytes_ += SourceBytes(request);
  }
  stored.job.sequence = next_sequence_++;
  stored.job.submitted_at = options_.unix_now();
  return store->Insert(stored);
}

/// From now on the job survives the process: a worker may have it.
void Broker::QueueAdmitted(Admission* admission, const Status& committed) {
  if (!admission->reserved) return;
  const JobRequest& request = admission->stored.job.request;
  const std::lock_guard guard(mutex_);
  if (const auto place = reserved_.find(request.owner); --place->second == 0)
    reserved_.erase(place);
  --reserved_total_;
  queued_bytes_ -= SourceBytes(request);
  if (!committed.ok() || !admission->refusal.ok() || admission->existing) return;
  admission->job = AddRecord(std::move(admission->stored));
  WakeWorker();
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
    Result<std::shared_ptr<const Job>> now = Peek(admission->job->request.id);
    admission->admitted(now.ok() ? *now : admission->job);
    return;
  }
  instruments_->accepted.Add();
  admission->admitted(admission->job);
}

void Broker::Admit(JobRequest request, Admitted admitted) {
  const bool id_given = !request.id.empty();
  if (Status valid = Validate(&request); !valid.ok()) {
    instruments_->Refused(valid.error().code == ErrorCode::kNotFound ? "unknown_task" : "invalid");
    admitted(valid.error());
    return;
  }
  // A refusal for want of room costs no transaction, unless it may be about a job that is there.
  if (!id_given && request.idempotency.empty()) {
    std::unique_lock guard(mutex_);
    if (Status room = RoomFor(request); !room.ok()) {
      const bool draining = draining_;
      guard.unlock();
      instruments_->Refused(draining ? "draining" : "full");
      admitted(room.error());
      return;
    }
  }
  auto admission = std::make_shared<Admission>();
  admission->id_given = id_given;
  admission->stored.fingerprint = Fingerprint(request);
  admission->stored.job.request = std::move(request);
  admission->admitted = std::move(admitted);
  writer_->Post(
      [this, admission](Store* store) { return TryInsert(admission.get(), store); },
      [this, admission](const Status& status) { AnswerAdmission(admission.get(), status); },
      [this, admission](const Status& status) { QueueAdmitted(admission.get(), status); });
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

void Broker::SubmitThen(JobRequest request, std::function<void(Result<Job>)> done) {
  Admit(std::move(request), [this, done = std::move(done)](Result<std::shared_ptr<const Job>> job) {
    notifier_->Post([done, job = std::move(job)] {
      done(job.ok() ? Result<Job>(**job) : Result<Job>(job.error()));
    });
  });
}

}  // namespace assay
