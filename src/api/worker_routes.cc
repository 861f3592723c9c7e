#include "api/handlers.h"
#include "api/lease_desk.h"
#include "api/submission.h"
#include "base/hash.h"
#include "base/strings.h"
#include "broker/request_task.h"

namespace assay::api {
namespace {

using http::Reply;
using http::Request;
using http::Response;

constexpr size_t kMaxName = 200;
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

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::string LeaseOf(const Request& request) { return std::string(request.Captured("lease")); }

/// The job with the text of its task, so that a worker needs no tasks of its own and can judge no
/// other text of the same name. Nothing of who sent it.
json::object DeliveryJson(const LeaseDesk::Lease& lease, const Task& task) {
  const JobRequest& request = lease.delivery.job->request;
  return {{"lease", lease.name},
          {"delivery", lease.delivery.number},
          {"id", request.id},
          {"source", request.source},
          {"submission_entry", request.submission_entry},
          {"options", request.options},
          {"timeout_s", request.timeout_s},
          {"task",
           {{"id", request.task_id},
            {"entry", task.entry},
            {"sha256", task.sha256},
            {"source", task.source}}}};
}

/// Whether a verdict is one of this job. A worker is trusted for what it says, but two of its jobs
/// shall not change places.
Status IsOf(const json::object& verdict, const JobRequest& request, const TaskRegistry& tasks) {
  const auto differs = [&](std::string_view member, std::string_view expected) {
    return Err(ErrorCode::kInvalid, "this verdict's {} is '{}'; the lease is of '{}'", member,
               CleanText(GetString(verdict, member)), expected);
  };
  if (GetString(verdict, "id") != request.id) return differs("id", request.id);
  const std::string source = Sha256Hex(request.source);
  if (GetString(verdict, "submission_sha256") != source)
    return differs("submission_sha256", source);
  const std::string judged = GetString(verdict, "task_sha256");
  const Result<std::shared_ptr<const Task>> task = TaskOf(tasks, request);
  if (!judged.empty() && task.ok() && judged != (*task)->sha256)
    return differs("task_sha256", (*task)->sha256);
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
  const double ttl = GetDouble(*body, "ttl_s", 60);
  const double wait = GetDouble(*body, "wait_s", 0);
  if (!IsName(worker.name) || !IsName(worker.instance))
    return reply(Refusal(
        request, Err(ErrorCode::kInvalid,
                     "'worker' and 'instance' must be 1 to {} printable characters", kMaxName)));
  if (!(ttl >= kMinTtlS && ttl <= kMaxTtlS && wait >= 0))
    return reply(Refusal(request, Err(ErrorCode::kInvalid,
                                      "'ttl_s' must be from {:g} to {:g}, 'wait_s' not negative",
                                      kMinTtlS, kMaxTtlS)));
  worker.ttl = Seconds(ttl);
  const http::ClientGone gone = request.gone;
  auto shared = std::make_shared<const Request>(std::move(request));
  api->desk->Ask(std::move(worker), Seconds(std::min(wait, api->limits.max_wait_s)), gone,
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

void RenewLease(const Api& api, Request request, Reply reply) {
  const Result<json::object> body = ParseJsonObject(request.body);
  if (!body.ok()) return reply(BadRequest(request, body.error()));
  const std::string stage = GetString(*body, "stage");
  if (!stage.empty() && !IsName(stage))
    return reply(Refusal(request, Err(ErrorCode::kInvalid, "'stage' is not usable")));
  const Result<bool> cancelled = api->desk->Renew(request.who.key_name, LeaseOf(request), stage);
  if (!cancelled.ok()) return reply(Refusal(request, cancelled.error()));
  reply(*cancelled ? Response::Json({{"cancelled", true}}) : Response::Text("", 204, ""));
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
