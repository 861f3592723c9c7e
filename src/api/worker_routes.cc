#include <algorithm>

#include "api/handlers.h"
#include "api/lease_desk.h"
#include "api/submission.h"
#include "base/hash.h"
#include "base/strings.h"
#include "broker/request_task.h"
#include "reward/facts.h"
#include "verdict/scrub.h"

namespace assay::api {
namespace {

using http::Reply;
using http::Request;
using http::Response;

constexpr size_t kMaxName = 200;  ///< of what a verdict names
constexpr size_t kMaxAsk = 64;
constexpr double kMinTtlS = 1;
constexpr double kMaxTtlS = 3600;
constexpr int kMaxJobs = 1024;

/// 410: drop the job. 422: what was sent is wrong. 503: the same again, later.
Response Refusal(const Request& request, const Error& error) {
  switch (error.code) {
    case ErrorCode::kClosed:
      return Response::Problem(request, 410, "lease_over", error.message);
    case ErrorCode::kInvalid:
      return Response::Problem(request, 422, "invalid", error.message);
    default: {
      Response response = Response::Problem(request, 503, "unavailable", error.message);
      response.headers.Set("Retry-After", "1");
      return response;
    }
  }
}

/// It becomes a part of the lease's name, and so of paths.
bool IsAsk(std::string_view text) {
  return text.size() <= kMaxAsk && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-';
         });
}

/// Verdicts of two protocols do not mix: a worker of another version is told before it judges.
Status SpeaksOurs(const json::object& body) {
  const std::string protocol = GetString(body, "protocol");
  if (protocol == kProtocolVersion) return {};
  return Err(ErrorCode::kInvalid,
             "this server takes verdicts of {}, the worker's 'protocol' is '{}': run both of one "
             "version",
             kProtocolVersion, TruncateMiddle(CleanText(protocol), kMaxName));
}

std::string LeaseOf(const Request& request) { return std::string(request.Captured("lease")); }

/// The job with the text of its task, so that a worker needs no tasks of its own and can judge no
/// other text of the same name. Nothing of who sent it but what the id says: a client's own id has
/// its key's name, and the hidden seeds come from it.
json::object DeliveryJson(const LeaseDesk::Lease& lease, const Task& task) {
  const JobRequest& request = lease.delivery.job->request;
  return {
      {"lease", lease.name},
      {"delivery", lease.delivery.number},
      {"id", request.id},
      {"source", request.source},
      {"submission_entry", request.submission_entry},
      {"options", request.options},
      {"timeout_s", request.timeout_s},
      {"task",
       {{"id", task.id}, {"entry", task.entry}, {"sha256", task.sha256}, {"source", task.source}}}};
}

/// Whether a document is a verdict that everybody can read, of this job and of this protocol. A
/// worker is trusted for what it says, but it may be of another version, and two of its jobs shall
/// not change places. Nothing but a verdict may end a job.
Status IsOf(const json::object& verdict, const JobRequest& request, const TaskRegistry& tasks) {
  ASSAY_ASSIGN_OR_RETURN(const reward::Facts facts, reward::ReadVerdict(verdict));
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const Task> task, TaskOf(tasks, request));
  const auto says = [&](std::string_view member, const std::string& expected) {
    const json::value* value = verdict.if_contains(member);
    if (value == nullptr || !value->is_string()) return false;
    // Names stand in verdicts in a form that is fit to show.
    return value->get_string() == expected || value->get_string() == ScrubLine(expected, kMaxName);
  };
  const bool judged =
      facts.status != VerdictStatus::kCancelled && facts.status != VerdictStatus::kInfraError;
  const std::pair<const char*, std::string> members[] = {
      {"id", request.id},
      {"submission_sha256", Sha256Hex(request.source)},
      {"task_id", task->id},
      {"task_sha256", !judged && says("task_sha256", "") ? "" : task->sha256},
      {"protocol", kProtocolVersion}};
  for (const auto& [member, expected] : members)
    if (!says(member, expected))
      return Err(ErrorCode::kInvalid, "this verdict's {} is '{}'; the lease is of '{}'", member,
                 TruncateMiddle(CleanText(GetString(verdict, member)), kMaxName), expected);
  return {};
}

}  // namespace

