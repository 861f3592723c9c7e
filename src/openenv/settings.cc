#include "openenv/settings.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "base/strings.h"
#include "reward/reward.h"
#include "task/modes.h"

namespace assay::openenv {
namespace {

using Apply = std::function<Status(std::string_view value, Configuration* out)>;

Result<double> Number(std::string_view text, double low, double high) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high))
    return Err(ErrorCode::kInvalid, "'{}' is no number from {} to {}", text, low, high);
  return value;
}

Result<int> Whole(std::string_view text, int low, int high) {
  ASSAY_ASSIGN_OR_RETURN(const double value, Number(text, low, high));
  if (value != std::floor(value)) return Err(ErrorCode::kInvalid, "'{}' is not whole", text);
  return static_cast<int>(value);
}

/// True, 1, yes, on or their opposites.
Result<bool> Truth(std::string_view text) {
  const std::string word = ToLower(text);
  for (const char* yes : {"true", "1", "yes", "on"})
    if (word == yes) return true;
  for (const char* no : {"false", "0", "no", "off", ""})
    if (word == no) return false;
  return Err(ErrorCode::kInvalid, "'{}' is neither true nor false", text);
}

Result<std::vector<int>> Gpus(std::string_view text) {
  std::vector<int> gpus;
  if (Trim(text).empty() || ToLower(Trim(text)) == "none") return gpus;
  for (const std::string_view part : Split(text, ',')) {
    ASSAY_ASSIGN_OR_RETURN(const int gpu, Whole(Trim(part), 0, 1023));
    gpus.push_back(gpu);
  }
  return gpus;
}

Result<std::string> FirstBytesOf(const std::string& path, size_t limit) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Err(ErrorCode::kInvalid, "cannot read {}", path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return TruncateMiddle(CleanText(text), limit);
}

/// Takes one of the values that this server knows; others are refused, not ignored, and `instead`
/// says what there is in their place.
Apply OneOf(std::vector<std::string> choices, std::string instead) {
  return [choices = std::move(choices), instead = std::move(instead)](std::string_view value,
                                                                      Configuration*) -> Status {
    for (const std::string& choice : choices)
      if (value == choice) return {};
    return Err(ErrorCode::kInvalid, "'{}' is not offered; there is: {}. {}", value,
               Join(choices, ", "), instead);
  };
}

/// What every submission's speedup is also measured against.
Status SetBaselines(std::string_view value, Configuration* out) {
  json::array names;
  for (const std::string_view part : Split(value, ','))
    if (!Trim(part).empty()) names.emplace_back(Trim(part));
  const json::object judging{{"baselines", names}};
  if (const Result<Modes> modes = ReadModes(judging); !modes.ok()) return modes.error();
  out->settings.judging = judging;
  return {};
}

template <typename T>
Status Set(Result<T> parsed, T* field) {
  if (!parsed.ok()) return parsed.error();
  *field = *std::move(parsed);
  return {};
}

template <typename T>
Status Set(Result<T> parsed, std::optional<T>* field) {
  if (!parsed.ok()) return parsed.error();
  *field = *std::move(parsed);
  return {};
}

Status SetSeconds(std::string_view value, double low, double high, Seconds* field) {
  ASSAY_ASSIGN_OR_RETURN(const double seconds, Number(value, low, high));
  *field = Seconds(seconds);
  return {};
}

/// Comma-separated.
Status SetList(std::string_view value, std::vector<std::string>* field) {
  for (const std::string_view part : Split(value, ','))
    if (!Trim(part).empty()) field->emplace_back(Trim(part));
  return {};
}

Status SetRewardMode(std::string_view value, Configuration* out) {
  std::vector<std::string> names;
  for (const RewardMode& mode : RewardModes()) {
    if (mode.name == value) {
      out->settings.reward_mode = value;
      return {};
    }
    names.push_back(mode.name);
  }
  return Err(ErrorCode::kInvalid, "no reward mode '{}'; there is: {}", value, Join(names, ", "));
}

