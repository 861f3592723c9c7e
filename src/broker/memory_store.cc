#include "broker/memory_store.h"

#include <utility>

namespace assay {

Status MemoryStore::Begin() {
  in_transaction_ = true;
  return {};
}

Status MemoryStore::Commit() {
  in_transaction_ = false;
  rows_before_.clear();
  documents_before_.clear();
  return {};
}

void MemoryStore::Rollback() {
  in_transaction_ = false;
  for (; !rows_before_.empty(); rows_before_.pop_back()) {
    auto& [sequence, before] = rows_before_.back();
    SetRow(sequence, std::move(before));
  }
  for (; !documents_before_.empty(); documents_before_.pop_back()) {
    auto& [key, before] = documents_before_.back();
    SetDocument(key, std::move(before));
  }
}

void MemoryStore::KeepRow(int64_t sequence) {
  if (!in_transaction_) return;
  const auto found = rows_.find(sequence);
  rows_before_.emplace_back(sequence,
                            found == rows_.end() ? std::nullopt : std::optional(found->second));
}

void MemoryStore::SetRow(int64_t sequence, std::optional<Row> row) {
  const auto found = rows_.find(sequence);
  if (found != rows_.end()) {
    const JobRequest& request = found->second.accepted->request;
    ids_.erase(request.id);
    if (!request.idempotency.empty()) idempotent_.erase({request.owner, request.idempotency});
    rows_.erase(found);
  }
  if (!row) return;
  // New ones come last.
  const auto place = rows_.emplace_hint(rows_.end(), sequence, *std::move(row));
  const JobRequest& request = place->second.accepted->request;
  ids_.emplace(request.id, sequence);
  if (!request.idempotency.empty())
    idempotent_.emplace(Key(request.owner, request.idempotency), sequence);
}

Result<bool> MemoryStore::Insert(std::shared_ptr<const Job> job, const Ended* ended) {
  const JobRequest& request = job->request;
  const int64_t sequence = job->sequence;
  if (ids_.contains(request.id) || rows_.contains(sequence) ||
      (!request.idempotency.empty() && idempotent_.contains({request.owner, request.idempotency})))
    return false;
  const Job& now = ended == nullptr ? *job : *ended->job;
  Row row{.accepted = nullptr,
          .state = ended == nullptr ? now.state : JobState::kDone,
          .deliveries = now.deliveries,
          .started_at = now.started_at,
          .finished_at = now.finished_at,
          .worker = now.worker,
          .verdict = ended == nullptr ? nullptr : ended->verdict};
  row.accepted = std::move(job);
  KeepRow(sequence);
  SetRow(sequence, std::move(row));
  return true;
}

MemoryStore::Row* MemoryStore::Change(int64_t sequence) {
  const auto found = rows_.find(sequence);
  if (found == rows_.end() || found->second.state == JobState::kDone) return nullptr;
  KeepRow(sequence);
  return &found->second;
}

Status MemoryStore::SetRunning(const Job& job) {
  if (Row* row = Change(job.sequence); row != nullptr) {
    row->state = JobState::kRunning;
    row->deliveries = job.deliveries;
    row->started_at = job.started_at;
    row->worker = job.worker;
  }
  return {};
}

Status MemoryStore::SetQueued(const Job& job, int losses) {
  if (Row* row = Change(job.sequence); row != nullptr) {
    row->state = JobState::kQueued;
    row->deliveries = job.deliveries;
    row->losses = losses;
  }
  return {};
}

Status MemoryStore::SetCancelRequested(const std::string& id) {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return {};
  if (Row* row = Change(found->second); row != nullptr) row->cancel_requested = true;
  return {};
}

Status MemoryStore::SetDone(const Job& job, int delivery,
                            std::shared_ptr<const VerdictText> verdict) {
  const auto found = rows_.find(job.sequence);
  Row* const row =
      found == rows_.end() || found->second.deliveries > delivery ? nullptr : Change(job.sequence);
  if (row == nullptr)
    return Err(ErrorCode::kClosed, "{}: delivery {} is not the last one any more", job.request->id,
               delivery);
  row->state = JobState::kDone;
  row->deliveries = delivery;
  row->started_at = job.started_at;
  row->finished_at = job.finished_at;
  row->worker = job.worker;
  row->verdict = std::move(verdict);
  return {};
}

Result<std::vector<std::string>> MemoryStore::DeleteFinished(double before, size_t limit) {
  std::vector<std::string> ids;
  std::vector<int64_t> old;
  size_t looked_at = 0;
  for (const auto& [sequence, row] : rows_) {
    if (looked_at == limit) break;
    if (row.state != JobState::kDone) continue;
    ++looked_at;
    if (row.finished_at >= before) continue;
    ids.push_back(row.accepted->request->id);
    old.push_back(sequence);
  }
  for (const int64_t sequence : old) {
    KeepRow(sequence);
    SetRow(sequence, std::nullopt);
  }
  return ids;
}

bool MemoryStore::Matches(const Row& row, const JobQuery& query) {
  const Job& job = *row.accepted;
  return (query.owner.empty() || job.request->owner == query.owner) &&
         (!query.state || row.state == *query.state) &&
         (query.task_id.empty() || job.request->task_id == query.task_id) &&
         (query.status.empty() || (row.verdict != nullptr && row.verdict->status == query.status));
}

StoredJob MemoryStore::Read(const Row& row, bool whole) {
  StoredJob stored;
  stored.cancel_requested = row.cancel_requested;
  stored.losses = row.losses;
  Job& job = stored.job;
  const JobRequest& request = row.accepted->request;
  if (whole) {
    job.request = row.accepted->request;
  } else {
    job.request = JobRequest{.id = request.id,
                             .owner = request.owner,
                             .idempotency = request.idempotency,
                             .task_id = request.task_id,
                             .task_source = {},
                             .entry = request.entry,
                             .submission_entry = request.submission_entry,
                             .source = {},
                             .options = request.options,
                             .priority = request.priority,
                             .timeout_s = request.timeout_s};
  }
  job.state = row.state;
  job.sequence = row.accepted->sequence;
  job.deliveries = row.deliveries;
  job.submitted_at = row.accepted->submitted_at;
  job.started_at = row.started_at;
  job.finished_at = row.finished_at;
  job.worker = row.worker;
  if (row.verdict == nullptr) return stored;
  job.verdict = Parsed(row.verdict->verdict);
  if (whole && !row.verdict->raw.empty()) AddRaw(row.verdict->raw, &job.verdict);
  return stored;
}

Result<std::optional<StoredJob>> MemoryStore::Find(const std::string& id) {
  const auto found = ids_.find(id);
  if (found == ids_.end()) return std::optional<StoredJob>();
  return std::optional(Read(rows_.at(found->second), /*whole=*/true));
}

Result<std::optional<StoredJob>> MemoryStore::FindIdempotent(const std::string& owner,
                                                             const std::string& key) {
  const auto found = idempotent_.find({owner, key});
  if (found == idempotent_.end()) return std::optional<StoredJob>();
  return std::optional(Read(rows_.at(found->second), /*whole=*/true));
}

Result<std::vector<StoredJob>> MemoryStore::Unfinished() {
  std::vector<StoredJob> jobs;
  for (const auto& [sequence, row] : rows_)
    if (row.state != JobState::kDone) jobs.push_back(Read(row, /*whole=*/true));
  return jobs;
}

Result<int64_t> MemoryStore::LastSequence() {
  return rows_.empty() ? int64_t{0} : rows_.rbegin()->first;
}

Result<JobPage> MemoryStore::List(const JobQuery& query) {
  JobPage page;
  size_t visited = 0;
  auto row = rows_.lower_bound(query.before);
  for (; row != rows_.begin() && visited < query.visit && page.jobs.size() <= query.limit;
       ++visited) {
    --row;
    if (Matches(row->second, query)) page.jobs.push_back(Read(row->second, /*whole=*/false).job);
  }
  if (row != rows_.begin()) page.next = row->first;
  CutToLimit(query, &page);
  return page;
}

Status MemoryStore::ForEach(const JobQuery& query,
                            const std::function<bool(const StoredJob&)>& visit) {
  for (const auto& [sequence, row] : rows_) {
    if (sequence >= query.before) break;
    if (Matches(row, query) && !visit(Read(row, /*whole=*/true))) break;
  }
  return {};
}

void MemoryStore::KeepDocument(const Key& kind_and_id) {
  if (!in_transaction_) return;
  std::optional<Document> before;
  if (const auto kind = kinds_.find(kind_and_id.first); kind != kinds_.end())
    if (const auto found = kind->second.documents.find(kind_and_id.second);
        found != kind->second.documents.end())
      before = found->second;
  documents_before_.emplace_back(kind_and_id, std::move(before));
}

void MemoryStore::SetDocument(const Key& kind_and_id, std::optional<Document> document) {
  Kind& kind = kinds_[kind_and_id.first];
  const auto found = kind.documents.find(kind_and_id.second);
  if (found != kind.documents.end()) kind.by_change.erase(found->second.changed);
  if (!document) {
    if (found != kind.documents.end()) kind.documents.erase(found);
    return;
  }
  kind.by_change.emplace(document->changed, kind_and_id.second);
  if (found != kind.documents.end())
    found->second = *std::move(document);
  else
    kind.documents.emplace(kind_and_id.second, *std::move(document));
}

Status MemoryStore::PutDocument(const std::string& kind, const std::string& id,
                                const std::string& document, double now) {
  const Key key(kind, id);
  KeepDocument(key);
  SetDocument(key, Document{.text = document, .changed = ++last_change_, .changed_at = now});
  return {};
}

Result<json::object> MemoryStore::GetDocument(const std::string& kind, const std::string& id) {
  if (const auto of_kind = kinds_.find(kind); of_kind != kinds_.end())
    if (const auto found = of_kind->second.documents.find(id);
        found != of_kind->second.documents.end())
      return Parsed(found->second.text);
  return Err(ErrorCode::kNotFound, "there is no {} '{}'", kind, id);
}

Status MemoryStore::DeleteDocument(const std::string& kind, const std::string& id) {
  const auto of_kind = kinds_.find(kind);
  if (of_kind == kinds_.end() || !of_kind->second.documents.contains(id))
    return Err(ErrorCode::kNotFound, "there is no {} '{}'", kind, id);
  const Key key(kind, id);
  KeepDocument(key);
  SetDocument(key, std::nullopt);
  return {};
}

Result<std::vector<std::string>> MemoryStore::ListDocuments(const std::string& kind, size_t limit) {
  std::vector<std::string> ids;
  const auto of_kind = kinds_.find(kind);
  if (of_kind == kinds_.end()) return ids;
  const auto& by_change = of_kind->second.by_change;
  for (auto next = by_change.rbegin(); next != by_change.rend() && ids.size() < limit; ++next)
    ids.push_back(next->second);
  return ids;
}

Result<size_t> MemoryStore::DeleteOldDocuments(const std::string& kind, double before,
                                               size_t limit) {
  const auto of_kind = kinds_.find(kind);
  if (of_kind == kinds_.end()) return size_t{0};
  std::vector<std::string> old;
  size_t looked_at = 0;
  for (const auto& [changed, id] : of_kind->second.by_change) {
    if (looked_at++ == limit) break;
    if (of_kind->second.documents.at(id).changed_at < before) old.push_back(id);
  }
  for (const std::string& id : old) ASSAY_RETURN_IF_ERROR(DeleteDocument(kind, id));
  return old.size();
}

}  // namespace assay
