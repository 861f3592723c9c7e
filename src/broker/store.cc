#include "broker/store.h"

#include "broker/memory_store.h"
#include "broker/sqlite_store.h"

namespace assay {
namespace {

/// Raw samples and output are large and rarely wanted: they are kept apart.
constexpr std::string_view kRawMembers[] = {"raw", "stdout", "stderr"};

}  // namespace

bool SameQuestion(const JobRequest& one, const JobRequest& other) {
  return one.task_id == other.task_id && one.task_source == other.task_source &&
         one.entry == other.entry && one.submission_entry == other.submission_entry &&
         one.source == other.source && one.options == other.options &&
         one.timeout_s == other.timeout_s;
}

Result<std::unique_ptr<Store>> Store::Open(const std::string& path, Mode mode) {
  if (path != ":memory:") {
    ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, SqliteStore::Open(path, mode));
    return store;
  }
  if (mode == Mode::kRead)
    return Err(ErrorCode::kNotFound,
               "a store in memory ends with its server; name the file of another one");
  return std::unique_ptr<Store>(std::make_unique<MemoryStore>());
}

Store::VerdictText Store::Prepare(const json::object& verdict) {
  VerdictText text{.status = GetString(verdict, "status"), .verdict = {}, .raw = {}};
  json::object raw;
  for (const std::string_view key : kRawMembers)
    if (const json::value* value = verdict.if_contains(key)) raw[key] = *value;
  if (raw.empty()) {
    text.verdict = json::serialize(verdict);
    return text;
  }
  json::object kept;
  for (const auto& [key, value] : verdict)
    if (!raw.contains(key)) kept[key] = value;
  text.verdict = json::serialize(kept);
  text.raw = json::serialize(raw);
  return text;
}

void Store::CutToLimit(const JobQuery& query, JobPage* page) {
  if (page->jobs.size() <= query.limit) return;
  page->jobs.resize(query.limit);
  page->next = page->jobs.back().sequence;
}

json::object Store::Parsed(const std::string& text) {
  Result<json::object> object = ParseJsonObject(text, 256u << 20);
  return object.ok() ? *std::move(object) : json::object();
}

void Store::AddRaw(const std::string& raw, json::object* verdict) {
  for (auto& [key, value] : Parsed(raw)) (*verdict)[key] = std::move(value);
}

}  // namespace assay