const std::map<std::string, Apply, std::less<>>& Variables() {
  using View = std::string_view;
  using Out = Configuration*;
  static const auto* const table = new std::map<std::string, Apply, std::less<>>{
      {"KERNEL_ENV_GPUS", [](View v, Out o) { return Set(Gpus(v), &o->host.gpus); }},
      {"KERNEL_ENV_MAX_TURNS",
       [](View v, Out o) {
         return Set(Whole(v, 1, o->settings.max_turns_limit), &o->settings.max_turns);
       }},
      {"KERNEL_ENV_STOP_ON",
       [](View v, Out o) { return Set(ParseStopRule(v), &o->settings.stop_on); }},
      {"KERNEL_ENV_REWARD", SetRewardMode},
      {"KERNEL_ENV_REWARD_PARAMETERS",
       [](View v, Out o) { return Set(ParseJsonObject(v), &o->settings.reward_parameters); }},
      {"KERNEL_ENV_MODE",
       [](View v, Out o) -> Status {
         const std::string mode = ToLower(v);
         if (mode != "simulation" && mode != "production")
           return Err(ErrorCode::kInvalid, "'{}' is neither simulation nor production", v);
         o->settings.production = mode == "production";
         return {};
       }},
      {"KERNEL_ENV_REPLY_DEADLINE_S",
       [](View v, Out o) { return SetSeconds(v, 0.05, 55, &o->settings.reply_deadline); }},
      {"KERNEL_ENV_CAPACITY_WAIT_S",
       [](View v, Out o) { return SetSeconds(v, 0, 55, &o->settings.capacity_wait); }},
      {"KERNEL_ENV_RESUME_GRACE_S",
       [](View v, Out o) { return SetSeconds(v, 0, 86400, &o->settings.resume_grace); }},
      {"KERNEL_ENV_EMIT",
       [](View v, Out o) { return Set(ParseEmission(v), &o->settings.emission); }},
      {"KERNEL_ENV_TASKS", [](View v, Out o) { return SetList(v, &o->host.tasks); }},
      {"KERNEL_ENV_TRIALS", [](View v, Out o) { return Set(Whole(v, 1, 100), &o->host.trials); }},
      {"KERNEL_ENV_COMPILE_WORKERS",
       [](View v, Out o) { return Set(Whole(v, 1, 1024), &o->host.compile_workers); }},
      {"KERNEL_ENV_EVAL_TIMEOUT_S",
       [](View v, Out o) { return Set(Number(v, 1, 86400), &o->settings.eval_timeout_s); }},
      {"KERNEL_ENV_MAX_SESSIONS",
       [](View v, Out o) -> Status {
         ASSAY_ASSIGN_OR_RETURN(const int sessions, Whole(v, 1, 1'000'000));
         o->settings.max_sessions = static_cast<size_t>(sessions);
         return {};
       }},
      {"KERNEL_ENV_MAX_SESSIONS_PER_KEY",
       [](View v, Out o) -> Status {
         ASSAY_ASSIGN_OR_RETURN(const int sessions, Whole(v, 0, 1'000'000));
         o->settings.max_sessions_per_key = static_cast<size_t>(sessions);
         return {};
       }},
      {"KERNEL_ENV_SECRET_FILE",
       [](View v, Out o) -> Status {
         o->host.secret_file = v;
         return {};
       }},
      {"KERNEL_ENV_TRACE_DIR",
       [](View v, Out o) -> Status {
         o->host.trace_dir = v;
         return {};
       }},
      {"KERNEL_ENV_FEEDBACK_TOKENS",
       [](View v, Out o) -> Status {
         ASSAY_ASSIGN_OR_RETURN(const int tokens, Whole(v, 64, 100'000));
         o->settings.feedback_bytes = static_cast<size_t>(tokens) * 4;
         return {};
       }},
      {"KERNEL_ENV_SPLIT",
       [](View v, Out o) -> Status {
         o->settings.default_split = v;
         return {};
       }},
      {"KERNEL_ENV_ROOFLINE",
       [](View v, Out o) -> Status {
         if (v != "calibrated" && v != "datasheet" && !v.starts_with("table:"))
           return Err(ErrorCode::kInvalid, "'{}' is none of calibrated, datasheet, table:PATH", v);
         o->host.roofline = v;
         return {};
       }},
      {"KERNEL_ENV_BASELINES", SetBaselines},
      // What the measurement does of itself; other values would need another protocol version.
      {"KERNEL_ENV_FAMILIES",
       OneOf({"all"},
             "Every family that the task admits is tried; CHECK in a task's module says "
             "what is compared")},
      {"KERNEL_ENV_TIMER", OneOf({"events_cold", "rounds"},
                                 "A reset may ask for {\"judging\": {\"cache\": \"warm\"}}")},
      {"KERNEL_ENV_TOL_SCALE",
       OneOf({"1", "1.0"},
             "Tolerances follow from the outputs' types and the reference's own error")},
      {"KERNEL_ENV_STRICT_COMPUTE",
       OneOf({"1", "true"}, "A reset may ask for {\"judging\": {\"precision\": \"tf32\"}}")},
      {"MAX_CONCURRENT_ENVS",
       [](View v, Out o) -> Status {
         ASSAY_ASSIGN_OR_RETURN(const int sessions, Whole(v, 1, 1'000'000));
         o->settings.max_sessions = static_cast<size_t>(sessions);
         return {};
       }},
      {"SESSION_IDLE_TIMEOUT_S",
       [](View v, Out o) { return SetSeconds(v, 0, 1e7, &o->settings.idle_timeout); }},
      {"ENABLE_WEB_INTERFACE", [](View v, Out o) { return Set(Truth(v), &o->settings.web); }},
      {"ENV_README_PATH",
       [](View v, Out o) { return Set(FirstBytesOf(std::string(v), 65536), &o->settings.readme); }},
      {"OPENENV_VALIDATION_TOKEN",
       [](View v, Out o) -> Status {
         if (v.size() < 32 || v.size() > 256)
           return Err(ErrorCode::kInvalid, "it must have 32 to 256 characters");
         o->settings.validation_token = v;
         return {};
       }},
      {"KERNEL_ENV_API_KEY_FILE",
       [](View v, Out o) -> Status {
         o->host.api_key_file = v;
         return {};
       }},
      {"KERNEL_ENV_ALLOW_HOSTS", [](View v, Out o) { return SetList(v, &o->host.allowed_hosts); }},
      // The client package's; a shell may hold them beside the server's.
      {"KERNEL_ENV_URL", [](View, Out) -> Status { return {}; }},
      {"KERNEL_ENV_API_KEY", [](View, Out) -> Status { return {}; }},
      {"PORT", [](View v, Out o) { return Set(Whole(v, 0, 65535), &o->host.port); }},
  };
  return *table;
}

}  // namespace

Result<Emission> ParseEmission(std::string_view text) {
  if (text == "absolute") return Emission::kAbsolute;
  if (text == "delta" || text == "delta_best") return Emission::kDelta;
  if (text == "best") return Emission::kBest;
  return Err(ErrorCode::kInvalid, "'{}' is none of absolute, delta, best", text);
}

std::string_view ToString(Emission emission) {
  return emission == Emission::kAbsolute ? "absolute"
         : emission == Emission::kDelta  ? "delta"
                                         : "best";
}

Result<StopRule> ParseStopRule(std::string_view text) {
  if (text == "never" || text.empty()) return StopRule{};
  if (text == "correct") return StopRule{StopRule::Kind::kCorrect, 0};
  const std::pair<std::string_view, StopRule::Kind> kinds[] = {
      {"speedup>=", StopRule::Kind::kSpeedup},
      {"sol>=", StopRule::Kind::kRoofline},
      {"reward>=", StopRule::Kind::kReward}};
  for (const auto& [prefix, kind] : kinds) {
    if (!text.starts_with(prefix)) continue;
    ASSAY_ASSIGN_OR_RETURN(const double value, Number(text.substr(prefix.size()), 0, 1e9));
    return StopRule{kind, value};
  }
  return Err(ErrorCode::kInvalid,
             "'{}' is no rule; use never, correct, speedup>=X, sol>=X or reward>=X", text);
}

std::string ToString(const StopRule& rule) {
  switch (rule.kind) {
    case StopRule::Kind::kNever:
      return "never";
    case StopRule::Kind::kCorrect:
      return "correct";
    case StopRule::Kind::kSpeedup:
      return fmt::format("speedup>={}", rule.at_least);
    case StopRule::Kind::kRoofline:
      return fmt::format("sol>={}", rule.at_least);
    case StopRule::Kind::kReward:
      return fmt::format("reward>={}", rule.at_least);
  }
  return "never";
}

Result<Configuration> ReadEnvironment(const char* const* environment) {
  constexpr std::string_view kPrefix = "KERNEL_ENV_";
  Configuration out;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    const auto known = Variables().find(name);
    if (known == Variables().end()) {
      if (!name.starts_with(kPrefix)) continue;
      std::string nearest;
      size_t distance = SIZE_MAX;
      for (const auto& [candidate, apply] : Variables()) {
        const size_t here = EditDistance(candidate, name);
        if (here < distance) distance = here, nearest = candidate;
      }
      return Err(ErrorCode::kInvalid, "unknown environment variable {}; did you mean {}?", name,
                 nearest);
    }
    if (Status status = known->second(entry.substr(equals + 1), &out); !status.ok())
      return Err(ErrorCode::kInvalid, "environment variable {}: {}", name, status.error().message);
  }
  return out;
}

}  // namespace assay::openenv
