#include "openenv/reset_request.h"

#include <cmath>
#include <functional>
#include <map>

#include "base/hash.h"
#include "base/strings.h"
#include "openenv/action.h"
#include "reward/reward.h"
#include "task/modes.h"

namespace assay::openenv {
namespace {

constexpr size_t kMaxIgnored = 16;
constexpr size_t kMaxText = 1024;
constexpr size_t kMaxParameters = 16u << 10;  // of a reward or of judging, as JSON

Result<std::string> Text(const json::value& value) {
  if (value.is_string()) {
    if (value.get_string().size() > kMaxText)
      return Err(ErrorCode::kInvalid, "must not have more than {} bytes", kMaxText);
    return std::string(value.get_string());
  }
  return Err(ErrorCode::kInvalid, "must be a string");
}

/// Data sets carry numbers as text and as floats; whatever is a whole number is one.
Result<int64_t> Whole(const json::value& value, int64_t low, int64_t high) {
  double number = std::nan("");
  if (value.is_number()) number = value.to_number<double>();
  if (value.is_string()) {
    const std::string text(value.get_string());
    char* end = nullptr;
    number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') number = std::nan("");
  }
  if (!(number >= static_cast<double>(low) && number <= static_cast<double>(high)) ||
      number != std::floor(number))
    return Err(ErrorCode::kInvalid, "must be a whole number from {} to {}", low, high);
  return static_cast<int64_t>(number);
}

Status Small(const json::object& object) {
  if (json::serialize(object).size() <= kMaxParameters) return {};
  return Err(ErrorCode::kInvalid, "must not have more than {} bytes", kMaxParameters);
}

/// Decimal text of a number of any size. Integers beyond 64 bits arrive as the nearest double,
/// which is still the same for the same text.
std::string DecimalText(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_double()) return fmt::format("{:.17g}", value.get_double());
  return json::serialize(value);
}

std::string ModeNames() {
  std::vector<std::string> names;
  for (const RewardMode& mode : RewardModes()) names.push_back(mode.name);
  return Join(names, ", ");
}

class Parser {
 public:
  Parser(const Settings& settings, ResetRequest* out) : settings_(settings), out_(out) {}

  void Read(const std::string& key, const json::value& value) {
    if (value.is_null()) return;
    const auto handler = Handlers().find(key);
    if (handler == Handlers().end()) {
      if (out_->ignored.size() < kMaxIgnored)
        out_->ignored.push_back(CleanText(TruncateMiddle(key, 80)));
      return;
    }
    if (Status status = handler->second(*this, value); !status.ok())
      out_->errors.emplace_back(
          FieldError("value_error", {json::string(key)}, status.error().message, &value));
  }

 private:
  using Handler = std::function<Status(Parser&, const json::value&)>;

  template <typename T, typename U>
  static Status Put(Result<T> parsed, U* field) {
    if (!parsed.ok()) return parsed.error();
    *field = static_cast<U>(*std::move(parsed));
    return {};
  }

  Status RewardModeOrEmission(const json::value& value) {
    ASSAY_ASSIGN_OR_RETURN(const std::string text, Text(value));
    if (const Result<Emission> emission = ParseEmission(text); emission.ok()) {
      out_->config.emission = *emission;
      return {};
    }
    for (const RewardMode& mode : RewardModes()) {
      if (mode.name != text) continue;
      out_->config.reward_mode = text;
      // The server's parameters belong to the server's mode.
      if (text != settings_.reward_mode) out_->config.reward_parameters = {};
      return {};
    }
    return Err(ErrorCode::kInvalid, "no reward mode '{}'; there is: {}; or absolute, delta, best",
               text, ModeNames());
  }

  Status Timing(const json::value& value) {
    if (value.is_bool()) {
      out_->config.timing = value.get_bool();
      return {};
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string text, Text(value));
    if (text != "on" && text != "off") return Err(ErrorCode::kInvalid, "must be on or off");
    out_->config.timing = text == "on";
    return {};
  }

  /// Options of the engine, handed on with every submission of the episode.
  Status Judging(const json::object& options) {
    if (Status small = Small(options); !small.ok()) return small;
    for (const auto& [name, value] : options)
      if (!IsMode(name))
        return Err(ErrorCode::kInvalid, "has no member '{}'", CleanText(name).substr(0, 100));
    if (const Result<Modes> modes = ReadModes(options); !modes.ok()) return modes.error();
    for (const auto& [name, value] : options) out_->config.judging[name] = value;
    return {};
  }

  /// As OpenEnv's own request model has it, which also tells these errors from each other; text
  /// is taken as it is.
  Status Seed(const json::value& value) {
    const double number = value.is_number() ? value.to_number<double>() : 0;
    if (!value.is_string() &&
        (!value.is_number() || number != std::floor(number) || !std::isfinite(number))) {
      out_->errors.emplace_back(FieldError("int_type", {"seed"}, "must be an integer", &value));
      return {};
    }
    if (number < 0) {
      json::object error =
          FieldError("greater_than_equal", {"seed"}, "must be greater than or equal to 0", &value);
      error["ctx"] = {{"ge", 0}};
      out_->errors.emplace_back(std::move(error));
      return {};
    }
    if (value.is_string() && value.get_string().size() > kMaxText)
      return Err(ErrorCode::kInvalid, "is too long");
    out_->has_seed = true;
    out_->config.seed = value;
    out_->choice.seed = DecimalText(value);
    return {};
  }

