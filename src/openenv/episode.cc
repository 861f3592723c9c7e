#include "openenv/episode.h"

#include <algorithm>
#include <cmath>

namespace assay::openenv {
namespace {

json::value OrNull(const std::optional<double>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

std::optional<double> MaybeNumber(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->to_number<double>();
}

json::object TicketJson(const Ticket& ticket) {
  // What is absent is false, zero or empty: an episode is written after each of its steps.
  json::object object{{"id", ticket.id}, {"turn", ticket.turn}};
  if (ticket.check) object["check"] = true;
  if (ticket.free) object["free"] = true;
  if (!ticket.echo.empty()) object["echo"] = ticket.echo;
  if (ticket.settled) object["settled"] = true;
  if (ticket.reward != 0) object["reward"] = ticket.reward;
  if (ticket.masked) object["masked"] = true;
  if (ticket.reported) object["reported"] = true;
  if (!ticket.refusal.empty()) object["refusal"] = ticket.refusal;
  if (!ticket.refusal_message.empty()) object["refusal_message"] = ticket.refusal_message;
  return object;
}

Ticket TicketFromJson(const json::object& object) {
  Ticket ticket;
  ticket.id = GetString(object, "id");
  ticket.check = GetBool(object, "check");
  ticket.turn = static_cast<int>(GetInt(object, "turn"));
  ticket.free = GetBool(object, "free");
  ticket.echo = GetObject(object, "echo");
  ticket.settled = GetBool(object, "settled");
  ticket.reward = GetDouble(object, "reward");
  ticket.masked = GetBool(object, "masked");
  ticket.reported = GetBool(object, "reported");
  ticket.refusal = GetString(object, "refusal");
  ticket.refusal_message = GetString(object, "refusal_message");
  return ticket;
}

}  // namespace

Episode::Phase Episode::phase() const {
  if (done()) return Phase::kDone;
  return Open() != nullptr ? Phase::kJudging : Phase::kActive;
}

const Ticket* Episode::Find(std::string_view id) const {
  const auto found = std::find_if(tickets_.begin(), tickets_.end(),
                                  [&](const Ticket& ticket) { return ticket.id == id; });
  return found == tickets_.end() ? nullptr : &*found;
}

const Ticket* Episode::Open() const {
  const auto found = std::find_if(tickets_.begin(), tickets_.end(),
                                  [](const Ticket& ticket) { return !ticket.settled; });
  return found == tickets_.end() ? nullptr : &*found;
}

const Ticket* Episode::Unreported() const {
  const auto found = std::find_if(tickets_.begin(), tickets_.end(), [](const Ticket& ticket) {
    return ticket.settled && !ticket.reported;
  });
  return found == tickets_.end() ? nullptr : &*found;
}

Episode::Admission Episode::Admit(bool check) const {
  if (done()) return Admission::kOver;
  if (check && checks_ < config_.max_checks) return Admission::kFreeCheck;
  return turn_ < config_.max_turns ? Admission::kTurn : Admission::kWait;
}

const Ticket& Episode::Begin(std::string id, bool check, json::object echo) {
  const Admission admission = Admit(check);
  ASSAY_CHECK(admission == Admission::kTurn || admission == Admission::kFreeCheck);
  Ticket ticket;
  ticket.id = std::move(id);
  ticket.check = check;
  ticket.free = admission == Admission::kFreeCheck;
  ticket.turn = ticket.free ? turn_ : ++turn_;
  if (ticket.free) ++checks_;
  ticket.echo = std::move(echo);
  tickets_.push_back(std::move(ticket));
  return tickets_.back();
}

void Episode::Refuse(std::string_view id, std::string_view name, std::string_view message) {
  for (Ticket& ticket : tickets_)
    if (ticket.id == id) {
      ticket.refusal = name;
      ticket.refusal_message = message;
    }
}

bool Episode::StopRuleHolds(const Outcome& outcome) const {
  const double limit = config_.stop_on.at_least;
  switch (config_.stop_on.kind) {
    case StopRule::Kind::kNever:
      return false;
    case StopRule::Kind::kCorrect:
      return outcome.correct;
    case StopRule::Kind::kSpeedup:
      return outcome.correct && outcome.speedup && *outcome.speedup >= limit;
    case StopRule::Kind::kRoofline:
      return outcome.correct && outcome.roofline && *outcome.roofline >= limit;
    case StopRule::Kind::kReward:
      return !outcome.masked && outcome.reward >= limit;
  }
  return false;
}

double Episode::Emit(const Outcome& outcome) {
  const std::optional<double> before = best_reward_;
  best_reward_ = before ? std::max(*before, outcome.reward) : outcome.reward;
  switch (config_.emission) {
    case Emission::kAbsolute:
      return outcome.reward;
    case Emission::kDelta:
      // The first increment is from 0, so that the sum of all is the best reward.
      return before ? *best_reward_ - *before : *best_reward_;
    case Emission::kBest:
      return *best_reward_;
  }
  return 0;
}

Episode::Settlement Episode::Settle(std::string_view id, const Outcome& outcome) {
  const auto found = std::find_if(tickets_.begin(), tickets_.end(),
                                  [&](const Ticket& ticket) { return ticket.id == id; });
  if (found == tickets_.end() || found->settled) return {};
  ASSAY_CHECK(std::isfinite(outcome.reward));
  Ticket& ticket = *found;
  ticket.settled = true;
  Settlement settlement{.first = true, .reward = 0, .masked = outcome.masked};

  if (outcome.kind == Outcome::Kind::kInfra || outcome.kind == Outcome::Kind::kNever) {
    ticket.free ? --checks_ : --turn_;
    settlement.masked = true;
    ticket.reported = outcome.kind == Outcome::Kind::kNever;  // there is nothing to tell
    if (outcome.kind == Outcome::Kind::kInfra && !done() &&
        ++infra_faults_ >= config_.max_infra_faults)
      done_reason_ = "infra_abort";
  } else if (outcome.kind == Outcome::Kind::kCancelled) {
    settlement.masked = true;
  } else {
    infra_faults_ = 0;
    if (outcome.cheat) ++violations_;
  }
  if (outcome.kind == Outcome::Kind::kJudged && !done()) {
    // A check is not paid: its times were not taken, and it must not look like a bad submission.
    if (!ticket.check) {
      if (outcome.correct) solved_ = true;
      if (outcome.speedup && (!best_speedup_ || *outcome.speedup > *best_speedup_))
        best_speedup_ = outcome.speedup;
      if (!outcome.masked) {
        if (!best_reward_ || outcome.reward > *best_reward_) {
          best_turn_ = ticket.turn;
          best_ticket_ = ticket.id;
        }
        settlement.reward = Emit(outcome);
      }
      if (StopRuleHolds(outcome)) done_reason_ = "stop_rule";
    }
    if (config_.max_integrity_violations > 0 && violations_ >= config_.max_integrity_violations)
      done_reason_ = "integrity_limit";
  }
  ticket.reward = settlement.reward;
  ticket.masked = settlement.masked;
  if (!done() && turn_ >= config_.max_turns && Open() == nullptr) done_reason_ = "turn_limit";
  return settlement;
}

std::optional<double> Episode::Report(std::string_view id) {
  for (Ticket& ticket : tickets_)
    if (ticket.id == id && ticket.settled && !ticket.reported) {
      ticket.reported = true;
      return ticket.reward;
    }
  return std::nullopt;
}

void Episode::Unreport(std::string_view id) {
  for (Ticket& ticket : tickets_)
    if (ticket.id == id) ticket.reported = false;
}

json::object Episode::ToJson() const {
  json::array tickets;
  for (const Ticket& ticket : tickets_) tickets.emplace_back(TicketJson(ticket));
  return {{"episode_id", config_.episode_id},
          {"task_id", config_.task_id},
          {"suite", config_.suite},
          {"seed", config_.seed},
          {"max_turns", config_.max_turns},
          {"max_checks", config_.max_checks},
          {"emission", ToString(config_.emission)},
          {"stop_on", ToString(config_.stop_on)},
          {"reward_mode", config_.reward_mode},
          {"reward_parameters", config_.reward_parameters},
          {"timing", config_.timing},
          {"judging", config_.judging},
          {"full_detail", config_.full_detail},
          {"backend_hint", config_.backend_hint},
          {"max_infra_faults", config_.max_infra_faults},
          {"max_integrity_violations", config_.max_integrity_violations},
          {"tickets", std::move(tickets)},
          {"turn", turn_},
          {"checks", checks_},
          {"infra_faults", infra_faults_},
          {"violations", violations_},
          {"best_reward", OrNull(best_reward_)},
          {"best_speedup", OrNull(best_speedup_)},
          {"best_turn", best_turn_},
          {"best_ticket", best_ticket_},
          {"solved", solved_},
          {"done_reason", done_reason_},
          {"step_count", step_count}};
}

Result<Episode> Episode::FromJson(const json::object& document) {
  EpisodeConfig config;
  config.episode_id = GetString(document, "episode_id");
  config.task_id = GetString(document, "task_id");
  config.suite = GetString(document, "suite");
  if (const json::value* seed = document.if_contains("seed")) config.seed = *seed;
  config.max_turns = static_cast<int>(GetInt(document, "max_turns"));
  config.max_checks = static_cast<int>(GetInt(document, "max_checks"));
  ASSAY_ASSIGN_OR_RETURN(config.emission, ParseEmission(GetString(document, "emission")));
  ASSAY_ASSIGN_OR_RETURN(config.stop_on, ParseStopRule(GetString(document, "stop_on")));
  config.reward_mode = GetString(document, "reward_mode");
  config.reward_parameters = GetObject(document, "reward_parameters");
  config.timing = GetBool(document, "timing", true);
  config.judging = GetObject(document, "judging");
  config.full_detail = GetBool(document, "full_detail");
  config.backend_hint = GetString(document, "backend_hint");
  config.max_infra_faults = static_cast<int>(GetInt(document, "max_infra_faults", 3));
  config.max_integrity_violations = static_cast<int>(GetInt(document, "max_integrity_violations"));
  if (config.task_id.empty() || config.max_turns < 1)
    return Err(ErrorCode::kInvalid, "the stored document is no episode");
  Episode episode(std::move(config));
  for (const json::value& ticket : GetArray(document, "tickets"))
    if (ticket.is_object()) episode.tickets_.push_back(TicketFromJson(ticket.get_object()));
  episode.turn_ = static_cast<int>(GetInt(document, "turn"));
  episode.checks_ = static_cast<int>(GetInt(document, "checks"));
  episode.infra_faults_ = static_cast<int>(GetInt(document, "infra_faults"));
  episode.violations_ = static_cast<int>(GetInt(document, "violations"));
  episode.best_reward_ = MaybeNumber(document, "best_reward");
  episode.best_speedup_ = MaybeNumber(document, "best_speedup");
  episode.best_turn_ = static_cast<int>(GetInt(document, "best_turn"));
  episode.best_ticket_ = GetString(document, "best_ticket");
  episode.solved_ = GetBool(document, "solved");
  episode.done_reason_ = GetString(document, "done_reason");
  episode.step_count = static_cast<int>(GetInt(document, "step_count"));
  return episode;
}

}  // namespace assay::openenv
