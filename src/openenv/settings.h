#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay::openenv {

/// What a step's reward is made of, given the rewards of the episode's submissions.
enum class Emission {
  kAbsolute,  ///< the submission's own reward
  kDelta,     ///< by how much it raised the best one so far, so that the sum is the best
  kBest,      ///< the best so far
};

/// When an episode ends before its last turn.
struct StopRule {
  enum class Kind { kNever, kCorrect, kSpeedup, kRoofline, kReward } kind = Kind::kNever;
  double at_least = 0;  ///< for the last three
};

/// "absolute", "delta" (also "delta_best"), "best".
Result<Emission> ParseEmission(std::string_view text);
std::string_view ToString(Emission emission);
/// "never", "correct", "speedup>=1.5", "sol>=0.8", "reward>=2".
Result<StopRule> ParseStopRule(std::string_view text);
std::string ToString(const StopRule& rule);

/// Limits and defaults of the protocol, each with its reason.
struct Settings {
  int max_turns = 4;           ///< of an episode that does not say; multi-turn recipes use 2 to 8
  int max_turns_limit = 1024;  ///< what an episode may ask for; bounds its document
  int checks_per_turn = 2;  ///< free correctness checks; beyond them a check costs a turn, so that
                            ///< every episode ends
  StopRule stop_on;         ///< never: matched evaluation needs a fixed number of submissions
  Emission emission = Emission::kAbsolute;
  std::string reward_mode = "roofline";
  json::object reward_parameters;
  json::object judging;              ///< options of a submission's judging, see ReadModes
  double eval_timeout_s = 0;         ///< of a whole judging; 0: the engine's phases only
  size_t feedback_bytes = 6400;      ///< about 1,600 tokens
  int max_infra_faults = 3;          ///< in a row, then the episode ends (masked)
  int max_integrity_violations = 0;  ///< then the episode ends; 0: no limit

  Seconds reply_deadline{45};  ///< clients give up after 60 s; then a ticket is returned instead
  Seconds poll_wait{20};       ///< how long a poll waits; short, for it is free to ask again
  Seconds capacity_wait{20};   ///< a first request is held so long for a session to end
  Seconds idle_timeout{1800};  ///< without a request; a trainer's generation takes minutes
  Seconds resume_grace{120};   ///< after a lost connection its judgements go on so long
  size_t max_sessions = 1024;  ///< a session is a few kilobytes; judging is queued elsewhere
  size_t max_sessions_per_key = 0;   ///< 0: a share that leaves room for other keys, see Service
  size_t max_web_sessions = 256;     ///< of one key
  size_t max_requests_waiting = 32;  ///< on one connection; official clients send one at a time
  size_t max_bytes_waiting = 256u << 20;  ///< of such requests, on all connections together
  size_t max_bytes_held = 64u << 10;      ///< of a first request; a larger one waits for no session

  bool production = false;  ///< no reset and step, only tools (MCP)
  bool web = true;
  std::string env_name = "kernel_env";
  std::string default_split;     ///< that a reset without a choice draws from; empty: all tasks
  std::string readme;            ///< text for /metadata
  std::string validation_token;  ///< 32 to 256 characters switch telemetry on
};

/// What KERNEL_ENV_* says about the rest of the server. Absent: not said.
struct HostSettings {
  std::optional<std::vector<int>> gpus;
  std::vector<std::string> tasks;  ///< for TaskRegistry::Add
  std::optional<int> trials;
  std::optional<int> compile_workers;
  std::string secret_file;
  std::string trace_dir;
  std::string roofline;  ///< "calibrated", "datasheet", "table:PATH"
  std::optional<int> port;
  std::string api_key_file;
  std::vector<std::string> allowed_hosts;  ///< as --allow-host
};

struct Configuration {
  Settings settings;
  HostSettings host;
};

/// Reads KERNEL_ENV_* and what OpenEnv's launchers set (MAX_CONCURRENT_ENVS,
/// SESSION_IDLE_TIMEOUT_S, ENABLE_WEB_INTERFACE, ENV_README_PATH, OPENENV_VALIDATION_TOKEN, PORT)
/// from `environment` ("NAME=value", null-terminated). kInvalid: an unknown KERNEL_ENV_ name (with
/// the nearest one, for a typo must not pass silently) or a value that is none.
Result<Configuration> ReadEnvironment(const char* const* environment);

}  // namespace assay::openenv
