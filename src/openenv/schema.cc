#include "openenv/schema.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace assay::openenv {
namespace {

constexpr std::string_view kAction = R"({
  "title": "KernelAction",
  "description": "A submission, or a question about one.",
  "type": "object",
  "additionalProperties": false,
  "required": ["code"],
  "properties": {
    "code": {"type": "string", "title": "Code", "maxLength": 1048576,
      "description": "Full Python source of the submission, or a reply that holds it in one ```python block. May be empty to poll or cancel."},
    "op": {"type": "string", "title": "Op", "enum": ["submit", "check", "poll", "cancel"], "default": "submit",
      "description": "check: correctness only, without timing and reward."},
    "language": {"type": "string", "title": "Language", "default": "auto",
      "enum": ["auto", "triton", "cuda", "cpp", "cutlass", "tilelang", "pytorch"]},
    "entry_point": {"type": "string", "title": "Entry Point", "default": "ModelNew",
      "description": "Class to build."},
    "task_id": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Task Id", "default": null,
      "description": "For stateless HTTP; in an episode it must be the episode's."},
    "ticket": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Ticket", "default": null,
      "description": "Of poll and cancel; without one the oldest open submission is meant."},
    "defer": {"type": "boolean", "title": "Defer", "default": false,
      "description": "Answer at once with a ticket."},
    "metadata": {"type": "object", "title": "Metadata", "additionalProperties": true,
      "description": "The client's own; comes back in the observation."}
  }
})";

// Every member is optional: which ones there are depends on what happened.
constexpr std::string_view kObservation = R"({
  "title": "KernelObservation",
  "description": "What became of a reset or a submission.",
  "type": "object",
  "additionalProperties": false,
  "$defs": {
    "text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "number": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    "object": {"anyOf": [{"type": "object"}, {"type": "null"}]},
    "flag": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
  },
  "properties": {
    "task_id": {"type": "string"},
    "status": {"type": "string", "enum": ["ready", "invalid_submission", "compile_error",
      "runtime_error", "incorrect", "correct", "timeout", "out_of_memory", "rejected_cheat", "queued",
      "cancelled", "infra_error", "episode_over"]},
    "turn": {"type": "integer", "minimum": 0},
    "max_turns": {"type": "integer", "minimum": 1},
    "checks_left": {"type": "integer"},
    "feedback": {"type": "string", "description": "Text for the model."},
    "error": {"$ref": "#/$defs/object"},
    "reward": {"$ref": "#/$defs/number"},
    "done": {"type": "boolean"},
    "done_reason": {"$ref": "#/$defs/text",
      "description": "turn_limit, stop_rule, integrity_limit or infra_abort."},
    "masked": {"type": "boolean",
      "description": "There is no reward to learn from; the reward of 0 is a placeholder."},
    "metadata": {"type": "object", "additionalProperties": true},
    "episode_token": {"type": "string", "description": "reset(resume=...) goes on after a lost connection."},

    "name": {"type": "string"},
    "level": {"type": "integer"},
    "prompt": {"type": "string"},
    "instructions": {"type": "string"},
    "reference_code": {"type": "string"},
    "entry_point": {"type": "string"},
    "input_spec": {"type": "object"},
    "tolerance": {"type": "object"},
    "hardware": {"type": "object"},
    "baseline": {"type": "object"},
    "reward_mode": {"type": "string"},
    "emission": {"type": "string", "enum": ["absolute", "delta", "best"]},

    "op": {"type": "string", "enum": ["submit", "check"]},
    "stage": {"type": "string"},
    "compiled": {"$ref": "#/$defs/flag"},
    "correct": {"$ref": "#/$defs/flag"},
    "correctness": {"$ref": "#/$defs/object"},
    "timing": {"$ref": "#/$defs/object"},
    "roofline": {"$ref": "#/$defs/object"},
    "speedup": {"$ref": "#/$defs/number"},
    "sol_fraction": {"$ref": "#/$defs/number"},
    "best_speedup": {"$ref": "#/$defs/number"},
    "best_reward": {"$ref": "#/$defs/number"},
    "best_turn": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "reward_parts": {"type": "object"},
    "reward_note": {"$ref": "#/$defs/text"},
    "flags": {"type": "array", "items": {"type": "string"}},
    "ticket": {"$ref": "#/$defs/text"},
    "queue_ms": {"$ref": "#/$defs/number"},
    "eval_ms": {"$ref": "#/$defs/number"},

    "tools": {"type": "array", "items": {"type": "object"}},
    "tool_name": {"type": "string"},
    "result": {}
  }
})";

constexpr std::string_view kState = R"({
  "title": "KernelState",
  "type": "object",
  "additionalProperties": true,
  "properties": {
    "episode_id": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    "step_count": {"type": "integer", "minimum": 0, "default": 0},
    "task_id": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    "suite": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    "seed": {"default": null},
    "turn": {"type": "integer", "minimum": 0, "default": 0},
    "max_turns": {"type": "integer", "minimum": 0, "default": 0},
    "best_reward": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": null},
    "best_speedup": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": null},
    "solved": {"type": "boolean", "default": false},
    "done": {"type": "boolean", "default": false},
    "done_reason": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    "pending_ticket": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null},
    "last_ticket": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}
  }
})";