  Status EpisodeId(const json::value& value) {
    if (!value.is_string())
      out_->errors.emplace_back(
          FieldError("string_type", {"episode_id"}, "must be a string", &value));
    else if (value.get_string().size() > 255)
      out_->errors.emplace_back(FieldError("string_too_long", {"episode_id"},
                                           "must have at most 255 characters", &value));
    else
      out_->config.episode_id = value.get_string();
    return {};
  }

  static const std::map<std::string, Handler, std::less<>>& Handlers() {
    using V = const json::value&;
    static const auto* const table = new std::map<std::string, Handler, std::less<>>{
        {"task_id", [](Parser& p, V v) { return Put(Text(v), &p.out_->choice.task_id); }},
        {"problem_id",
         [](Parser& p, V v) -> Status {
           if (!v.is_number() && !v.is_string())
             return Err(ErrorCode::kInvalid, "must be a string or a number");
           if (v.is_string() && v.get_string().size() > kMaxText)
             return Err(ErrorCode::kInvalid, "must not have more than {} bytes", kMaxText);
           if (p.out_->choice.task_id.empty()) p.out_->choice.task_id = DecimalText(v);
           return {};
         }},
        {"suite", [](Parser& p, V v) { return Put(Text(v), &p.out_->choice.suite); }},
        {"split", [](Parser& p, V v) { return Put(Text(v), &p.out_->choice.split); }},
        {"level", [](Parser& p, V v) { return Put(Whole(v, 0, 1000), &p.out_->choice.level); }},
        {"index",
         [](Parser& p, V v) -> Status {
           ASSAY_ASSIGN_OR_RETURN(p.out_->choice.index, Whole(v, 0, 1'000'000'000));
           return {};
         }},
        {"seed", [](Parser& p, V v) { return p.Seed(v); }},
        {"episode_id", [](Parser& p, V v) { return p.EpisodeId(v); }},
        {"max_turns",
         [](Parser& p, V v) {
           return Put(Whole(v, 1, p.settings_.max_turns_limit), &p.out_->config.max_turns);
         }},
        {"reward_mode", [](Parser& p, V v) { return p.RewardModeOrEmission(v); }},
        {"reward_parameters",
         [](Parser& p, V v) -> Status {
           if (!v.is_object()) return Err(ErrorCode::kInvalid, "must be an object");
           if (Status small = Small(v.get_object()); !small.ok()) return small;
           p.out_->config.reward_parameters = v.get_object();
           return {};
         }},
        {"emit",
         [](Parser& p, V v) -> Status {
           ASSAY_ASSIGN_OR_RETURN(const std::string text, Text(v));
           return Put(ParseEmission(text), &p.out_->config.emission);
         }},
        {"stop_on",
         [](Parser& p, V v) -> Status {
           ASSAY_ASSIGN_OR_RETURN(const std::string text, Text(v));
           return Put(ParseStopRule(text), &p.out_->config.stop_on);
         }},
        {"baseline",
         [](Parser& p, V v) {
           return p.Judging({{"baseline", v}});
         }},
        {"judging",
         [](Parser& p, V v) -> Status {
           if (!v.is_object()) return Err(ErrorCode::kInvalid, "must be an object");
           return p.Judging(v.get_object());
         }},
        {"timing", [](Parser& p, V v) { return p.Timing(v); }},
        {"detail",
         [](Parser& p, V v) -> Status {
           ASSAY_ASSIGN_OR_RETURN(const std::string text, Text(v));
           if (text != "short" && text != "full")
             return Err(ErrorCode::kInvalid, "must be short or full");
           p.out_->config.full_detail = text == "full";
           return {};
         }},
        {"backend_hint",
         [](Parser& p, V v) -> Status {
           ASSAY_ASSIGN_OR_RETURN(std::string text, Text(v));
           p.out_->config.backend_hint = CleanText(TruncateMiddle(text, 64));
           return {};
         }},
        {"resume", [](Parser& p, V v) { return Put(Text(v), &p.out_->resume); }},
        {"options", [](Parser&, V) -> Status { return {}; }},
    };
    return *table;
  }

  const Settings& settings_;
  ResetRequest* out_;
};

}  // namespace

ResetRequest ParseReset(const json::object& data, const Settings& settings) {
  ResetRequest out;
  out.choice.split = settings.default_split;
  EpisodeConfig& config = out.config;
  config.max_turns = settings.max_turns;
  config.emission = settings.emission;
  config.stop_on = settings.stop_on;
  config.reward_mode = settings.reward_mode;
  config.reward_parameters = settings.reward_parameters;
  config.judging = settings.judging;
  config.max_infra_faults = settings.max_infra_faults;
  config.max_integrity_violations = settings.max_integrity_violations;

  Parser parser(settings, &out);
  // What stands beside `options` is said more directly, so it comes second and wins.
  for (const auto& [key, value] : GetObject(data, "options")) parser.Read(key, value);
  for (const auto& [key, value] : data) parser.Read(key, value);

  config.max_checks = config.max_turns * settings.checks_per_turn;
  if (config.episode_id.empty()) config.episode_id = NewId("ep-");
  if (!config.timing) {
    // Rewards of the deterministic profile must not rest on a clock.
    config.reward_mode = "tiers";
    config.reward_parameters = {{"timing", false}};
  }
  return out;
}

}  // namespace assay::openenv
