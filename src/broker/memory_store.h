#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "broker/store.h"

namespace assay {

/// A store that ends with its process: plain maps, no statements. Verdicts are text, as in a file:
/// parsed they would take several times the memory.
class MemoryStore final : public Store {
 public:
  [[nodiscard]] bool on_disk() const override { return false; }
  [[nodiscard]] Status Sync() const override { return {}; }
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
  /// A job. What never changes is shared with the broker's.
  struct Row {
    std::shared_ptr<const Job> accepted;
    JobState state = JobState::kQueued;
    bool cancel_requested = false;
    int deliveries = 0;
    int losses = 0;
    double started_at = 0;
    double finished_at = 0;
    std::string worker;
    std::shared_ptr<const VerdictText> verdict;
  };
  struct Document {
    std::string text;
    int64_t changed = 0;  ///< its place in the order of changes
    double changed_at = 0;
  };
  struct Kind {
    std::unordered_map<std::string, Document> documents;
    std::map<int64_t, std::string> by_change;  ///< ids
  };
  using Key = std::pair<std::string, std::string>;

  static bool Matches(const Row& row, const JobQuery& query);
  static StoredJob Read(const Row& row, bool whole);
  /// The row if it may still change, kept for Rollback().
  Row* Change(int64_t sequence);
  /// Puts a row or a document, or takes it away, and its indexes.
  void SetRow(int64_t sequence, std::optional<Row> row);
  void SetDocument(const Key& kind_and_id, std::optional<Document> document);
  void KeepRow(int64_t sequence);
  void KeepDocument(const Key& kind_and_id);

  std::map<int64_t, Row> rows_;  ///< by sequence
  /// Sequences by id; the texts are those of the rows' jobs.
  std::unordered_map<std::string_view, int64_t> ids_;
  std::map<Key, int64_t> idempotent_;  ///< by owner and key
  std::unordered_map<std::string, Kind> kinds_;
  int64_t last_change_ = 0;

  /// What the transaction has changed, as it was before; oldest first.
  bool in_transaction_ = false;
  std::vector<std::pair<int64_t, std::optional<Row>>> rows_before_;
  std::vector<std::pair<Key, std::optional<Document>>> documents_before_;
};

}  // namespace assay
