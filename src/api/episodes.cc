#include <algorithm>
#include <cmath>

#include "api/handlers.h"
#include "api/submission.h"
#include "broker/export.h"

namespace assay::api {
namespace {

using http::Reply;
using http::Request;
using http::Response;

/// Of the newest episodes; older ones are found by their tokens.
constexpr size_t kMostListed = 10'000;
/// Documents that one call looks at: others wait meanwhile.
constexpr size_t kMostLooked = 1'000;

bool MaySeeEpisode(const Request& request, const json::object& document) {
  return request.who.scope == http::Scope::kAdmin ||
         GetString(document, "owner") == request.who.key_name;
}

std::vector<std::string> Tokens(const Api& api) {
  return api->documents == nullptr ? std::vector<std::string>()
                                   : api->documents->List(api->episodes, kMostListed);
}

json::value OrNull(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? json::value(nullptr) : *value;
}

/// `whole`: with its submissions and the observations of the last and the best of them.
json::object EpisodeJson(const std::string& token, const json::object& document, bool whole) {
  const json::object& episode = GetObject(document, "episode");
  const std::string reason = GetString(episode, "done_reason");
  json::object out{{"token", token},
                   {"owner", GetString(document, "owner")},
                   {"updated_at", GetDouble(document, "updated_at")},
                   {"done", !reason.empty()},
                   {"done_reason", reason.empty() ? json::value(nullptr) : json::value(reason)}};
  for (const char* name : {"episode_id", "task_id", "turn", "max_turns", "reward_mode",
                           "best_reward", "best_speedup", "solved"})
    out[name] = OrNull(episode, name);
  if (!whole) return out;
  for (const char* name : {"seed", "emission", "stop_on", "reward_parameters", "judging"})
    out[name] = OrNull(episode, name);
  json::array submissions;
  for (const json::value& value : GetArray(episode, "tickets")) {
    const json::object& ticket = value.as_object();
    submissions.emplace_back(json::object{{"id", GetString(ticket, "id")},
                                          {"turn", GetInt(ticket, "turn")},
                                          {"check", GetBool(ticket, "check")},
                                          {"settled", GetBool(ticket, "settled")},
                                          {"masked", GetBool(ticket, "masked")},
                                          {"reward", GetDouble(ticket, "reward")}});
  }
  out["submissions"] = std::move(submissions);
  out["last"] = OrNull(document, "last");
  out["best"] = OrNull(document, "best");
  return out;
}

}  // namespace

void ListEpisodes(const Api& api, Request request, Reply reply) {
  const Result<double> limit = QueryNumber(request, "limit", static_cast<double>(api->limits.page),
                                           1, static_cast<double>(api->limits.max_page));
  if (!limit.ok()) return reply(BadRequest(request, limit.error()));
  const Result<double> cursor = QueryNumber(request, "cursor", HUGE_VAL, 0, HUGE_VAL);
  if (!cursor.ok()) return reply(BadRequest(request, cursor.error()));
  const std::string task_id(request.Query("task_id").value_or(""));
  const std::vector<std::string> tokens = Tokens(api);
  // The cursor is a time, since what goes on meanwhile moves to the front.
  auto next = std::partition_point(tokens.begin(), tokens.end(), [&](const std::string& token) {
    const Result<json::object> document = api->documents->Get(api->episodes, token);
    return document.ok() && GetDouble(*document, "updated_at") >= *cursor;
  });
  json::array episodes;
  double last = 0;
  for (size_t looked = 0; next != tokens.end() && looked < kMostLooked &&
                          episodes.size() < static_cast<size_t>(*limit);
       ++next, ++looked) {
    const Result<json::object> document = api->documents->Get(api->episodes, *next);
    if (!document.ok()) continue;  // deleted meanwhile
    last = GetDouble(*document, "updated_at");
    if (MaySeeEpisode(request, *document) &&
        (task_id.empty() || GetString(GetObject(*document, "episode"), "task_id") == task_id))
      episodes.emplace_back(EpisodeJson(*next, *document, /*whole=*/false));
  }
  json::value more = nullptr;
  if (next != tokens.end()) more = fmt::format("{}", last);
  reply(Response::Json({{"episodes", std::move(episodes)}, {"next", std::move(more)}}));
}

void GetEpisode(const Api& api, Request request, Reply reply) {
  const std::string name(request.Captured("id"));
  const auto answer = [&](const std::string& token, const json::object& document) {
    reply(Response::Json(EpisodeJson(token, document, /*whole=*/true)));
  };
  if (api->documents != nullptr)
    if (const Result<json::object> named = api->documents->Get(api->episodes, name);
        named.ok() && MaySeeEpisode(request, *named))
      return answer(name, *named);
  const std::vector<std::string> tokens = Tokens(api);
  for (size_t i = 0; i < std::min(tokens.size(), kMostLooked); ++i) {
    const Result<json::object> document = api->documents->Get(api->episodes, tokens[i]);
    if (document.ok() && MaySeeEpisode(request, *document) &&
        GetString(GetObject(*document, "episode"), "episode_id") == name)
      return answer(tokens[i], *document);
  }
  reply(
      Response::Problem(request, 404, "not_found", fmt::format("there is no episode '{}'", name)));
}

void GetTrace(const Api& api, Request request, Reply reply) {
  Response refusal;
  const auto job = FindVisible(request, api->jobs, request.Captured("id"), &refusal);
  if (!job) return reply(std::move(refusal));
  reply(Response::Json(ExportRow(*job, request.Query("raw") == "true")));
}

}  // namespace assay::api