void LeaseJob(const Api& api, Request request, Reply reply) {
  const Result<json::object> body = ParseJsonObject(request.body);
  if (!body.ok()) return reply(BadRequest(request, body.error()));
  LeaseDesk::Worker worker;
  worker.key = request.who.key_name;
  worker.instance = GetString(*body, "instance");
  worker.name = GetString(*body, "worker");
  worker.jobs = static_cast<int>(std::clamp<int64_t>(GetInt(*body, "jobs", 1), 1, kMaxJobs));
  worker.details = GetObject(*body, "details");
  const std::string ask = GetString(*body, "ask");
  const double ttl = GetDouble(*body, "ttl_s", 60);
  const double wait = GetDouble(*body, "wait_s", 0);
  if (const Status ours = SpeaksOurs(*body); !ours.ok())
    return reply(Refusal(request, ours.error()));
  if (!IsWorkerName(worker.name) || !IsWorkerName(worker.instance) || !IsAsk(ask))
    return reply(Refusal(
        request, Err(ErrorCode::kInvalid,
                     "'worker' and 'instance' must be 1 to 200 printable characters, 'ask' at most "
                     "{} letters, digits and dashes",
                     kMaxAsk)));
  if (!(ttl >= kMinTtlS && ttl <= kMaxTtlS && wait >= 0))
    return reply(Refusal(request, Err(ErrorCode::kInvalid,
                                      "'ttl_s' must be from {:g} to {:g}, 'wait_s' not negative",
                                      kMinTtlS, kMaxTtlS)));
  worker.ttl = Seconds(ttl);
  const http::ClientGone gone = request.gone;
  auto shared = std::make_shared<const Request>(std::move(request));
  api->desk->Ask(std::move(worker), ask, Seconds(std::min(wait, api->limits.max_wait_s)), gone,
                 [api, shared, reply](const Result<std::optional<LeaseDesk::Lease>>& leased) {
                   if (!leased.ok()) return reply(Refusal(*shared, leased.error()));
                   if (!*leased) return reply(Response::Text("", 204, ""));
                   const JobRequest& job = (*leased)->delivery.job->request;
                   const Result<std::shared_ptr<const Task>> task = TaskOf(*api->tasks, job);
                   if (task.ok()) return reply(Response::Json(DeliveryJson(**leased, **task)));
                   // It was known when the job was accepted; a server that was started anew has
                   // other tasks.
                   api->desk->Complete(
                       shared->who.key_name, (*leased)->name,
                       UnjudgedVerdict(job, /*cancelled=*/false, "request", task.error().message),
                       [reply](const Status&) { reply(Response::Text("", 204, "")); });
                 });
}

void RenewLeases(const Api& api, Request request, Reply reply) {
  const Result<json::object> body = ParseJsonObject(request.body);
  if (!body.ok()) return reply(BadRequest(request, body.error()));
  if (const Status ours = SpeaksOurs(*body); !ours.ok())
    return reply(Refusal(request, ours.error()));
  const json::object& leases = GetObject(*body, "leases");
  for (const auto& [lease, stage] : leases)
    if (!stage.is_string() || (!stage.get_string().empty() && !IsWorkerName(stage.get_string())))
      return reply(Refusal(request, Err(ErrorCode::kInvalid, "a stage in 'leases' is not usable")));
  json::array cancelled;
  json::array over;
  for (const auto& [lease, stage] : leases) {
    const Result<bool> ends =
        api->desk->Renew(request.who.key_name, std::string(lease), stage.get_string());
    if (!ends.ok())
      over.emplace_back(lease);
    else if (*ends)
      cancelled.emplace_back(lease);
  }
  if (cancelled.empty() && over.empty()) return reply(Response::Text("", 204, ""));
  reply(Response::Json({{"cancelled", std::move(cancelled)}, {"over", std::move(over)}}));
}

void CompleteLease(const Api& api, Request request, Reply reply) {
  Result<json::object> verdict = ParseJsonObject(request.body);
  if (!verdict.ok()) return reply(BadRequest(request, verdict.error()));
  const std::string lease = LeaseOf(request);
  const std::string key = request.who.key_name;
  // One that is over may be stored already, which Complete() knows.
  if (const Result<std::shared_ptr<const Job>> job = api->desk->Find(key, lease); job.ok())
    if (const Status fits = IsOf(*verdict, (*job)->request, *api->tasks); !fits.ok())
      return reply(Refusal(request, fits.error()));
  auto shared = std::make_shared<const Request>(std::move(request));
  api->desk->Complete(key, lease, *std::move(verdict), [shared, reply](const Status& stored) {
    reply(stored.ok() ? Response::Json({{"stored", true}}) : Refusal(*shared, stored.error()));
  });
}

void ReturnLease(const Api& api, Request request, Reply reply) {
  const Result<json::object> body = ParseJsonObject(request.body);
  if (!body.ok()) return reply(BadRequest(request, body.error()));
  const std::string why =
      TruncateMiddle(CleanText(GetString(*body, "why", "the worker gave it back")), 1000);
  const std::string lease = LeaseOf(request);
  const std::string key = request.who.key_name;
  const bool lost = GetBool(*body, "lost");
  auto shared = std::make_shared<const Request>(std::move(request));
  api->desk->Return(key, lease, lost, why, [shared, reply](const Status& returned) {
    reply(returned.ok() ? Response::Json({{"returned", true}})
                        : Refusal(*shared, returned.error()));
  });
}

}  // namespace assay::api
