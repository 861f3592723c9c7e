#include "api/submission.h"

#include <cmath>

namespace assay::api {
namespace {

constexpr int kMaxPriority = 100;
constexpr size_t kMaxName = 128;
/// What ids begin with that the service makes.
constexpr std::string_view kMade = "sub";

Error Wrong(std::string_view name, std::string_view must) {
  return Err(ErrorCode::kInvalid, "'{}' must be {}", name, must);
}

struct TextMember {
  const char* name;
  std::string JobRequest::*member;
  const char* description;
};

// One place for parser and schema.
constexpr TextMember kTexts[] = {
    {"source", &JobRequest::source, "The Python module that defines the submission's class."},
    {"task_id", &JobRequest::task_id, "A task of /v1/tasks."},
    {"task_source", &JobRequest::task_source,
     "In place of a known task: a reference module in KernelBench's format."},
    {"entry", &JobRequest::entry, "Class of the reference in task_source; default Model."},
    {"submission_entry", &JobRequest::submission_entry,
     "Class of the submission; default ModelNew."},
    {"id", &JobRequest::id, "A name for the submission; the same one again is the same job."},
    {"idempotency_key", &JobRequest::idempotency,
     "As the header Idempotency-Key, for lines of a batch."},
};

}  // namespace

Result<JobRequest> ParseSubmission(const json::object& body) {
  JobRequest request;
  for (const auto& [key, value] : body) {
    const TextMember* text = nullptr;
    for (const TextMember& candidate : kTexts)
      if (key == candidate.name) text = &candidate;
    if (text != nullptr) {
      if (!value.is_string()) return Wrong(text->name, "a string");
      request.*(text->member) = value.get_string();
    } else if (key == "options") {
      if (!value.is_object()) return Wrong("options", "an object");
      // Here, since a batch keeps its lines: parsed, these may take ten times the memory.
      if (json::serialize(value).size() > kMaxOptionsBytes)
        return Wrong("options", fmt::format("at most {} bytes", kMaxOptionsBytes));
      request.options = value.get_object();
    } else if (key == "priority") {
      if (!value.is_int64() || value.get_int64() < -kMaxPriority ||
          value.get_int64() > kMaxPriority)
        return Wrong("priority", fmt::format("a whole number from -{0} to {0}", kMaxPriority));
      request.priority = static_cast<int>(value.get_int64());
    } else if (key == "timeout_s") {
      if (!value.is_number()) return Wrong("timeout_s", "a number of seconds");
      request.timeout_s = value.to_number<double>();
    } else {
      return Err(ErrorCode::kInvalid, "there is no member '{}' in a submission; see {}",
                 std::string_view(key).substr(0, 100), "/v1/openapi.json, SubmissionRequest");
    }
  }
  // The rest of what an id may be is the service's to say.
  if (request.id.size() > kMaxName || request.id.find('@') != std::string::npos)
    return Wrong("id", fmt::format("1 to {} letters, digits and any of -_.:", kMaxName));
  if (!body.contains("source")) return Err(ErrorCode::kInvalid, "'source' is missing");
  if (!request.task_source.empty() && !request.task_id.empty())
    return Err(ErrorCode::kInvalid, "give 'task_id' or 'task_source', not both");
  return request;
}

void SetOwner(const http::Request& request, JobRequest* job) {
  job->owner = request.who.key_name;
  job->request_id = request.id;
  if (!job->id.empty()) job->id = JobIdOf(job->owner, job->id);
}

json::object SubmissionRequestSchema() {
  json::object properties;
  for (const TextMember& text : kTexts)
    properties[text.name] = {{"type", "string"}, {"description", text.description}};
  properties["options"] = {{"$ref", "#/components/schemas/Options"}};
  properties["priority"] = {{"type", "integer"},
                            {"minimum", -kMaxPriority},
                            {"maximum", kMaxPriority},
                            {"description", "Higher first, among the sender's own."}};
  properties["timeout_s"] = {{"type", "number"},
                             {"minimum", 0},
                             {"description", "Of the judging, from its start; 0: none."}};
  return {{"type", "object"},
          {"additionalProperties", false},
          {"properties", std::move(properties)},
          {"required", {"source"}}};
}

std::string_view StateName(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "queued";
    case JobState::kRunning:
      return "running";
    case JobState::kDone:
      return "done";
  }
  return "queued";
}

