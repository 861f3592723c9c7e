#include <algorithm>

#include "base/strings.h"
#include "http/limits.h"
#include "openenv/action.h"
#include "openenv/routes.h"

namespace assay::openenv {
namespace {

using http::Reply;
using http::Request;
using http::Response;

json::object TaskJson(const Task& task) {
  return {{"task_id", task.id}, {"suite", SuiteOf(task.id)}, {"level", task.level},
          {"name", task.name},  {"entry_point", "ModelNew"}, {"reference_code", task.source}};
}

/// The whole number that `body` has under `key`, `fallback` when it has none; an error otherwise.
int64_t Index(const json::object& body, const char* key, int64_t fallback, json::array* errors) {
  const json::value* value = body.if_contains(key);
  if (value == nullptr || value->is_null()) return fallback;
  if (value->is_int64()) return value->get_int64();
  errors->emplace_back(FieldError("int_type", {"body", key}, "must be an integer", value));
  return fallback;
}

/// The tasks of a slice, bounds as in Python (negative from the end, beyond the end cut).
json::array Slice(const std::vector<Catalog::TaskPtr>& tasks, int64_t start, int64_t stop) {
  const auto count = static_cast<int64_t>(tasks.size());
  const auto bound = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count);
  };
  json::array out;
  for (int64_t at = bound(start); at < bound(stop); ++at)
    out.emplace_back(TaskJson(*tasks[static_cast<size_t>(at)]));
  return out;
}

using Answer = Response (*)(const Settings&, const Catalog::Split&, const json::object& body,
                            json::array* errors);

Response Tasks(const Settings& settings, const Catalog::Split& split, const json::object&,
               json::array*) {
  return Response::Json(
      {{"tasks", Slice(split.tasks, 0, INT64_MAX)}, {"env_name", settings.env_name}});
}

Response NumTasks(const Settings&, const Catalog::Split& split, const json::object&, json::array*) {
  return Response::Json({{"num_tasks", split.tasks.size()}});
}

Response OneTask(const Settings&, const Catalog::Split& split, const json::object& body,
                 json::array* errors) {
  if (!body.contains("index")) {
    errors->emplace_back(FieldError("missing", {"body", "index"}, "required"));
    return {};
  }
  const int64_t index = Index(body, "index", 0, errors);
  if (index < 0 || static_cast<uint64_t>(index) >= split.tasks.size())
    return Detail(400, "Invalid task index");
  return Response::Json({{"task", TaskJson(*split.tasks[static_cast<size_t>(index)])}});
}

Response TaskRange(const Settings&, const Catalog::Split& split, const json::object& body,
                   json::array* errors) {
  const int64_t start = Index(body, "start", 0, errors);
  const int64_t stop = Index(body, "stop", INT64_MAX, errors);
  return Response::Json({{"tasks", Slice(split.tasks, start, stop)}});
}

bool IsThisEnvironment(const Service& service, const Request& request) {
  return ToLower(request.Captured("env_name")) == ToLower(service.settings().env_name);
}

http::Handler ForSplit(const std::shared_ptr<Service>& service, Answer make) {
  return [service, make](const Request& request, const Reply& reply) {
    if (!IsThisEnvironment(*service, request)) return reply(Detail(404, "unknown environment"));
    auto body = BodyObject(request, /*optional=*/false);
    if (auto* refusal = std::get_if<Response>(&body)) return reply(std::move(*refusal));
    const json::object& data = std::get<json::object>(body);
    const json::value* name = data.if_contains("split");
    if (name == nullptr || !name->is_string())
      return reply(Unprocessable({FieldError(name == nullptr ? "missing" : "string_type",
                                             {"body", "split"}, "the name of a split", name)}));
    const Catalog::Split* split = service->host()->catalog.FindSplit(name->get_string());
    if (split == nullptr)
      return reply(Detail(
          400, "no such split; GET /" + service->settings().env_name + "/splits lists them"));
    json::array errors;
    Response response = make(service->settings(), *split, data, &errors);
    reply(errors.empty() ? std::move(response) : Unprocessable(std::move(errors)));
  };
}

}  // namespace

void AddTaskRoutes(http::Router* router, const std::shared_ptr<Service>& service) {
  router->Add("GET", "/list_environments", http::Scope::kRead,
              [service](const Request&, const Reply& reply) {
                reply(Response::Json(json::array{json::value(service->settings().env_name)}));
              });
  router->Add(
      "GET", "/{env_name}/splits", http::Scope::kRead,
      [service](const Request& request, const Reply& reply) {
        if (!IsThisEnvironment(*service, request)) return reply(Detail(404, "unknown environment"));
        json::array splits;
        for (const Catalog::Split& split : service->host()->catalog.splits())
          splits.emplace_back(json::object{
              {"name", split.name}, {"type", split.name == "train" ? "train" : "validation"}});
        reply(Response::Json(std::move(splits)));
      });
  const std::pair<const char*, Answer> routes[] = {{"/{env_name}/tasks", Tasks},
                                                   {"/{env_name}/num_tasks", NumTasks},
                                                   {"/{env_name}/task", OneTask},
                                                   {"/{env_name}/task_range", TaskRange}};
  for (const auto& [path, make] : routes)
    router->Add("POST", path, http::Scope::kRead, ForSplit(service, make), http::kSmallBody);
}

}  // namespace assay::openenv
