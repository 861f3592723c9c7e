#include "api/api.h"

#include "api/handlers.h"
#include "api/operations.h"
#include "http/limits.h"

namespace assay {
namespace {

/// Of a verdict with its raw samples; whatever is sent is parsed on a thread that serves others.
constexpr size_t kVerdictBytes = 1u << 20;
/// What a worker says of itself and of a lease.
constexpr size_t kWorkerBytes = 64u << 10;
/// Of all its leases, thousands.
constexpr size_t kRenewalBytes = 1u << 20;

using api::Body;
using api::Operation;
using api::Parameter;
using http::Scope;

using Handle = void (*)(const api::Api&, http::Request, http::Reply);

Parameter Query(std::string name, std::string_view type, std::string description) {
  return {std::move(name), "query", {{"type", type}}, std::move(description)};
}

Parameter PathId() { return {"id", "path", {{"type", "string"}}, "Id of the submission."}; }

Parameter Wait(const ApiContext& context) {
  return {"wait",
          "query",
          {{"type", "number"}, {"minimum", 0}},
          fmt::format("Seconds to wait for the verdict, {:g} at most.", context.limits.max_wait_s)};
}

Parameter Raw() {
  return Query("raw", "boolean", "With the verdict's raw samples, standard output and error.");
}

Body Json(std::string schema, std::string description) {
  return {std::move(schema), "application/json", std::move(description)};
}

std::vector<Operation> Submissions(const ApiContext& context,
                                   const std::function<http::Handler(Handle)>& bound) {
  return {
      {"POST",
       "/v1/submissions",
       Scope::kSubmit,
       "createSubmission",
       "Judge a submission.",
       {Wait(context),
        Raw(),
        {"Idempotency-Key",
         "header",
         {{"type", "string"}},
         "The same key again is the same job, also after a lost answer."}},
       Json("SubmissionRequest", ""),
       {{200, Json("Submission", "Judged.")},
        {202, Json("Submission", "Accepted; ask again at Location.")}},
       bound(api::CreateSubmission),
       http::kSourceBody},
      {"GET",
       "/v1/submissions",
       Scope::kRead,
       "listSubmissions",
       "Submissions, newest first.",
       {Query("state", "string", "queued, running or done."),
        Query("status", "string", "The verdict's."), Query("task_id", "string", "Of this task."),
        Query("owner", "string", "Of this key; for admins, others see their own."),
        Query("limit", "integer", fmt::format("At most {}.", context.limits.max_page)),
        Query("cursor", "string", "`next` of the page before.")},
       std::nullopt,
       {{200, Json("SubmissionPage", "A page.")}},
       bound(api::ListSubmissions)},
      {"GET",
       "/v1/submissions/{id}",
       Scope::kRead,
       "getSubmission",
       "One submission, with its verdict once it is done.",
       {PathId(), Wait(context), Raw()},
       std::nullopt,
       {{200, Json("Submission", "As it is now.")}},
       bound(api::GetSubmission)},
      {"DELETE",
       "/v1/submissions/{id}",
       Scope::kSubmit,
       "cancelSubmission",
       "Cancel; a running candidate is killed. Done ones stay as they are.",
       {PathId()},
       std::nullopt,
       {{200, Json("Submission", "It is done.")},
        {202, Json("Submission", "It runs, and ends soon.")}},
       bound(api::CancelSubmission)},
      {"GET",
       "/v1/submissions/{id}/events",
       Scope::kRead,
       "streamEvents",
       "Server-sent events: `stage` for each change, `done` with the verdict.",
       {PathId(), Raw()},
       std::nullopt,
       {{200, {"Event", "text/event-stream", "Until the submission is done."}}},
       bound(api::StreamEvents)},
      {"GET",
       "/v1/submissions/{id}/source",
       Scope::kRead,
       "getSource",
       "What was submitted.",
       {PathId()},
       std::nullopt,
       {{200, {"", "text/x-python", "The module."}}},
       bound(api::GetSource)},
      {"GET",
       "/v1/submissions/{id}/reward",
       Scope::kRead,
       "getReward",
       "What its verdict is worth; other query parameters are the mode's.",
       {PathId(), Query("mode", "string", "Default: the first of /v1/rewards.")},
       std::nullopt,
       {{200, Json("Reward", "Its worth.")}},
       bound(api::GetReward)},
      {"POST",
       "/v1/batches",
       Scope::kSubmit,
       "createBatch",
       "Judge many submissions, one a line; verdicts come as they are ready, in any order.",
       {Raw()},
       Body{"SubmissionRequest", "application/x-ndjson", ""},
       {{200, {"BatchLine", "application/x-ndjson", "One line for each line."}}},
       bound(api::CreateBatch)},
  };
}

std::vector<Operation> Episodes(const ApiContext& context,
                                const std::function<http::Handler(Handle)>& bound) {
  return {
      {"GET",
       "/v1/episodes",
       Scope::kRead,
       "listEpisodes",
       "Kernel Env's episodes, the one that changed last first.",
       {Query("task_id", "string", "Of this task."),
        Query("limit", "integer", fmt::format("At most {}.", context.limits.max_page)),
        Query("cursor", "string", "`next` of the page before.")},
       std::nullopt,
       {{200, Json("EpisodePage", "A page.")}},
       bound(api::ListEpisodes)},
      {"GET",
       "/v1/episodes/{id}",
       Scope::kRead,
       "getEpisode",
       "One episode, with its submissions and the last and the best observation.",
       {{"id", "path", {{"type", "string"}}, "Its token, or the id of a recent one."}},
       std::nullopt,
       {{200, Json("Episode", "As it was written last.")}},
       bound(api::GetEpisode)},
      {"GET",
       "/v1/traces/{id}",
       Scope::kRead,
       "getTrace",
       "A submission as a row of a data set, as `assay export` writes it.",
       {PathId(), Raw()},
       std::nullopt,
       {{200, Json("Trace", "The row.")}},
       bound(api::GetTrace)},
  };
}

std::vector<Operation> Lookups(const std::function<http::Handler(Handle)>& bound) {
  return {
      {"GET",
       "/v1/tasks",
       Scope::kRead,
       "listTasks",
       "The tasks that can be solved.",
       {Query("family", "string", "Of this family."), Query("level", "integer", "Of this level."),
        Query("limit", "integer", "At most 1000."),
        Query("cursor", "string", "`next` of the page before.")},
       std::nullopt,
       {{200, Json("TaskPage", "A page.")}},
       bound(api::ListTasks)},
      {"GET",
       "/v1/tasks/{id...}",
       Scope::kRead,
       "getTask",
       "One task, with its source.",
       {{"id", "path", {{"type", "string"}}, "Id or alias; may contain slashes."}},
       std::nullopt,
       {{200, Json("Task", "The task.")}},
       bound(api::GetTask)},
      {"GET",
       "/v1/queue",
       Scope::kRead,
       "getQueue",
       "How much waits and runs.",
       {},
       std::nullopt,
       {{200, Json("Queue", "The queue.")}},
       bound(api::GetQueue)},
      {"GET",
       "/v1/workers",
       Scope::kRead,
       "listWorkers",
       "What judges.",
       {},
       std::nullopt,
       {{200, Json("Workers", "The workers.")}},
       bound(api::ListWorkers)},
      {"GET",
       "/v1/rewards",
       Scope::kRead,
       "listRewards",
       "The reward modes.",
       {},
       std::nullopt,
       {{200, Json("RewardModes", "The first is the default.")}},
       bound(api::ListRewards)},
      {"POST",
       "/v1/rewards",
       Scope::kRead,
       "computeReward",
       "What a verdict is worth under a mode.",
       {},
       Json("RewardRequest", ""),
       {{200, Json("Reward", "Its worth.")}},
       bound(api::ComputeRewardOf),
       kVerdictBytes},
  };
}

Parameter PathLease() { return {"lease", "path", {{"type", "string"}}, "Name of the lease."}; }

std::vector<Operation> Leases(const std::function<http::Handler(Handle)>& bound) {
  return {
      {"POST",
       "/v1/leases",
       Scope::kWorker,
       "leaseJob",
       "The next job to judge; a long poll. For workers in processes of their own.",
       {},
       Json("LeaseRequest", ""),
       {{200, Json("Lease", "A job; it comes to another worker unless the lease is renewed.")},
        {204, {"", "text/plain", "None came in time."}}},
       bound(api::LeaseJob),
       kWorkerBytes},
      {"POST",
       "/v1/leases/renew",
       Scope::kWorker,
       "renewLeases",
       "Renew all leases that a worker holds, and say what is done now.",
       {},
       Json("LeaseRenewal", ""),
       {{200, Json("LeaseNews", "They are renewed, but for those that are over.")},
        {204, {"", "text/plain", "All are renewed."}}},
       bound(api::RenewLeases),
       kRenewalBytes},
      {"POST",
       "/v1/leases/{lease}/complete",
       Scope::kWorker,
       "completeLease",
       "The job's verdict with its samples. 410: the lease is over, nothing is stored.",
       {PathLease()},
       Json("Verdict", ""),
       {{200, Json("LeaseEnd", "It is on the disk; the same again gives the same.")}},
       bound(api::CompleteLease),
       http::kSourceBody},
      {"POST",
       "/v1/leases/{lease}/return",
       Scope::kWorker,
       "returnLease",
       "Give the job back; it is queued again.",
       {PathLease()},
       Json("LeaseReturn", ""),
       {{200, Json("LeaseEnd", "It is queued.")}},
       bound(api::ReturnLease),
       kWorkerBytes},
  };
}

}  // namespace

void AddApi(http::Router* router, ApiContext context) {
  const auto shared = std::make_shared<const ApiContext>(std::move(context));
  const std::function<http::Handler(Handle)> bound = [&shared](Handle handle) {
    return [shared, handle](http::Request request, http::Reply reply) {
      handle(shared, std::move(request), std::move(reply));
    };
  };
  std::vector<Operation> operations = Submissions(*shared, bound);
  for (Operation& operation : Episodes(*shared, bound)) operations.push_back(std::move(operation));
  for (Operation& operation : Lookups(bound)) operations.push_back(std::move(operation));
  if (shared->desk != nullptr)
    for (Operation& operation : Leases(bound)) operations.push_back(std::move(operation));
  // The document lists itself; its handler is the one thing it cannot be made from.
  operations.push_back({"GET",
                        "/v1/openapi.json",
                        Scope::kNone,
                        "getOpenApi",
                        "This document.",
                        {},
                        std::nullopt,
                        {{200, Json("OpenApi", "OpenAPI 3.1.")}},
                        {}});
  const auto document = std::make_shared<const std::string>(
      json::serialize(api::OpenApi(operations, api::Schemas(), shared->version)));
  operations.back().handler = [document](const http::Request&, const http::Reply& reply) {
    reply(http::Response::Text(*document, 200, "application/json"));
  };
  // Of unknown paths, missing keys and bodies too large too, whatever else shares the port.
  router->SetRefusal("/v1/",
                     [](const http::Request& request, int status, std::string_view message) {
                       return http::Response::Problem(request, status, message);
                     });
  for (Operation& operation : operations)
    router->Add(operation.method, operation.path, operation.scope, std::move(operation.handler),
                operation.body_bytes);
}

}  // namespace assay
