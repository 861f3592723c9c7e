#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "broker/jobs.h"
#include "broker/sqlite.h"

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

/// The tables: jobs, sources (content-addressed, each text once), documents. The statements only;
/// threads, transactions and states are the broker's. Used by one thread at a time (see
/// Database::mutex).
///
/// Version of the tables: PRAGMA user_version. A newer file is refused; older ones are migrated
/// when they are opened for writing, and not read before.
class Store {
 public:
  static constexpr int kVersion = 3;

  enum class Mode {
    kWrite,  ///< the only writer (an advisory lock beside the file says so); makes the file
    kRead,   ///< beside a writer, or alone
  };
  /// kInvalid: no store, a damaged one, or a newer one. kUnavailable: another process writes it.
  /// kNotFound: kRead and no file.
  ///
  /// A commit survives the process, but not a loss of power; Sync() makes what was committed before
  /// it survive that too.
  static Result<std::unique_ptr<Store>> Open(const std::string& path, Mode mode);

  Database& db() { return *db_; }

  /// False for ":memory:".
  [[nodiscard]] bool on_disk() const { return wal_.valid(); }
  /// Waits for the disk. Beside any other call, on any thread.
  [[nodiscard]] Status Sync() const;

  // --- jobs, writing; inside a transaction of the caller -----------------------------------------

  /// A verdict as it is stored. Made before the transaction, which others wait for.
  struct VerdictText {
    std::string status;
    std::string verdict;
    std::string raw;  ///< what is large and rarely wanted; empty: nothing
  };
  static VerdictText Prepare(const json::object& verdict);
  /// A new job: queued, or done with `verdict`. False, and nothing changed, when its id or its
  /// owner's idempotency key is used.
  Result<bool> Insert(const Job& job, const VerdictText* verdict = nullptr);

  // Jobs are found by their sequence. What is done changes no more.

  /// running, one delivery more; job.deliveries is the new count.
  Status SetRunning(const Job& job);
  /// queued again after delivery `job.deliveries` was lost (or was given back: same losses).
  Status SetQueued(const Job& job, int losses);
  Status SetCancelRequested(const std::string& id);
  /// done with a verdict, if it is not done and there is no delivery after `delivery`; else
  /// kClosed.
  Status SetDone(const Job& job, int delivery, const VerdictText& verdict);
  Status SetDone(const Job& job, int delivery) {
    return SetDone(job, delivery, Prepare(job.verdict));
  }

  /// Deletes those of the `limit` oldest finished jobs that ended before `before` (Unix time), with
  /// the sources that nobody else has. Gives their ids.
  Result<std::vector<std::string>> DeleteFinished(double before, size_t limit);

  // --- jobs, reading -----------------------------------------------------------------------------
  Result<std::optional<StoredJob>> Find(const std::string& id);
  Result<std::optional<StoredJob>> FindIdempotent(const std::string& owner, const std::string& key);
  /// Everything that is not done, in order of acceptance.
  Result<std::vector<StoredJob>> Unfinished();
  Result<int64_t> LastSequence();
  /// Newest first; without sources and raw samples.
  Result<std::vector<Job>> List(const JobQuery& query);
  /// Calls `visit` with every job that matches, oldest first, whole; stops when it returns false.
  Status ForEach(const JobQuery& query, const std::function<bool(const StoredJob&)>& visit);

  // --- documents ---------------------------------------------------------------------------------
  /// `now` is the Unix time of the change.
  Status PutDocument(const std::string& kind, const std::string& id, const std::string& document,
                     double now);
  Result<json::object> GetDocument(const std::string& kind, const std::string& id);
  Status DeleteDocument(const std::string& kind, const std::string& id);
  Result<std::vector<std::string>> ListDocuments(const std::string& kind, size_t limit);
  /// Deletes those of the `limit` documents of a kind that have not changed for longest that were
  /// not changed since `before`; how many.
  Result<size_t> DeleteOldDocuments(const std::string& kind, double before, size_t limit);

 private:
  Store(std::unique_ptr<Database> db, UniqueFd lock) : db_(std::move(db)), lock_(std::move(lock)) {}
  Status OpenForWriting();
  Status CheckVersion(bool may_write);
  Status Migrate(int64_t version);
  struct Source {
    int64_t id = 0;
    bool fresh = false;
  };
  Result<Source> PutSource(const std::string& text);

  std::unique_ptr<Database> db_;
  UniqueFd lock_;
  UniqueFd wal_;  ///< the log of what was committed; kWrite on a disk only
};

}  // namespace assay
