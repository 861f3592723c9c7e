#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "openenv/settings.h"

namespace assay::openenv {

/// What one episode was asked to be; fixed at its reset.
struct EpisodeConfig {
  std::string episode_id;  ///< as the client sent it, else made
  std::string task_id;
  std::string suite;
  json::value seed;  ///< as the client sent it; null when it sent none
  int max_turns = 4;
  int max_checks = 8;
  Emission emission = Emission::kAbsolute;
  StopRule stop_on;
  std::string reward_mode = "roofline";
  json::object reward_parameters;
  bool timing = true;        ///< false: the deterministic profile, without any measured figure
  json::object judging;      ///< options of every submission's judging, see ReadModes
  bool full_detail = false;  ///< repeat task and prompt in every observation
  std::string backend_hint;  ///< "triton", "cuda", ...; for the prompt only
  int max_infra_faults = 3;
  int max_integrity_violations = 0;
};

/// What became of one submission.
struct Outcome {
  enum class Kind {
    kJudged,     ///< a verdict on the submission
    kInfra,      ///< the machine failed: costs no turn
    kCancelled,  ///< the client took it back: costs its turn
    kNever,      ///< it was never accepted for judging: as if it had not been sent
  } kind = Kind::kJudged;
  bool masked = false;  ///< there is no reward to learn from
  bool correct = false;
  bool cheat = false;
  std::string status{};  ///< the verdict's
  double reward = 0;     ///< by the episode's mode; of a check always 0
  std::optional<double> speedup{};
  std::optional<double> roofline{};  ///< fraction of it, in [0, 1]
};

/// One submission of an episode.
struct Ticket {
  std::string id;  ///< of the job that judges it
  bool check = false;
  int turn = 0;       ///< that it took; of a free check the turn that it was made in
  bool free = false;  ///< a check that costs no turn
  json::object echo;  ///< the action's metadata
  bool settled = false;
  double reward = 0;  ///< that it earned, by the emission
  bool masked = false;
  bool reported = false;  ///< the client was told, and so paid
  /// Of one that was refused and has no job: name and message of its verdict's error.
  std::string refusal;
  std::string refusal_message;
};

/// The bookkeeping of one episode. Pure: no clock, no jobs, no thread; it can be written down and
/// read back at any time, which is how an episode survives a restart of the server.
///
///                 Begin                     Settle, other submissions are open
///              ┌─────────▶ judging ─────────┐
///   reset ──▶ active ◀──── │ ▲ ◀────────────┘
///              ▲           │ └─ Begin, while turns are left
///              └───────────┤ Settle, turns are left
///                          ▼ Settle, and: no turn left and nothing open (turn_limit), or the stop
///                        done   rule holds (stop_rule), or too many cheats (integrity_limit), or
///                               too many infrastructure faults in a row (infra_abort)
///
/// In `done` nothing begins; what is open then is settled without pay. An infrastructure fault
/// gives its turn back.
class Episode {
 public:
  enum class Phase { kActive, kJudging, kDone };
  enum class Admission {
    kTurn,       ///< begin it; it takes a turn
    kFreeCheck,  ///< begin it; it takes one of the free checks
    kWait,       ///< all turns are taken, but some are still being judged: poll
    kOver,       ///< the episode is done
  };

  explicit Episode(EpisodeConfig config) : config_(std::move(config)) {}

  /// Whether a submission or check may begin now.
  [[nodiscard]] Admission Admit(bool check) const;

  /// Why there will be no judgement, for later polls. Settle() is to follow.
  void Refuse(std::string_view id, std::string_view name, std::string_view message);

  /// Takes the turn or the check. Admit() said kTurn or kFreeCheck.
  const Ticket& Begin(std::string id, bool check, json::object echo = {});

  struct Settlement {
    bool first = false;  ///< false: it was settled before (or is unknown); nothing changed
    double reward = 0;   ///< to send, by the emission
    bool masked = false;
  };
  Settlement Settle(std::string_view id, const Outcome& outcome);

  /// The reward of a settled ticket, the first time; none after that.
  std::optional<double> Report(std::string_view id);
  /// The client may not have been told after all: Report() gives its reward once more.
  void Unreport(std::string_view id);

  [[nodiscard]] Phase phase() const;
  [[nodiscard]] bool done() const { return !done_reason_.empty(); }
  [[nodiscard]] const std::string& done_reason() const { return done_reason_; }
  [[nodiscard]] const EpisodeConfig& config() const { return config_; }
  [[nodiscard]] const std::vector<Ticket>& tickets() const { return tickets_; }
  [[nodiscard]] const Ticket* Find(std::string_view id) const;
  /// The oldest one that is not settled; nullptr when there is none.
  [[nodiscard]] const Ticket* Open() const;
  /// The oldest one that is settled and not reported; nullptr when there is none.
  [[nodiscard]] const Ticket* Unreported() const;
  [[nodiscard]] int turn() const { return turn_; }
  [[nodiscard]] int checks_left() const { return config_.max_checks - checks_; }
  [[nodiscard]] std::optional<double> best_reward() const { return best_reward_; }
  [[nodiscard]] std::optional<double> best_speedup() const { return best_speedup_; }
  [[nodiscard]] int best_turn() const { return best_turn_; }  ///< 0: none
  [[nodiscard]] const std::string& best_ticket() const { return best_ticket_; }
  [[nodiscard]] bool solved() const { return solved_; }

  /// Steps that were accepted, polls included; the client counts them too.
  int step_count = 0;

  [[nodiscard]] json::object ToJson() const;
  static Result<Episode> FromJson(const json::object& document);

 private:
  [[nodiscard]] bool StopRuleHolds(const Outcome& outcome) const;
  double Emit(const Outcome& outcome);

  EpisodeConfig config_;
  std::vector<Ticket> tickets_;
  int turn_ = 0;
  int checks_ = 0;
  int infra_faults_ = 0;  ///< in a row
  int violations_ = 0;
  std::optional<double> best_reward_;
  std::optional<double> best_speedup_;
  int best_turn_ = 0;
  std::string best_ticket_;
  bool solved_ = false;
  std::string done_reason_;
};

}  // namespace assay::openenv
