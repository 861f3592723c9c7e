#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "broker/jobs.h"
#include "openenv/episode.h"
#include "task/task.h"

namespace assay::openenv {

/// The reply to a reset or a step. `reward` and `done` travel beside the observation.
struct Envelope {
  json::object observation;
  std::optional<double> reward;  ///< none only at a reset
  bool done = false;
};

/// {"observation": ..., "reward": ..., "done": ...} and, when it has any, "metadata" a second time
/// beside the observation, where newer clients look for it. Numbers that are not finite are null.
json::object ToJson(Envelope envelope);

/// A verdict as the episode sees it, and what it is worth.
struct Scored {
  Outcome outcome;
  json::object parts;    ///< of the reward
  std::string note;      ///< what the reward rests on, or why there is none
  bool missing = false;  ///< the verdict lacks what the mode needs; masked, not 0
};

/// Applies the episode's reward mode. Where it cannot be computed the outcome is masked: no number
/// stands for "unknown".
Scored Score(const EpisodeConfig& config, const json::object& verdict, bool check);

/// A verdict for a submission that the server refused before judging it (too large, no code).
json::object RefusedVerdict(std::string_view kind, std::string_view message);

/// What the members of an observation are made from.
struct ObservationContext {
  const Episode* episode = nullptr;
  const Task* task = nullptr;
  const json::object* hardware = nullptr;
  std::string token;  ///< to resume with; empty in the deterministic profile
  size_t feedback_bytes = 6400;
};

/// After a reset: everything about the task.
json::object ReadyObservation(const ObservationContext& context);
/// After a verdict. `job`: for the times it spent; may be null for a refused submission.
json::object JudgedObservation(const ObservationContext& context, const Ticket& ticket,
                               const json::object& verdict, const Scored& scored, const Job* job);
/// While a submission is being judged.
json::object QueuedObservation(const ObservationContext& context, const Ticket& ticket,
                               std::string_view why);
/// The machine failed, or there was no room: nothing was judged.
json::object InfraObservation(const ObservationContext& context, std::string_view kind,
                              std::string_view message);
/// After the end: `last` with the status episode_over.
json::object OverObservation(const ObservationContext& context, json::object last);

/// KernelState of an episode; `episode` null before the first reset.
json::object StateJson(const Episode* episode);

}  // namespace assay::openenv
