#include "openenv/tools.h"

#include <utility>

#include "base/strings.h"

namespace assay::openenv {
namespace {

struct ToolSpec {
  const char* name;
  const char* description;
  const char* schema;
};

constexpr ToolSpec kTools[] = {
    {"get_task",
     "The task: what to write, the reference module, the rules. Starts an episode when a task_id, "
     "seed, suite or max_turns is given or none is going on.",
     R"({"type": "object", "additionalProperties": false, "properties": {
          "task_id": {"type": "string", "description": "Id of a task, for example assay/relu"},
          "seed": {"type": "integer", "description": "Draws a task, always the same one"},
          "suite": {"type": "string"},
          "max_turns": {"type": "integer", "minimum": 1}}})"},
    {"submit_kernel",
     "Judges a kernel: compiles it, compares it with the reference on hidden inputs and times it. "
     "Takes a turn.",
     R"({"type": "object", "additionalProperties": false, "required": ["code"], "properties": {
          "code": {"type": "string", "description": "Full Python source that defines ModelNew"},
          "task_id": {"type": "string", "description": "Needed where no episode is going on"}}})"},
    {"check_kernel",
     "Compiles a kernel and compares it with the reference, without timing and reward. An episode "
     "has a few checks that take no turn.",
     R"({"type": "object", "additionalProperties": false, "required": ["code"], "properties": {
          "code": {"type": "string", "description": "Full Python source that defines ModelNew"},
          "task_id": {"type": "string", "description": "Needed where no episode is going on"}}})"},
    {"get_best",
     "The best submission of the episode so far and where the episode stands. Waits a little for a "
     "submission that is still being judged.",
     R"({"type": "object", "additionalProperties": false, "properties": {
          "ticket": {"type": "string", "description": "A submission that was still being judged"}}})"},
};

const ToolSpec* FindTool(std::string_view name) {
  for (const ToolSpec& tool : kTools)
    if (name == tool.name) return &tool;
  return nullptr;
}

json::object SchemaOf(const ToolSpec& tool) {
  Result<json::object> schema = ParseJsonObject(tool.schema);
  ASSAY_CHECK(schema.ok());
  return *std::move(schema);
}

/// Empty when the arguments fit the tool's schema (of which only types and names are used here).
std::string WrongArguments(const ToolSpec& tool, const json::object& arguments) {
  const json::object schema = SchemaOf(tool);
  const json::object& properties = GetObject(schema, "properties");
  for (const auto& [key, value] : arguments) {
    const json::value* property = properties.if_contains(key);
    if (property == nullptr)
      return fmt::format("{} has no argument '{}'", tool.name,
                         CleanText(TruncateMiddle(std::string_view(key), 80)));
    const std::string type = GetString(property->as_object(), "type");
    const bool fits = type == "string" ? value.is_string() : value.is_int64() || value.is_uint64();
    if (!fits) return fmt::format("argument '{}' must be of type {}", std::string_view(key), type);
  }
  for (const json::value& required : GetArray(schema, "required"))
    if (!arguments.contains(required.get_string()))
      return fmt::format("argument '{}' is required", std::string_view(required.get_string()));
  return "";
}

ToolResult Refuse(std::string type, std::string why) {
  ToolResult result;
  result.error_type = std::move(type);
  result.text = std::move(why);
  return result;
}

ToolResult FromAnswer(Environment::Answer answer) {
  if (auto* error = std::get_if<ProtocolError>(&answer))
    return Refuse(error->code == "VALIDATION_ERROR" ? "invalid_args" : "execution_error",
                  error->message);
  const Envelope& envelope = std::get<Envelope>(answer);
  ToolResult result;
  result.reward = envelope.reward;
  result.done = envelope.done;
  json::object whole = ToJson(envelope);
  const json::object& observation = GetObject(whole, "observation");
  const std::string status = GetString(observation, "status");
  result.text = status == "ready"
                    ? GetString(observation, "prompt")
                    : "Status: " + status + ".\n" + GetString(observation, "feedback");
  if (envelope.done && status != "episode_over")
    result.text += "\nThe episode is over: " + GetString(observation, "done_reason") + ".";
  result.data = std::move(whole["observation"].as_object());
  result.data["reward"] = whole["reward"];
  result.data["done"] = whole["done"];
  return result;
}