constexpr std::string_view kEnvelope = R"({
  "type": "object",
  "required": ["observation", "reward", "done"],
  "properties": {
    "observation": {"$ref": "#/components/schemas/KernelObservation"},
    "reward": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    "done": {"type": "boolean"},
    "metadata": {"type": "object"}
  }
})";

json::object Parsed(std::string_view text) {
  Result<json::object> object = ParseJsonObject(text);
  ASSAY_CHECK(object.ok());
  return *std::move(object);
}

json::object Reference(std::string_view schema) {
  return {{"$ref", "#/components/schemas/" + std::string(schema)}};
}

json::object Content(json::value schema) {
  return {{"application/json", {{"schema", std::move(schema)}}}};
}

/// One operation; `answer` null: any object. `body` null: none.
json::object Operation(std::string_view tag, std::string_view summary, json::value answer,
                       json::value body, std::initializer_list<std::string_view> errors) {
  if (answer.is_null()) answer = {{"type", "object"}};
  json::object responses{
      {"200", {{"description", "Done"}, {"content", Content(std::move(answer))}}}};
  for (const std::string_view code : errors)
    responses[code] = {{"description", code == "422"   ? "A member is missing or wrong"
                                       : code == "404" ? "There is no such thing"
                                       : code == "501" ? "Not offered"
                                                       : "Refused"}};
  json::object operation{
      {"tags", json::array{json::value(tag)}}, {"summary", summary}, {"responses", responses}};
  if (!body.is_null()) operation["requestBody"] = {{"content", Content(std::move(body))}};
  return operation;
}

}  // namespace

const json::object& Schemas() {
  static const auto* const schemas = new json::object{{"action", Parsed(kAction)},
                                                      {"observation", Parsed(kObservation)},
                                                      {"state", Parsed(kState)}};
  return *schemas;
}

json::object OpenApi(const Settings& settings) {
  json::object paths;
  const auto add = [&](std::string_view path, std::string_view method, json::object operation) {
    paths[path] = {{method, std::move(operation)}};
  };
  const json::value any{{"type", "object"}};
  const json::value split{{"type", "object"}, {"properties", {{"split", {{"type", "string"}}}}}};
  if (!settings.production) {
    const json::value reset{{"type", "object"},
                            {"properties",
                             {{"seed", {{"type", "integer"}, {"minimum", 0}}},
                              {"episode_id", {{"type", "string"}, {"maxLength", 255}}},
                              {"task_id", {{"type", "string"}}}}}};
    const json::value step{{"type", "object"},
                           {"required", json::array{"action"}},
                           {"properties",
                            {{"action", Reference("KernelAction")},
                             {"timeout_s", {{"type", "number"}, {"exclusiveMinimum", 0}}},
                             {"request_id", {{"type", "string"}, {"maxLength", 255}}}}}};
    add("/reset", "post",
        Operation("Environment Control", "Choose a task", Reference("Envelope"), reset, {"422"}));
    add("/step", "post",
        Operation("Environment Control", "Judge a submission", Reference("Envelope"), step,
                  {"422"}));
    add("/state", "get",
        Operation("State Management", "State of a fresh episode", Reference("KernelState"), nullptr,
                  {}));
  }
  add("/health", "get", Operation("Health", "Liveness and load", nullptr, nullptr, {}));
  add("/metadata", "get",
      Operation("Environment Info", "About the environment", nullptr, nullptr, {}));
  add("/schema", "get",
      Operation("Schema", "Schemas of action, observation and state", nullptr, nullptr, {}));
  add("/mcp", "post", Operation("MCP", "JSON-RPC 2.0: Model Context Protocol", nullptr, any, {}));
  add("/list_environments", "get",
      Operation("Task API", "Names of the environments", json::value{{"type", "array"}}, nullptr,
                {}));
  add("/{env_name}/splits", "get",
      Operation("Task API", "Splits", json::value{{"type", "array"}}, nullptr, {"404"}));
  for (const char* path : {"tasks", "num_tasks", "task", "task_range"})
    add("/{env_name}/" + std::string(path), "post",
        Operation("Task API", "Tasks of a split", nullptr, split, {"400", "404", "422"}));

  json::object schemas{{"KernelAction", Schemas().at("action")},
                       {"KernelObservation", Schemas().at("observation")},
                       {"KernelState", Schemas().at("state")},
                       {"Envelope", Parsed(kEnvelope)}};
  // Local references of the observation's schema are relative to its own document there.
  json::object& observation = schemas["KernelObservation"].as_object();
  std::string text = json::serialize(observation);
  constexpr std::string_view kLocal = "\"#/$defs/";
  constexpr std::string_view kMoved = "\"#/components/schemas/KernelObservation/$defs/";
  for (size_t at = text.find(kLocal); at != std::string::npos;
       at = text.find(kLocal, at + kMoved.size()))
    text.replace(at, kLocal.size(), kMoved);
  observation = Parsed(text);

  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", settings.env_name + " OpenEnv API"},
            {"version", "1.0.0"},
            {"description", "Episodes run over the WebSocket at /ws; HTTP is stateless."}}},
          {"paths", std::move(paths)},
          {"components", {{"schemas", std::move(schemas)}}}};
}

}  // namespace assay::openenv