std::optional<JobState> ParseState(std::string_view name) {
  for (const JobState state : {JobState::kQueued, JobState::kRunning, JobState::kDone})
    if (StateName(state) == name) return state;
  return std::nullopt;
}

json::object BriefVerdict(const json::object& verdict) {
  json::object brief;
  for (const auto& [key, value] : verdict)
    if (key != "raw" && key != "stdout" && key != "stderr") brief[key] = value;
  return brief;
}

std::string JobIdOf(std::string_view owner, std::string_view name) {
  if (owner.empty() || owner == http::kLocal) return std::string(name);
  return fmt::format("{}@{}", name, owner);
}

std::string VisibleId(const Job& job, std::string_view viewer) {
  const std::string& id = job.request->id;
  return job.request->owner == viewer ? id.substr(0, id.find('@')) : id;
}

json::object SubmissionJson(const Job& job, std::string_view viewer, bool raw) {
  const bool done = job.state == JobState::kDone;
  const auto time = [](double at) { return at > 0 ? json::value(at) : json::value(nullptr); };
  json::object out;
  out["id"] = VisibleId(job, viewer);
  out["state"] = StateName(job.state);
  out["stage"] = job.stage;
  out["status"] = done ? json::value(GetString(job.verdict, "status")) : json::value(nullptr);
  out["owner"] = job.request->owner;
  out["task_id"] = job.request->task_id;
  out["priority"] = job.request->priority;
  out["timeout_s"] = job.request->timeout_s;
  out["options"] = job.request->options;
  out["deliveries"] = job.deliveries;
  out["worker"] = job.worker;
  out["submitted_at"] = job.submitted_at;
  out["started_at"] = time(job.started_at);
  out["finished_at"] = time(job.finished_at);
  out["verdict"] = nullptr;
  if (done) out["verdict"] = raw ? job.verdict : BriefVerdict(job.verdict);
  return out;
}

http::Response ErrorResponse(const http::Request& request, const Error& error, JobService* jobs) {
  switch (error.code) {
    case ErrorCode::kInvalid:
      return http::Response::Problem(request, 422, "invalid", error.message);
    case ErrorCode::kNotFound:
      return http::Response::Problem(request, 404, "not_found", error.message);
    default: {
      // A full queue is the sender's to wait for; a service that stops or cannot store is not.
      const bool full = error.code == ErrorCode::kUnavailable && !jobs->draining();
      http::Response response = http::Response::Problem(
          request, full ? 429 : 503, full ? "busy" : "unavailable", error.message);
      response.headers.Set(
          "Retry-After",
          fmt::format("{:.0f}",
                      std::ceil(std::max(1.0, jobs->retry_after_of(request.who.key_name)))));
      return response;
    }
  }
}

bool MaySee(const http::Request& request, const Job& job) {
  return request.who.scope == http::Scope::kAdmin || job.request->owner == request.who.key_name;
}

std::shared_ptr<const Job> FindVisible(const http::Request& request, JobService* jobs,
                                       std::string_view id, http::Response* refusal) {
  // Most likely first: it is asked for often, and what is not in memory is looked for in the store.
  std::string first(id);
  std::string second = JobIdOf(request.who.key_name, id);
  if (!id.starts_with(kMade)) first.swap(second);
  Result<std::shared_ptr<const Job>> job = jobs->Peek(first);
  if (second != first && !(job.ok() && MaySee(request, **job))) job = jobs->Peek(second);
  if (job.ok() && MaySee(request, **job)) return *job;
  if (!job.ok() && job.error().code != ErrorCode::kNotFound)
    *refusal = ErrorResponse(request, job.error(), jobs);
  else
    *refusal = http::Response::Problem(request, 404, "not_found",
                                       fmt::format("there is no submission '{}'", id));
  return nullptr;
}

}  // namespace assay::api
