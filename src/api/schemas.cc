#include "api/operations.h"
#include "api/submission.h"
#include "api/verdict_schema.h"
#include "broker/evaluation_options.h"

namespace assay::api {
namespace {

json::object Type(std::string_view type, std::string_view description = "") {
  json::object schema{{"type", type}};
  if (!description.empty()) schema["description"] = description;
  return schema;
}

json::object Object(json::object properties, json::array required = {}) {
  json::object schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

json::object ArrayOf(json::value items) { return {{"type", "array"}, {"items", std::move(items)}}; }

json::object Ref(const std::string& name) { return {{"$ref", "#/components/schemas/" + name}}; }

/// A document of its own has its parts in $defs; here they are components.
json::value Moved(const json::value& value) {
  if (value.is_array()) {
    json::array out;
    for (const json::value& item : value.get_array()) out.push_back(Moved(item));
    return out;
  }
  if (!value.is_object()) return value;
  json::object out;
  for (const auto& [key, item] : value.get_object()) {
    constexpr std::string_view kHere = "#/$defs/";
    if (key == "$ref" && item.is_string() && item.get_string().starts_with(kHere))
      out[key] = "#/components/schemas/Verdict." +
                 std::string(std::string_view(item.get_string()).substr(kHere.size()));
    else
      out[key] = Moved(item);
  }
  return out;
}

void AddVerdict(json::object* schemas) {
  const Result<json::object> parsed = ParseJsonObject(kVerdictSchemaText);
  ASSAY_CHECK(parsed.ok());
  json::object verdict = Moved(*parsed).get_object();
  for (const auto& [name, schema] : GetObject(verdict, "$defs"))
    (*schemas)["Verdict." + std::string(name)] = schema;
  verdict.erase("$defs");
  verdict.erase("$schema");
  (*schemas)["Verdict"] = std::move(verdict);
}

json::object SubmissionSchema() {
  return Object(
      {{"id", Type("string")},
       {"state", {{"enum", {"queued", "running", "done"}}}},
       {"stage", Type("string", "While it runs: lint, prepare, lease, load, check, time.")},
       {"status", {{"type", {"string", "null"}}, {"description", "The verdict's, once done."}}},
       {"owner", Type("string")},
       {"task_id", Type("string")},
       {"priority", Type("integer")},
       {"timeout_s", Type("number")},
       {"options", Ref("Options")},
       {"deliveries", Type("integer", "Times it was given to a worker.")},
       {"worker", Type("string")},
       {"submitted_at", Type("number", "Unix time, seconds.")},
       {"started_at", {{"type", {"number", "null"}}}},
       {"finished_at", {{"type", {"number", "null"}}}},
       {"verdict", {{"anyOf", {Ref("Verdict"), json::object{{"type", "null"}}}}}}},
      {"id", "state", "status", "task_id", "submitted_at", "verdict"});
}

json::object EpisodeSchema() {
  return Object(
      {{"token", Type("string", "What `resume` takes.")},
       {"episode_id", Type("string", "As its reset named it.")},
       {"owner", Type("string")},
       {"task_id", Type("string")},
       {"updated_at", Type("number", "Unix time, seconds.")},
       {"done", Type("boolean")},
       {"done_reason", {{"type", {"string", "null"}}}},
       {"turn", Type("integer")},
       {"max_turns", Type("integer")},
       {"reward_mode", Type("string")},
       {"best_reward", {{"type", {"number", "null"}}}},
       {"best_speedup", {{"type", {"number", "null"}}}},
       {"solved", Type("boolean")},
       {"submissions", ArrayOf(Type("object", "id, turn, check, settled, masked, reward."))},
       {"last", Type("object", "The last verdict's observation.")},
       {"best", Type("object", "That of the submission that earned most.")}},
      {"token", "task_id", "updated_at", "done"});
}

json::object RewardSchemas(json::object* schemas) {
  (*schemas)["RewardMode"] = Object({{"name", Type("string")},
                                     {"version", Type("string")},
                                     {"low", Type("number")},
                                     {"high", Type("number")},
                                     {"summary", Type("string")},
                                     {"parameters", Type("object", "Names and defaults.")},
                                     {"source", Type("string")},
                                     {"default", Type("boolean")}});
  (*schemas)["RewardModes"] = Object({{"modes", ArrayOf(Ref("RewardMode"))}}, {"modes"});
  (*schemas)["RewardRequest"] =
      Object({{"mode", Type("string", "Default: the first of /v1/rewards.")},
              {"parameters", Type("object")},
              {"verdict", Ref("Verdict")}},
             {"verdict"});
  return Object({{"mode", Type("string")},
                 {"version", Type("string")},
                 {"value", Type("number")},
                 {"masked", Type("boolean", "Train on nothing: no judgement of the submission.")},
                 {"parts", Type("object")},
                 {"explanation", Type("string")}},
                {"mode", "version", "value", "masked"});
}

void AddLeases(json::object* schemas) {
  (*schemas)["LeaseRequest"] = Object(
      {{"worker", Type("string", "Its name; submissions show it.")},
       {"instance", Type("string", "Of its process: two workers of one name are two.")},
       {"protocol", Type("string", "Of its verdicts; the server's own.")},
       {"ask", Type("string",
                    "Names this question: asked again, it gives the same lease. At most 64 "
                    "letters, digits and dashes.")},
       {"jobs", Type("integer", "That it can work on at once.")},
       {"details", Type("object", "For people: device, versions.")},
       {"wait_s", Type("number", "Seconds to wait for a job, 60 at most; default 0.")},
       {"ttl_s", Type("number", "The lease ends unless it is renewed in time; default 60.")}},
      {"worker", "instance", "protocol"});
  (*schemas)["Lease"] =
      Object({{"lease", Type("string", "Its name, which never comes again.")},
              {"delivery", Type("integer", "How often the job was given to a worker.")},
              {"id", Type("string", "Of the submission; the verdict's too.")},
              {"source", Type("string")},
              {"submission_entry", Type("string", "Class of the submission.")},
              {"options", Ref("Options")},
              {"timeout_s", Type("number", "Of the judging; 0: none.")},
              {"task", Object({{"id", Type("string")},
                               {"entry", Type("string", "Class of the reference.")},
                               {"sha256", Type("string")},
                               {"source", Type("string", "The text to judge against, no other.")}},
                              {"id", "entry", "sha256", "source"})}},
             {"lease", "id", "source", "submission_entry", "options", "timeout_s", "task"});
  (*schemas)["LeaseRenewal"] =
      Object({{"protocol", Type("string", "Of the worker's verdicts.")},
              {"leases",
               {{"type", "object"},
                {"description", "What each does now: lint, prepare, check, ...; empty: as before."},
                {"additionalProperties", Type("string")}}}},
             {"protocol", "leases"});
  (*schemas)["LeaseNews"] =
      Object({{"cancelled", ArrayOf(Type("string", "End it, and send what has come of it."))},
              {"over", ArrayOf(Type("string", "It is another's: drop it."))}},
             {"cancelled", "over"});
  (*schemas)["LeaseReturn"] =
      Object({{"lost", Type("boolean", "The worker broke on it; four times end the job.")},
              {"why", Type("string")}});
  (*schemas)["LeaseEnd"] = Object({{"stored", Type("boolean")}, {"returned", Type("boolean")}});
}

}  // namespace

json::object Schemas() {
  json::object schemas;
  AddVerdict(&schemas);
  schemas["Options"] = EvaluationOptionsSchema();
  schemas["SubmissionRequest"] = SubmissionRequestSchema();
  schemas["Submission"] = SubmissionSchema();
  schemas["SubmissionPage"] =
      Object({{"submissions", ArrayOf(Ref("Submission"))},
              {"next",
               {{"type", {"string", "null"}},
                {"description",
                 "The cursor of the next page; null on the last. A page may be short, even empty, "
                 "and not the last: one call looks at 5,000 submissions at most."}}}},
             {"submissions", "next"});
  schemas["Episode"] = EpisodeSchema();
  schemas["EpisodePage"] =
      Object({{"episodes", ArrayOf(Ref("Episode"))}, {"next", {{"type", {"string", "null"}}}}},
             {"episodes", "next"});
  schemas["Trace"] = Type("object", "Every row has the same members; what one lacks is null.");
  schemas["BatchLine"] =
      Object({{"index", Type("integer", "Of the line in the request, from 0.")},
              {"id", Type("string")},
              {"verdict", Ref("Verdict")},
              {"error", Type("object", "Why the line was not accepted: code, message.")}},
             {"index"});
  schemas["Event"] = Ref("Submission");
  schemas["Task"] = Object({{"id", Type("string")},
                            {"name", Type("string")},
                            {"family", Type("string")},
                            {"level", Type("integer")},
                            {"entry", Type("string")},
                            {"origin", Type("string")},
                            {"sha256", Type("string")},
                            {"source", Type("string", "Of one task alone.")}});
  schemas["TaskPage"] = Object({{"tasks", ArrayOf(Ref("Task"))},
                                {"total", Type("integer")},
                                {"next", {{"type", {"string", "null"}}}}},
                               {"tasks", "total", "next"});
  schemas["Queue"] = Object({{"queued", Type("integer")},
                             {"running", Type("integer")},
                             {"oldest_wait_s", Type("number")},
                             {"drain_estimate_s", Type("number", "By recent judging rates.")},
                             {"retry_after_s", Type("number")},
                             {"draining", Type("boolean")}});
  schemas["Workers"] =
      Object({{"workers",
               ArrayOf(Object({{"name", Type("string")},
                               {"jobs", Type("integer", "That it can work on at once.")},
                               {"working_on", Type("array", "Ids; for admins.")},
                               {"judged", Type("integer")},
                               {"failed", Type("integer", "Jobs that it gave back.")},
                               {"last_error", Type("string")},
                               {"remote", Type("boolean", "In a process of its own.")},
                               {"key", Type("string", "That a remote one came with; for admins.")},
                               {"last_heard_s", Type("number", "Of a remote one: seconds ago.")},
                               {"details", Type("object")}},
                              {"name", "jobs"}))}},
             {"workers"});
  schemas["Reward"] = RewardSchemas(&schemas);
  AddLeases(&schemas);
  schemas["OpenApi"] = Type("object");
  schemas["Problem"] =
      Object({{"error", Object({{"code", Type("string", "For programs.")},
                                {"message", Type("string", "For people: how to mend it.")},
                                {"request_id", Type("string")}},
                               {"code", "message", "request_id"})}},
             {"error"});
  return schemas;
}

}  // namespace assay::api
