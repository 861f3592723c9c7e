#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "broker/jobs.h"
#include "openenv/episode.h"
#include "task/task.h"

namespace assay::openenv {

/// What a task adds to the first observation of an episode: most of its bytes, nearly always the
/// same.
struct TaskPart {
  json::object members;
  std::string text;  ///< their JSON without the braces
};

/// An observation as it is sent, and kept to be sent again: made in one piece of memory, serialised
/// once, then only shared.
class Observation {
 public:
  Observation() = default;
  explicit Observation(const json::object& members)
      : Observation(Make([&](const json::storage_ptr&) { return members; })) {}

  /// Of what `members(storage)` returns, which should live in `storage`, and `more` behind it (no
  /// name twice; null: nothing). Numbers that are not finite become null.
  template <typename Members>
  static Observation Make(Members members, std::shared_ptr<const TaskPart> more = nullptr) {
    auto state = std::make_shared_for_overwrite<State>();
    state->members = members(json::storage_ptr(&state->memory));
    state->more = std::move(more);
    state->Serialise();
    Observation made;
    made.state_ = std::move(state);
    return made;
  }

  [[nodiscard]] bool empty() const { return state_ == nullptr; }
  /// The JSON of an object; of an empty one "{}".
  [[nodiscard]] std::string_view text() const {
    return empty() ? std::string_view("{}") : state_->text;
  }
  /// The JSON of its metadata; empty when it has none.
  [[nodiscard]] std::string_view metadata() const {
    return empty() ? std::string_view() : state_->metadata;
  }
  /// A copy for the few who look inside.
  [[nodiscard]] json::object Members() const;

 private:
  struct State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    void Serialise();

    std::array<unsigned char, 4096> space;  // NOLINT: uninitialised on purpose, most need no more
    json::monotonic_resource memory{space.data(), space.size()};
    json::object members{&memory};
    std::shared_ptr<const TaskPart> more;
    std::string text;
    std::string metadata;
  };
  std::shared_ptr<const State> state_;
};

/// Flag of a verdict that an earlier reply paid.
inline constexpr std::string_view kAlreadyReported = "already_reported";

/// The reply to a reset or a step. `reward` and `done` travel beside the observation.
struct Envelope {
  Observation observation;
  std::optional<double> reward{};  ///< none only at a reset
  bool done = false;
};

/// {"observation": ..., "reward": ..., "done": ...} and, when it has any, "metadata" a second time
/// beside the observation, where newer clients look for it. A reward that is not finite is null.
std::string ToText(const Envelope& envelope);
json::object ToJson(const Envelope& envelope);

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
  json::storage_ptr storage{};  ///< where observations are made
};

/// After a reset: everything about the task.
json::object ReadyObservation(const ObservationContext& context);
/// The same in two parts: what differs between episodes, and what the task adds. An episode that
/// repeats the task everywhere has all in the first.
json::object ReadyMembers(const ObservationContext& context);
TaskPart ReadyTaskPart(const ObservationContext& context);
/// All that ReadyTaskPart() depends on beside the task.
std::string ReadyTaskKey(const ObservationContext& context);
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
