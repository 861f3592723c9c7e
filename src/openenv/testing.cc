#include "openenv/testing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"

namespace assay::openenv::testing {

std::shared_ptr<void> FakeTimers::After(Seconds delay, std::function<void()> action) {
  auto handle = std::make_shared<int>();
  entries_.push_back({now_ + delay.count(), handle, std::move(action)});
  return handle;
}

void FakeTimers::Advance(Seconds time) {
  const double until = now_ + time.count();
  for (;;) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.handle.expired(); });
    const auto next =
        std::min_element(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.due < b.due; });
    if (next == entries_.end() || next->due > until) break;
    now_ = std::max(now_, next->due);
    const std::function<void()> action = std::move(next->action);
    entries_.erase(next);
    action();
  }
  now_ = until;
}

size_t FakeTimers::pending() const {
  return static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [](const Entry& entry) { return !entry.handle.expired(); }));
}

Result<Job> FakeJobs::Submit(JobRequest request) {
  if (!refusals.empty()) {
    Error error = refusals.front();
    refusals.pop_front();
    return error;
  }
  if (submitting) submitting();
  if (request.id.empty()) request.id = NewId("job_");
  Job job;
  job.request = request;
  job.state = JobState::kRunning;
  job.submitted_at = 100;
  job.started_at = 101;
  jobs_[request.id] = job;
  order_.push_back(request.id);
  if (verdict) Finish(request.id, *verdict);
  return jobs_[request.id];
}

Result<Job> FakeJobs::Get(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return Err(ErrorCode::kNotFound, "no job {}", id);
  return found->second;
}

std::vector<Job> FakeJobs::List(const JobQuery&) { return jobs(); }

std::vector<Job> FakeJobs::jobs() const {
  std::vector<Job> all;
  for (const std::string& id : order_) all.push_back(jobs_.at(id));
  return all;
}

Status FakeJobs::Cancel(const std::string& id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return Err(ErrorCode::kNotFound, "no job {}", id);
  cancelled.push_back(id);
  if (found->second.state != JobState::kDone) Finish(id, FailedVerdict("cancelled", "cancelled"));
  return {};
}

Result<std::shared_ptr<void>> FakeJobs::WhenDone(const std::string& id,
                                                 std::function<void(const Job&)> done) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return Err(ErrorCode::kNotFound, "no job {}", id);
  auto handle = std::make_shared<int>();
  if (found->second.state == JobState::kDone)
    done(found->second);
  else
    waiters_[id].push_back({handle, std::move(done)});
  return std::shared_ptr<void>(handle);
}

Result<std::shared_ptr<void>> FakeJobs::Watch(const std::string&, std::function<void(const Job&)>) {
  return std::shared_ptr<void>();
}

void FakeJobs::Finish(const std::string& id, json::object with) {
  Job& job = jobs_.at(id);
  job.state = JobState::kDone;
  job.finished_at = 103;
  job.verdict = std::move(with);
  const Job done = job;
  const std::vector<Waiter> waiters = std::move(waiters_[id]);
  waiters_.erase(id);
  for (const Waiter& waiter : waiters)
    if (!waiter.handle.expired()) waiter.done(done);
}

void FakeJobs::FinishNext(json::object with) {
  for (const std::string& id : order_)
    if (jobs_.at(id).state != JobState::kDone) return Finish(id, std::move(with));
  FAIL() << "no job is open";
}

Status FakeDocuments::Put(const std::string& kind, const std::string& id,
                          const json::object& document) {
  const std::lock_guard lock(mutex_);
  documents[kind + "/" + id] = document;
  return {};
}

Result<json::object> FakeDocuments::Get(const std::string& kind, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = documents.find(kind + "/" + id);
  if (found == documents.end()) return Err(ErrorCode::kNotFound, "no document {}", id);
  return found->second;
}

Status FakeDocuments::Delete(const std::string& kind, const std::string& id) {
  const std::lock_guard lock(mutex_);
  documents.erase(kind + "/" + id);
  return {};
}

std::vector<std::string> FakeDocuments::List(const std::string&, size_t) { return {}; }

json::object FakePeer::Last() const {
  if (sent.empty()) {
    ADD_FAILURE() << "nothing was sent";
    return {};
  }
  Result<json::object> message = ParseJsonObject(sent.back());
  EXPECT_TRUE(message.ok()) << sent.back();
  return message.ok() ? *message : json::object{};
}

