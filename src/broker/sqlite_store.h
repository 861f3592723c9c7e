#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "broker/sqlite.h"
#include "broker/store.h"

namespace assay {

/// The store that survives: tables of jobs, sources (content-addressed, each text once) and
/// documents in an SQLite file.
///
/// Version of the tables: PRAGMA user_version. A newer file is refused; older ones are migrated
/// when they are opened for writing, and not read before.
///
/// A commit survives the process, but not a loss of power; Sync() makes what was committed before
/// it survive that too.
class SqliteStore final : public Store {
 public:
  static constexpr int kVersion = 3;

  /// kWrite: an advisory lock beside the file says that there is one writer; makes the file.
  /// kInvalid: no store, a damaged one, or a newer one. kUnavailable: another process writes it.
  /// kNotFound: kRead and no file.
  static Result<std::unique_ptr<SqliteStore>> Open(const std::string& path, Mode mode);

  Database& db() { return *db_; }

  [[nodiscard]] bool on_disk() const override { return wal_.valid(); }
  [[nodiscard]] Status Sync() const override;
  Status Begin() override;
  Status Commit() override;
  void Rollback() override;

  using Store::Insert;
  using Store::SetDone;
  Result<bool> Insert(std::shared_ptr<const Job> job, const Ended* ended) override;
  Status SetRunning(const Job& job) override;
  Status SetQueued(const Job& job, int losses) override;
  Status SetCancelRequested(const std::string& id) override;
  Status SetDone(const Job& job, int delivery, std::shared_ptr<const VerdictText> verdict) override;
  Result<std::vector<std::string>> DeleteFinished(double before, size_t limit) override;

  Result<std::optional<StoredJob>> Find(const std::string& id) override;
  Result<std::optional<StoredJob>> FindIdempotent(const std::string& owner,
                                                  const std::string& key) override;
  Result<std::vector<StoredJob>> Unfinished() override;
  Result<int64_t> LastSequence() override;
  Result<JobPage> List(const JobQuery& query) override;
  Status ForEach(const JobQuery& query,
                 const std::function<bool(const StoredJob&)>& visit) override;

  Status PutDocument(const std::string& kind, const std::string& id, const std::string& document,
                     double now) override;
  Result<json::object> GetDocument(const std::string& kind, const std::string& id) override;
  Status DeleteDocument(const std::string& kind, const std::string& id) override;
  Result<std::vector<std::string>> ListDocuments(const std::string& kind, size_t limit) override;
  Result<size_t> DeleteOldDocuments(const std::string& kind, double before, size_t limit) override;

 private:
  SqliteStore(std::unique_ptr<Database> db, UniqueFd lock)
      : db_(std::move(db)), lock_(std::move(lock)) {}
  Status OpenForWriting();
  Status CheckVersion(bool may_write);
  Status Migrate(int64_t version);
  static StoredJob ReadJob(const Query& query);
  static StoredJob ReadWholeJob(const Query& query);
  struct Source {
    int64_t id = 0;
    bool fresh = false;
  };
  Result<int64_t> Horizon(const JobQuery& wanted);
  Result<Source> PutSource(const std::string& text);

  std::unique_ptr<Database> db_;
  UniqueFd lock_;
  UniqueFd wal_;  ///< the log of what was committed; kWrite on a disk only
};

}  // namespace assay