ToolResult Best(EpisodeRun& run) {
  ToolResult result;
  const json::object state = run.State();
  json::object best = run.Best();
  result.text = best.empty() ? "No submission has earned anything yet."
                             : "Best so far: " + GetString(best, "feedback");
  result.data["best"] = best.empty() ? json::value(nullptr) : json::value(std::move(best));
  result.data["state"] = state;
  result.done = GetBool(state, "done");
  return result;
}

void GetTask(const std::shared_ptr<Environment>& environment, const json::object& arguments,
             const std::function<void(ToolResult)>& reply) {
  const std::shared_ptr<EpisodeRun> current = environment->run();
  if (arguments.empty() && current != nullptr && !current->Done())
    return reply(FromAnswer(current->Standing()));
  reply(FromAnswer(environment->Reset(arguments)));
}

void Submit(const std::shared_ptr<Environment>& environment, bool alone, bool check,
            const json::object& arguments, const Asked& asked,
            const std::function<void(ToolResult)>& reply) {
  Action action;
  action.op = check ? Action::Op::kCheck : Action::Op::kSubmit;
  action.code = GetString(arguments, "code");
  action.task_id = GetString(arguments, "task_id");
  auto answered = [reply](Environment::Answer answer) { reply(FromAnswer(std::move(answer))); };
  const Seconds limit = environment->service()->settings().reply_deadline;
  if (alone) {
    if (action.task_id.empty())
      return reply(Refuse("invalid_args",
                          "no session: pass a task_id, or initialize a session and call get_task"));
    return environment->StepAlone(std::move(action), limit, asked, std::move(answered));
  }
  if (environment->run() == nullptr) {
    if (action.task_id.empty())
      return reply(Refuse("execution_error", "no episode: call get_task first, or pass a task_id"));
    Environment::Answer begun = environment->Reset(json::object{{"task_id", action.task_id}});
    if (std::holds_alternative<ProtocolError>(begun)) return reply(FromAnswer(std::move(begun)));
  }
  environment->Step(std::move(action), limit, asked, std::move(answered));
}

void GetBest(const std::shared_ptr<Environment>& environment, const std::string& ticket,
             const std::function<void(ToolResult)>& reply) {
  const std::shared_ptr<EpisodeRun> run = environment->run();
  if (run == nullptr) return reply(Refuse("execution_error", "no episode: call get_task first"));
  if (ticket.empty() && !run->Judging()) return reply(Best(*run));
  const bool waits = run->Poll(ticket, DeadlineIn(environment->service()->settings().poll_wait),
                               [run, reply](std::optional<Envelope> envelope) {
                                 if (!envelope)
                                   return reply(FromAnswer(Environment::ToAnswer(std::nullopt)));
                                 ToolResult last = FromAnswer(*std::move(envelope));
                                 ToolResult result = Best(*run);
                                 result.text = last.text + "\n" + result.text;
                                 result.data["last"] = std::move(last.data);
                                 result.reward = last.reward;
                                 result.done = last.done;
                                 reply(std::move(result));
                               });
  if (!waits) reply(Refuse("invalid_args", "no submission of this episode has this ticket"));
}

}  // namespace

json::array ToolList(std::string_view schema_key) {
  json::array tools;
  for (const ToolSpec& tool : kTools)
    tools.emplace_back(json::object{
        {"name", tool.name}, {"description", tool.description}, {schema_key, SchemaOf(tool)}});
  return tools;
}

void CallTool(const std::shared_ptr<Environment>& environment, bool alone, const std::string& name,
              const json::object& arguments, const Asked& asked,
              std::function<void(ToolResult)> reply) {
  const ToolSpec* tool = FindTool(name);
  if (tool == nullptr)
    return reply(
        Refuse("tool_not_found",
               fmt::format("no tool '{}'; there is: get_task, submit_kernel, check_kernel, "
                           "get_best",
                           CleanText(TruncateMiddle(name, 80)))));
  if (std::string wrong = WrongArguments(*tool, arguments); !wrong.empty())
    return reply(Refuse("invalid_args", std::move(wrong)));
  if (name == "get_task") return GetTask(environment, arguments, reply);
  if (name == "get_best") return GetBest(environment, GetString(arguments, "ticket"), reply);
  Submit(environment, alone, name == "check_kernel", arguments, asked, std::move(reply));
}

}  // namespace assay::openenv