json::object CorrectVerdict(double speedup, double fraction) {
  json::object verdict{
      {"schema", "assay.verdict/1"},
      {"id", "sub_0"},
      {"status", "correct"},
      {"fault", "none"},
      {"stage", "verdict"},
      {"compiled", true},
      {"correct", true},
      {"correctness", {{"trials", 5}, {"passed", 5}, {"max_abs_err", 1e-6}}},
      {"timing",
       {{"candidate_us",
         {{"median", 50.0}, {"p20", 49.0}, {"p80", 51.0}, {"min", 48.0}, {"n", 20}}},
        {"reference_us",
         {{"median", 50.0 * speedup}, {"p20", 1.0}, {"p80", 1.0}, {"min", 1.0}, {"n", 20}}},
        {"speedup", {{"value", speedup}, {"low", speedup}, {"high", speedup}}},
        {"method", "rounds/device-events"},
        {"meaningful", true},
        {"note", nullptr}}},
      {"flags", json::array{}},
      {"lint", json::array{}},
      {"error", nullptr},
      {"feedback", "Correct: faster than the reference."}};
  if (fraction > 0)
    verdict["roofline"] = {
        {"bound_us", 50.0 * fraction}, {"calibrated_us", nullptr}, {"fraction", fraction},
        {"limiter", "memory"},         {"precision", ""},          {"source", "datasheet"}};
  return verdict;
}

json::object FailedVerdict(std::string_view status, std::string_view kind) {
  const bool none = status == "cancelled";
  return {{"schema", "assay.verdict/1"},
          {"id", "sub_0"},
          {"status", status},
          {"fault", none                         ? "none"
                    : status == "infra_error"    ? "infrastructure"
                    : status == "rejected_cheat" ? "integrity"
                                                 : "candidate"},
          {"stage", "check"},
          {"compiled", status == "incorrect"},
          {"correct", false},
          {"correctness", {{"trials", 5}, {"passed", 2}, {"max_abs_err", 0.5}}},
          {"timing", {{"candidate_us", nullptr}, {"reference_us", nullptr}, {"speedup", nullptr}}},
          {"flags", json::array{}},
          {"lint", json::array{}},
          {"error",
           {{"kind", kind},
            {"stage", "check"},
            {"name", "values"},
            {"message", "0.123 is wrong"},
            {"line", 7}}},
          {"feedback", "Incorrect: 2 of 5 trials passed, the largest error is 0.5."}};
}

World::World(Settings given) : settings(std::move(given)) {
  auto registry = std::make_shared<TaskRegistry>();
  for (const auto& [id, level] : {std::pair("assay/relu", 0), std::pair("kb/l1/019", 1)}) {
    Task task;
    task.id = id;
    task.name = std::string(id).substr(std::string(id).rfind('/') + 1);
    task.level = level;
    task.source = std::string("# ") + id +
                  "\nclass Model:\n    pass\n\ndef get_inputs():\n    return []\n\n"
                  "def get_init_inputs():\n    return []\n";
    Result<Task> made = MakeTask(std::move(task));
    EXPECT_TRUE(made.ok());
    EXPECT_TRUE(registry->Add(*std::move(made)).ok());
  }
  tasks = registry;
}

OpenEnvContext World::Context() const {
  return {.settings = settings,
          .tasks = tasks,
          .jobs = &jobs,
          .documents = &documents,
          .timers = &timers,
          .metrics = &metrics,
          .hardware = [] {
            return json::object{{"gpu", "a card"}, {"torch", "2.11"}};
          }};
}

namespace {

bool HasType(const json::value& value, std::string_view type) {
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_bool()
         : type == "null"    ? value.is_null()
         : type == "integer" ? value.is_int64() || value.is_uint64()
                             : value.is_number();
}

/// The part of JSON Schema that the served schemas use.
std::string Check(const json::object& root, const json::object& schema, const json::value& value,
                  const std::string& path) {
  if (const std::string ref = GetString(schema, "$ref"); !ref.empty())
    return Check(root, GetObject(GetObject(root, "$defs"), ref.substr(ref.rfind('/') + 1)), value,
                 path);
  if (schema.contains("type") && !HasType(value, GetString(schema, "type")))
    return path + ": is not of type " + GetString(schema, "type");
  if (const json::array& choices = GetArray(schema, "enum"); !choices.empty())
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
      return path + ": not listed: " + json::serialize(value);
  if (const json::array& any = GetArray(schema, "anyOf"); !any.empty())
    if (std::none_of(any.begin(), any.end(), [&](const json::value& option) {
          return Check(root, option.as_object(), value, path).empty();
        }))
      return path + ": fits none of its types";
  if (!value.is_object()) return "";
  const json::object& properties = GetObject(schema, "properties");
  for (const json::value& key : GetArray(schema, "required"))
    if (!value.get_object().contains(key.as_string()))
      return path + ": lacks " + std::string(key.as_string());
  for (const auto& [key, member] : value.get_object()) {
    const std::string at = path + "." + std::string(key);
    const json::value* property = properties.if_contains(key);
    if (property == nullptr) {
      const json::value* additional = schema.if_contains("additionalProperties");
      if (additional != nullptr && *additional == json::value(false)) return at + ": unknown";
      continue;
    }
    if (std::string wrong = Check(root, property->as_object(), member, at); !wrong.empty())
      return wrong;
  }
  return "";
}

}  // namespace

std::string Violation(const json::object& schema, const json::value& value) {
  return Check(schema, schema, value, "$");
}

}  // namespace assay::openenv::testing
