#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "broker/jobs.h"

namespace assay {

/// A job as it is stored: what clients see, and what the broker needs to go on with it.
struct StoredJob {
  Job job;
  bool cancel_requested = false;  ///< while it ran; it must not run again
  int losses = 0;                 ///< deliveries that ended without a result
};

/// Whether two requests are the same question: everything that decides the verdict is equal. Their
/// ids, owners, idempotency keys and priorities may differ.
bool SameQuestion(const JobRequest& one, const JobRequest& other);

/// What a server keeps: jobs and documents. The statements only; threads, batches and states are
/// the broker's. Used by one thread at a time (see mutex()).
class Store {
 public:
  enum class Mode {
    kWrite,  ///< the only writer; makes the store
    kRead,   ///< beside a writer, or alone
  };
  /// A SqliteStore (see there for errors), or a MemoryStore for ":memory:", which has no readers.
  static Result<std::unique_ptr<Store>> Open(const std::string& path, Mode mode);

  Store() = default;
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// To be held where there are several threads.
  std::mutex& mutex() { return mutex_; }

  /// False: nothing survives the process, and nothing waits for a disk.
  [[nodiscard]] virtual bool on_disk() const = 0;
  /// Waits for the disk: what was committed survives a loss of power. Beside any other call, on any
  /// thread.
  [[nodiscard]] virtual Status Sync() const = 0;

  // A transaction: all of it or nothing. Without one each change stands alone.
  virtual Status Begin() = 0;
  virtual Status Commit() = 0;
  /// Undoes what there is to undo, also after a Commit() that failed.
  virtual void Rollback() = 0;

  // --- jobs, writing -----------------------------------------------------------------------------

  /// A verdict as it is stored. Made before the transaction, which others wait for.
  struct VerdictText {
    std::string status;
    std::string verdict;
    std::string raw;  ///< what is large and rarely wanted; empty: nothing
  };
  static VerdictText Prepare(const json::object& verdict);
  /// A job that is done, with its verdict as it is stored.
  struct Ended {
    std::shared_ptr<const Job> job;
    std::shared_ptr<const VerdictText> verdict;
  };
  /// A new job: queued, running as it says, or done as `ended` says. False, and nothing changed,
  /// when its id or its owner's idempotency key is used.
  virtual Result<bool> Insert(std::shared_ptr<const Job> job, const Ended* ended) = 0;
  Result<bool> Insert(std::shared_ptr<const Job> job) { return Insert(std::move(job), nullptr); }

  // Jobs are found by their sequence. What is done changes no more.

  /// running, one delivery more; job.deliveries is the new count.
  virtual Status SetRunning(const Job& job) = 0;
  /// queued again after delivery `job.deliveries` was lost (or was given back: same losses).
  virtual Status SetQueued(const Job& job, int losses) = 0;
  virtual Status SetCancelRequested(const std::string& id) = 0;
  /// done with a verdict, if it is not done and there is no delivery after `delivery`; else
  /// kClosed.
  virtual Status SetDone(const Job& job, int delivery,
                         std::shared_ptr<const VerdictText> verdict) = 0;
  Status SetDone(const Job& job, int delivery) {
    return SetDone(job, delivery, std::make_shared<const VerdictText>(Prepare(job.verdict)));
  }

  /// Deletes those of the `limit` oldest finished jobs that ended before `before` (Unix time), with
  /// the sources that nobody else has. Gives their ids.
  virtual Result<std::vector<std::string>> DeleteFinished(double before, size_t limit) = 0;

  // --- jobs, reading -----------------------------------------------------------------------------
  virtual Result<std::optional<StoredJob>> Find(const std::string& id) = 0;
  virtual Result<std::optional<StoredJob>> FindIdempotent(const std::string& owner,
                                                          const std::string& key) = 0;
  /// Everything that is not done, in order of acceptance.
  virtual Result<std::vector<StoredJob>> Unfinished() = 0;
  virtual Result<int64_t> LastSequence() = 0;
  /// Newest first; without sources and raw samples.
  virtual Result<JobPage> List(const JobQuery& query) = 0;
  /// Calls `visit` with every job that matches (the query's limits do not count), oldest first,
  /// whole; stops when it returns false.
  virtual Status ForEach(const JobQuery& query,
                         const std::function<bool(const StoredJob&)>& visit) = 0;

  // --- documents ---------------------------------------------------------------------------------
  /// `now` is the Unix time of the change.
  virtual Status PutDocument(const std::string& kind, const std::string& id,
                             const std::string& document, double now) = 0;
  virtual Result<json::object> GetDocument(const std::string& kind, const std::string& id) = 0;
  virtual Status DeleteDocument(const std::string& kind, const std::string& id) = 0;
  virtual Result<std::vector<std::string>> ListDocuments(const std::string& kind, size_t limit) = 0;
  /// Deletes those of the `limit` documents of a kind that have not changed for longest that were
  /// not changed since `before`; how many.
  virtual Result<size_t> DeleteOldDocuments(const std::string& kind, double before,
                                            size_t limit) = 0;

 protected:
  /// A page that has one job too many has another one behind it.
  static void CutToLimit(const JobQuery& query, JobPage* page);
  /// Of what Prepare() wrote.
  static json::object Parsed(const std::string& text);
  /// Adds the raw members to a verdict that was read without them.
  static void AddRaw(const std::string& raw, json::object* verdict);

 private:
  std::mutex mutex_;
};

}  // namespace assay
