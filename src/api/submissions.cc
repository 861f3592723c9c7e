#include <charconv>
#include <cmath>

#include "api/handlers.h"
#include "api/submission.h"
#include "api/waiting.h"

namespace assay::api {
namespace {

using http::Reply;
using http::Request;
using http::Response;

Result<Seconds> WaitOf(const Api& api, const Request& request) {
  // More than the bound is the bound: the answer comes in time either way.
  ASSAY_ASSIGN_OR_RETURN(const double wait, QueryNumber(request, "wait", 0, 0, 1e9));
  return Seconds(std::min(wait, api->limits.max_wait_s));
}

bool WantsRaw(const Request& request) { return request.Query("raw") == "true"; }

Response JobResponse(const Job& job, std::string_view viewer, bool raw) {
  Response response =
      Response::Json(SubmissionJson(job, viewer, raw), job.state == JobState::kDone ? 200 : 202);
  response.headers.Set("Location", "/v1/submissions/" + VisibleId(job, viewer));
  return response;
}

/// Answers with the job: at once, or when it is done, or after the wait.
void AnswerWith(const Api& api, const Request& request, const Job& job, Seconds wait, bool created,
                Reply reply) {
  const bool raw = WantsRaw(request);
  // A GET of what is there is 200 whatever its state.
  const auto answer = [reply, viewer = request.who.key_name, raw, created](const Job& now) {
    Response response = JobResponse(now, viewer, raw);
    if (!created) response.status = 200;
    reply(std::move(response));
  };
  if (job.state == JobState::kDone || wait.count() <= 0) return answer(job);
  const Status waiting = WhenDoneOrLater(api->jobs, api->timers, job.request->id, wait, answer);
  if (!waiting.ok()) reply(ErrorResponse(request, waiting.error(), api->jobs));
}

}  // namespace

Result<double> QueryNumber(const Request& request, std::string_view name, double fallback,
                           double low, double high) {
  const std::optional<std::string_view> text = request.Query(name);
  if (!text) return fallback;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() ||
      !(value >= low && value <= high))
    return Err(ErrorCode::kInvalid, "'{}' must be a number from {:g} to {:g}", name, low, high);
  return value;
}

Response BadRequest(const Request& request, const Error& error) {
  return Response::Problem(request, 400, "bad_request", error.message);
}

void CreateSubmission(const Api& api, Request request, Reply reply) {
  const Result<Seconds> wait = WaitOf(api, request);
  if (!wait.ok()) return reply(BadRequest(request, wait.error()));
  Result<json::object> body = ParseJsonObject(request.body);
  if (!body.ok()) return reply(BadRequest(request, body.error()));
  Result<JobRequest> job = ParseSubmission(*body);
  if (!job.ok()) return reply(ErrorResponse(request, job.error(), api->jobs));
  SetOwner(request, &*job);
  if (const auto key = request.headers.Find("Idempotency-Key")) (*job).idempotency = *key;
  auto shared = std::make_shared<const Request>(std::move(request));
  api->jobs->SubmitThen(*std::move(job),
                        [api, shared, wait = *wait, reply](const Result<SharedJob>& kept) {
                          if (!kept.ok())
                            return reply(ErrorResponse(*shared, kept.error(), api->jobs));
                          AnswerWith(api, *shared, **kept, wait, /*created=*/true, reply);
                        });
}

void GetSubmission(const Api& api, Request request, Reply reply) {
  const Result<Seconds> wait = WaitOf(api, request);
  if (!wait.ok()) return reply(BadRequest(request, wait.error()));
  Response refusal;
  const auto job = FindVisible(request, api->jobs, request.Captured("id"), &refusal);
  if (!job) return reply(std::move(refusal));
  AnswerWith(api, request, *job, *wait, /*created=*/false, std::move(reply));
}

void ListSubmissions(const Api& api, Request request, Reply reply) {
  JobQuery query;
  const bool admin = request.who.scope == http::Scope::kAdmin;
  query.owner = request.who.key_name;
  // An empty name would mean everybody.
  if (!admin && query.owner.empty())
    return reply(Response::Json({{"submissions", json::array()}, {"next", nullptr}}));
  if (admin) query.owner = request.Query("owner").value_or("");
  query.task_id = request.Query("task_id").value_or("");
  query.status = request.Query("status").value_or("");
  if (const auto state = request.Query("state")) {
    query.state = ParseState(*state);
    if (!query.state)
      return reply(
          BadRequest(request, Err(ErrorCode::kInvalid, "'state' must be queued, running or done")));
  }
  const Result<double> limit = QueryNumber(request, "limit", static_cast<double>(api->limits.page),
                                           1, static_cast<double>(api->limits.max_page));
  if (!limit.ok()) return reply(BadRequest(request, limit.error()));
  const Result<double> cursor = QueryNumber(request, "cursor", 9e15, 1, 9e15);
  if (!cursor.ok()) return reply(BadRequest(request, cursor.error()));
  query.before = static_cast<int64_t>(*cursor);
  query.limit = static_cast<size_t>(*limit);
  const JobPage page = api->jobs->Page(query);
  json::value next = nullptr;
  if (page.next != 0) next = std::to_string(page.next);
  json::array submissions;
  for (const Job& job : page.jobs)
    submissions.push_back(SubmissionJson(job, request.who.key_name, /*raw=*/false));
  reply(Response::Json({{"submissions", std::move(submissions)}, {"next", next}}));
}

void CancelSubmission(const Api& api, Request request, Reply reply) {
  Response refusal;
  const auto job = FindVisible(request, api->jobs, request.Captured("id"), &refusal);
  if (!job) return reply(std::move(refusal));
  auto shared = std::make_shared<const Request>(std::move(request));
  api->jobs->CancelThen(job->request->id, [api, shared, reply](const Status& cancelled) {
    if (!cancelled.ok()) return reply(ErrorResponse(*shared, cancelled.error(), api->jobs));
    Response gone;
    const auto now = FindVisible(*shared, api->jobs, shared->Captured("id"), &gone);
    // 202: it runs, and ends soon.
    reply(now ? JobResponse(*now, shared->who.key_name, /*raw=*/false) : std::move(gone));
  });
}

void GetSource(const Api& api, Request request, Reply reply) {
  Response refusal;
  const auto job = FindVisible(request, api->jobs, request.Captured("id"), &refusal);
  if (!job) return reply(std::move(refusal));
  Response response = Response::Text(job->request->source, 200, "text/x-python; charset=utf-8");
  // Hostile text: no browser may take it for something to run.
  response.headers.Set("X-Content-Type-Options", "nosniff");
  response.headers.Set("Content-Disposition", "attachment; filename=\"submission.py\"");
  reply(std::move(response));
}

void GetReward(const Api& api, Request request, Reply reply) {
  Response refusal;
  const auto job = FindVisible(request, api->jobs, request.Captured("id"), &refusal);
  if (!job) return reply(std::move(refusal));
  if (job->state != JobState::kDone)
    return reply(Response::Problem(request, 409, "not_done",
                                   "there is no verdict yet; wait with GET "
                                   "/v1/submissions/{id}?wait=20"));
  json::object parameters;
  for (const auto& [name, text] : request.query) {
    if (name == "mode") continue;
    const Result<json::value> value = ParseJson(text, 1000);
    parameters[name] = value.ok() ? *value : json::value(text);
  }
  reply(RewardResponse(request, std::string(request.Query("mode").value_or("")), parameters,
                       job->verdict));
}

}  // namespace assay::api
