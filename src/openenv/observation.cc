#include "openenv/observation.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "openenv/catalog.h"
#include "openenv/prompt.h"
#include "reward/reward.h"

namespace assay::openenv {
namespace {

constexpr size_t kMaxMessage = 2000;  // of an error; the feedback has the whole story

json::value OrNull(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json::value(*value) : json::value(nullptr);
}

json::value OrNull(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

std::optional<double> MaybeNumber(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

/// NaN and infinity are no JSON.
void MakeFinite(json::value* value) {
  if (value->is_double() && !std::isfinite(value->get_double())) *value = nullptr;
  if (value->is_array())
    for (json::value& each : value->get_array()) MakeFinite(&each);
  if (value->is_object())
    for (auto& member : value->get_object()) MakeFinite(&member.value());
}

void AddTask(const ObservationContext& context, json::object* out) {
  const EpisodeConfig& config = context.episode->config();
  const Task& task = *context.task;
  // The deterministic profile holds nothing that differs between machines.
  const json::object hardware = config.timing ? *context.hardware : json::object{};
  (*out)["name"] = task.name;
  (*out)["level"] = task.level;
  (*out)["prompt"] = TaskPrompt(
      task,
      {.hardware = hardware, .backend_hint = config.backend_hint, .max_turns = config.max_turns});
  (*out)["instructions"] = ContractText();
  (*out)["reference_code"] = task.source;
  (*out)["entry_point"] = "ModelNew";
  (*out)["input_spec"] = {
      {"inputs", "get_inputs()"},
      {"init_inputs", "get_init_inputs()"},
      {"note", "shapes and dtypes as in the reference; values come from hidden seeds"}};
  (*out)["tolerance"] = {
      {"float64", 1e-7}, {"float32", 1e-4},
      {"float16", 1e-2}, {"bfloat16", 1e-2},
      {"integer", 0},    {"note", "never stricter than twice eager's own error"}};
  (*out)["hardware"] = hardware;
  (*out)["baseline"] = {{"kind", GetString(config.judging, "baseline", "eager")}};
  (*out)["reward_mode"] = config.reward_mode;
  (*out)["emission"] = ToString(config.emission);
}

/// The members that every observation has.
json::object Base(const ObservationContext& context, std::string_view status) {
  const Episode& episode = *context.episode;
  json::object out(context.storage);
  out.reserve(40);  // of the largest
  out["task_id"] = episode.config().task_id;
  out["status"] = status;
  out["turn"] = episode.turn();
  out["max_turns"] = episode.config().max_turns;
  out["checks_left"] = episode.checks_left();
  out["feedback"] = "";
  out["error"] = nullptr;
  out["masked"] = false;
  out["best_reward"] = OrNull(episode.best_reward());
  out["best_turn"] =
      episode.best_turn() == 0 ? json::value(nullptr) : json::value(episode.best_turn());
  out["best_speedup"] =
      episode.config().timing ? OrNull(episode.best_speedup()) : json::value(nullptr);
  out["done_reason"] = OrNull(episode.done_reason());
  out["flags"] = json::array{};
  out["metadata"] = json::object{};
  if (!context.token.empty()) out["episode_token"] = context.token;
  if (episode.config().full_detail) AddTask(context, &out);
  return out;
}

json::value TimingJson(const json::object& timing) {
  const json::object& candidate = GetObject(timing, "candidate_us");
  if (candidate.empty()) return nullptr;
  const json::object& reference = GetObject(timing, "reference_us");
  const json::object& speedup = GetObject(timing, "speedup");
  return json::object{{"median_us", OrNull(MaybeNumber(candidate, "median"))},
                      {"p20_us", OrNull(MaybeNumber(candidate, "p20"))},
                      {"p80_us", OrNull(MaybeNumber(candidate, "p80"))},
                      {"runs", GetInt(candidate, "n")},
                      {"baseline_us", OrNull(MaybeNumber(reference, "median"))},
                      {"speedup_low", OrNull(MaybeNumber(speedup, "low"))},
                      {"speedup_high", OrNull(MaybeNumber(speedup, "high"))},
                      {"method", GetString(timing, "method")},
                      {"meaningful", GetBool(timing, "meaningful")},
                      {"note", OrNull(GetString(timing, "note"))}};
}

json::value ErrorJson(const json::object& verdict) {
  const json::object& error = GetObject(verdict, "error");
  if (error.empty()) return nullptr;
  return json::object{{"kind", GetString(error, "kind")},
                      {"stage", GetString(error, "stage")},
                      {"name", GetString(error, "name")},
                      {"message", TruncateMiddle(GetString(error, "message"), kMaxMessage)},
                      {"line", GetInt(error, "line")}};
}

/// Feedback without measured figures: the same submission gets the same bytes on any machine and
/// under any hidden seed.
std::string PlainFeedback(const json::object& verdict) {
  if (GetBool(verdict, "correct")) return "Correct.";
  const json::object& error = GetObject(verdict, "error");
  const std::string kind = GetString(error, "kind");
  std::string text = "Not correct: " + GetString(verdict, "status") + ", " + kind + " at stage " +
                     GetString(error, "stage") + ".";
  const int64_t line = GetInt(error, "line");
  if (line > 0) text += fmt::format(" Line {}.", line);
  // Of a mismatch the words depend on the hidden inputs.
  if (kind != "mismatch" && kind != "deadline")
    text += "\n" + TruncateMiddle(GetString(error, "message"), kMaxMessage);
  return text;
}

/// Flags of the run (noisy clocks, a busy device) are not the submission's and vary.
json::array PlainFlags(const json::object& verdict) {
  json::array flags;
  for (const json::value& finding : GetArray(verdict, "lint")) {
    if (!finding.is_object()) continue;
    const json::value rule(GetString(finding.get_object(), "rule"));
    if (std::find(flags.begin(), flags.end(), rule) == flags.end()) flags.push_back(rule);
  }
  return flags;
}

}  // namespace

void Observation::State::Serialise() {
  for (auto& member : members) MakeFinite(&member.value());
  if (const json::object& own = GetObject(members, "metadata"); !own.empty())
    metadata = json::serialize(own);
  text = json::serialize(members);
  if (more == nullptr || more->text.empty()) return;
  text.reserve(text.size() + more->text.size() + 1);
  text.back() = ',';
  text.append(more->text) += '}';
}

json::object Observation::Members() const {
  if (empty()) return {};
  // Not in the observation's own memory: that is one thread's, and the copy may outlive it.
  json::object members(state_->members, json::storage_ptr());
  if (state_->more != nullptr)
    for (const auto& [key, value] : state_->more->members) members[key] = value;
  return members;
}

std::string ToText(const Envelope& envelope) {
  const std::string_view observation = envelope.observation.text();
  const std::string_view metadata = envelope.observation.metadata();
  std::string text;
  text.reserve(observation.size() + metadata.size() + 80);
  text += R"({"observation":)";
  text += observation;
  text += R"(,"reward":)";
  text += json::serialize(OrNull(envelope.reward));
  text += envelope.done ? R"(,"done":true)" : R"(,"done":false)";
  if (!metadata.empty()) text.append(R"(,"metadata":)").append(metadata);
  text += '}';
  return text;
}

json::object ToJson(const Envelope& envelope) {
  json::object out;
  json::object observation = envelope.observation.Members();
  json::object metadata = GetObject(observation, "metadata");
  out["observation"] = std::move(observation);
  out["reward"] = OrNull(envelope.reward);
  out["done"] = envelope.done;
  if (!metadata.empty()) out["metadata"] = std::move(metadata);
  return out;
}

Scored Score(const EpisodeConfig& config, const json::object& verdict, bool check) {
  Scored scored;
  Outcome& outcome = scored.outcome;
  outcome.status = GetString(verdict, "status");
  outcome.kind = outcome.status == "infra_error" ? Outcome::Kind::kInfra
                 : outcome.status == "cancelled" ? Outcome::Kind::kCancelled
                                                 : Outcome::Kind::kJudged;
  outcome.correct = GetBool(verdict, "correct");
  outcome.cheat = outcome.status == "rejected_cheat";
  if (outcome.correct) {
    outcome.speedup = MaybeNumber(GetObject(GetObject(verdict, "timing"), "speedup"), "value");
    const double fraction = GetDouble(GetObject(verdict, "roofline"), "fraction");
    if (fraction > 0) outcome.roofline = fraction;
  }
  if (outcome.kind != Outcome::Kind::kJudged) {
    outcome.masked = true;
    scored.note = outcome.status == "cancelled"
                      ? "The submission was cancelled: there is nothing to learn from it."
                      : "The machine failed, not the submission: the turn was given back.";
    return scored;
  }
  if (check) {
    scored.note = "A check is not paid; submit to be timed and paid.";
    return scored;
  }
  const Result<Reward> reward =
      ComputeReward(config.reward_mode, config.reward_parameters, verdict);
  if (!reward.ok()) {
    outcome.masked = scored.missing = true;
    scored.note = "No reward: " + reward.error().message;
    return scored;
  }
  outcome.masked = reward->masked;
  outcome.reward = reward->masked || !std::isfinite(reward->value) ? 0 : reward->value;
  scored.parts = reward->parts;
  scored.note = reward->explanation;
  return scored;
}

json::object RefusedVerdict(std::string_view kind, std::string_view message) {
  return {{"schema", "assay.verdict/1"},
          {"status", "invalid_submission"},
          {"fault", "candidate"},
          {"stage", "lint"},
          {"compiled", false},
          {"correct", false},
          {"flags", json::array{}},
          {"error",
           {{"kind", "lint_invalid"},
            {"stage", "lint"},
            {"name", kind},
            {"message", message},
            {"line", 0}}},
          {"feedback", fmt::format("Invalid submission: {}.", message)}};
}

json::object ReadyObservation(const ObservationContext& context) {
  json::object out = Base(context, "ready");
  AddTask(context, &out);
  return out;
}

json::object ReadyMembers(const ObservationContext& context) { return Base(context, "ready"); }

TaskPart ReadyTaskPart(const ObservationContext& context) {
  TaskPart part;
  if (context.episode->config().full_detail) return part;
  AddTask(context, &part.members);
  for (auto& member : part.members) MakeFinite(&member.value());
  const std::string text = json::serialize(part.members);
  part.text = text.substr(1, text.size() - 2);
  return part;
}

std::string ReadyTaskKey(const ObservationContext& context) {
  const EpisodeConfig& config = context.episode->config();
  return json::serialize(json::array{config.full_detail, config.timing, config.max_turns,
                                     config.backend_hint, GetString(config.judging, "baseline"),
                                     config.reward_mode, ToString(config.emission),
                                     config.timing ? *context.hardware : json::object()});
}

json::object JudgedObservation(const ObservationContext& context, const Ticket& ticket,
                               const json::object& verdict, const Scored& scored, const Job* job) {
  const EpisodeConfig& config = context.episode->config();
  json::object out = Base(context, scored.outcome.status);
  out["metadata"] = ticket.echo;
  out["op"] = ticket.check ? "check" : "submit";
  out["masked"] = ticket.masked;
  out["stage"] = GetString(verdict, "stage");
  out["compiled"] = GetBool(verdict, "compiled");
  out["correct"] = GetBool(verdict, "correct");
  out["error"] = ErrorJson(verdict);
  out["reward_parts"] = scored.parts;
  out["reward_note"] = OrNull(scored.note);

  json::array flags = config.timing ? GetArray(verdict, "flags") : PlainFlags(verdict);
  if (scored.missing) flags.emplace_back("reward_unavailable");
  if (scored.outcome.kind == Outcome::Kind::kInfra) flags.emplace_back("masked_infra");
  out["flags"] = std::move(flags);

  if (!config.timing) {
    out["feedback"] = TruncateMiddle(PlainFeedback(verdict), context.feedback_bytes);
    out["correctness"] = out["timing"] = out["roofline"] = nullptr;
    out["speedup"] = out["sol_fraction"] = nullptr;
    if (out["error"].is_object() && GetString(out["error"].get_object(), "kind") == "mismatch")
      out["error"].get_object()["message"] = "the outputs differ from the reference's";
    return out;
  }
  out["feedback"] = TruncateMiddle(GetString(verdict, "feedback"), context.feedback_bytes);
  const json::object& correctness = GetObject(verdict, "correctness");
  out["correctness"] =
      GetInt(correctness, "trials") > 0 ? json::value(correctness) : json::value(nullptr);
  out["timing"] = TimingJson(GetObject(verdict, "timing"));
  const json::object& roofline = GetObject(verdict, "roofline");
  out["roofline"] = roofline.empty() ? json::value(nullptr) : json::value(roofline);
  out["speedup"] = OrNull(scored.outcome.speedup);
  out["sol_fraction"] = OrNull(scored.outcome.roofline);
  out["ticket"] = ticket.id;
  if (job != nullptr && job->started_at > 0) {
    out["queue_ms"] = std::round((job->started_at - job->submitted_at) * 1e3);
    out["eval_ms"] = std::round((job->finished_at - job->started_at) * 1e3);
  }
  return out;
}

json::object QueuedObservation(const ObservationContext& context, const Ticket& ticket,
                               std::string_view why) {
  json::object out = Base(context, "queued");
  out["metadata"] = ticket.echo;
  out["op"] = ticket.check ? "check" : "submit";
  out["ticket"] = ticket.id;
  out["feedback"] = fmt::format(
      "{} Ask for the verdict with {{\"op\": \"poll\", \"ticket\": \"{}\", \"code\": \"\"}}.", why,
      ticket.id);
  return out;
}

json::object InfraObservation(const ObservationContext& context, std::string_view kind,
                              std::string_view message) {
  json::object out = Base(context, "infra_error");
  out["masked"] = true;
  out["flags"] = {"masked_infra"};
  out["error"] = {
      {"kind", kind}, {"stage", "lint"}, {"name", kind}, {"message", message}, {"line", 0}};
  out["feedback"] = fmt::format("Not judged: {}. No turn was taken; send it again.", message);
  return out;
}

json::object OverObservation(const ObservationContext& context, json::object last) {
  json::object out = last.empty() ? Base(context, "episode_over") : std::move(last);
  out["status"] = "episode_over";
  out["done_reason"] = OrNull(context.episode->done_reason());
  out["feedback"] = fmt::format("The episode is over ({}); reset to begin another one.",
                                context.episode->done_reason());
  return out;
}

json::object StateJson(const Episode* episode) {
  if (episode == nullptr)
    return {{"episode_id", nullptr},
            {"step_count", 0},
            {"task_id", nullptr},
            {"suite", nullptr},
            {"seed", nullptr},
            {"turn", 0},
            {"max_turns", 0},
            {"best_reward", nullptr},
            {"best_speedup", nullptr},
            {"solved", false},
            {"done", false},
            {"done_reason", nullptr},
            {"pending_ticket", nullptr},
            {"last_ticket", nullptr}};
  const EpisodeConfig& config = episode->config();
  const Ticket* open = episode->Open();
  return {{"episode_id", config.episode_id},
          {"step_count", episode->step_count},
          {"task_id", config.task_id},
          {"suite", config.suite},
          {"seed", config.seed},
          {"turn", episode->turn()},
          {"max_turns", config.max_turns},
          {"best_reward", OrNull(episode->best_reward())},
          {"best_speedup", config.timing ? OrNull(episode->best_speedup()) : json::value(nullptr)},
          {"solved", episode->solved()},
          {"done", episode->done()},
          {"done_reason", OrNull(episode->done_reason())},
          {"pending_ticket",
           open == nullptr || !config.timing ? json::value(nullptr) : json::value(open->id)},
          {"last_ticket", episode->tickets().empty() || !config.timing
                              ? json::value(nullptr)
                              : json::value(episode->tickets().back().id)}};
}

}  // namespace assay::openenv
