#include "api/handlers.h"
#include "api/submission.h"
#include "reward/reward.h"
#include "task/describe.h"

namespace assay::api {
namespace {

using http::Reply;
using http::Request;
using http::Response;

constexpr double kMaxTasksPage = 1000;

}  // namespace

void ListTasks(const Api& api, Request request, Reply reply) {
  const Result<double> limit = QueryNumber(request, "limit", 100, 1, kMaxTasksPage);
  if (!limit.ok()) return reply(BadRequest(request, limit.error()));
  const Result<double> cursor = QueryNumber(request, "cursor", 0, 0, 1e9);
  if (!cursor.ok()) return reply(BadRequest(request, cursor.error()));
  const Result<double> level = QueryNumber(request, "level", -1, 0, 100);
  if (!level.ok()) return reply(BadRequest(request, level.error()));
  const std::string_view family = request.Query("family").value_or("");
  const auto from = static_cast<size_t>(*cursor);
  const auto page = static_cast<size_t>(*limit);
  json::array tasks;
  size_t total = 0;
  for (const std::shared_ptr<const Task>& task : api->tasks->tasks()) {
    if (!family.empty() && task->family != family) continue;
    if (*level >= 0 && task->level != static_cast<int>(*level)) continue;
    if (total >= from && tasks.size() < page) {
      json::object row = DescribeTask(*task);
      row.erase("source");
      tasks.push_back(std::move(row));
    }
    ++total;
  }
  json::value next = nullptr;
  if (from + tasks.size() < total) next = std::to_string(from + tasks.size());
  reply(Response::Json({{"tasks", std::move(tasks)}, {"total", total}, {"next", next}}));
}

void GetTask(const Api& api, Request request, Reply reply) {
  const Result<std::shared_ptr<const Task>> task = api->tasks->Find(request.Captured("id"));
  if (!task.ok()) return reply(ErrorResponse(request, task.error(), api->jobs));
  reply(Response::Json(DescribeTask(**task)));
}

void GetQueue(const Api& api, Request, Reply reply) {
  const QueueDepth depth = api->jobs->Depth();
  reply(Response::Json({{"queued", depth.queued},
                        {"running", depth.running},
                        {"oldest_wait_s", depth.oldest_wait_s},
                        {"drain_estimate_s", depth.drain_estimate_s},
                        {"retry_after_s", api->jobs->retry_after_s()},
                        {"draining", api->jobs->draining()}}));
}

void ListWorkers(const Api& api, Request request, Reply reply) {
  json::array workers = api->workers ? api->workers() : json::array();
  // Others' ids are theirs.
  if (request.who.scope != http::Scope::kAdmin)
    for (json::value& worker : workers)
      if (json::object* object = worker.if_object()) {
        object->erase("working_on");
        object->erase("key");
      }
  reply(Response::Json({{"workers", std::move(workers)}}));
}

void ListRewards(const Api&, Request, Reply reply) {
  json::array modes;
  for (const RewardMode& mode : RewardModes())
    modes.push_back(json::object{{"name", mode.name},
                                 {"version", mode.version},
                                 {"low", mode.low},
                                 {"high", mode.high},
                                 {"summary", mode.summary},
                                 {"parameters", mode.parameters},
                                 {"source", mode.source},
                                 {"default", modes.empty()}});
  reply(Response::Json({{"modes", std::move(modes)}}));
}

Response RewardResponse(const Request& request, const std::string& mode,
                        const json::object& parameters, const json::object& verdict) {
  const std::string& name = mode.empty() ? RewardModes().front().name : mode;
  const Result<Reward> reward = ComputeReward(name, parameters, verdict);
  if (!reward.ok()) {
    // The verdict lacks what the mode needs; that is not a reward of 0.
    const ErrorCode code = reward.error().code;
    return Response::Problem(request, code == ErrorCode::kNotFound ? 404 : 422,
                             code == ErrorCode::kNotFound      ? "not_found"
                             : code == ErrorCode::kUnavailable ? "not_available"
                                                               : "invalid",
                             reward.error().message);
  }
  std::string version;
  for (const RewardMode& known : RewardModes())
    if (known.name == name) version = known.version;
  return Response::Json({{"mode", name},
                         {"version", version},
                         {"value", (*reward).value},
                         {"masked", (*reward).masked},
                         {"parts", (*reward).parts},
                         {"explanation", (*reward).explanation}});
}

void ComputeRewardOf(const Api&, Request request, Reply reply) {
  const Result<json::object> body = ParseJsonObject(request.body);
  if (!body.ok()) return reply(BadRequest(request, body.error()));
  for (const auto& [key, value] : *body)
    if (key != "mode" && key != "parameters" && key != "verdict")
      return reply(BadRequest(request, Err(ErrorCode::kInvalid,
                                           "there is no member '{}'; there are mode, parameters "
                                           "and verdict",
                                           std::string_view(key).substr(0, 100))));
  const json::value* verdict = (*body).if_contains("verdict");
  const json::value* parameters = (*body).if_contains("parameters");
  const json::value* mode = (*body).if_contains("mode");
  if (verdict == nullptr || !verdict->is_object() ||
      (parameters != nullptr && !parameters->is_object()) ||
      (mode != nullptr && !mode->is_string()))
    return reply(BadRequest(request, Err(ErrorCode::kInvalid,
                                         "'verdict' must be an object (assay.verdict/1), "
                                         "'parameters' an object, 'mode' a string")));
  reply(RewardResponse(request, GetString(*body, "mode"), GetObject(*body, "parameters"),
                       verdict->get_object()));
}

}  // namespace assay::api
