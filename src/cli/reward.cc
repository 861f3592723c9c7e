#include "reward/reward.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/fd.h"
#include "base/strings.h"
#include "cli/commands.h"

namespace assay {
namespace {

struct Options {
  std::string mode = "roofline";
  std::vector<std::string> settings;
  std::string file;
  bool list = false;
  bool as_json = false;
};

Result<std::string> ReadInput(const std::string& file) {
  if (file != "-") return ReadFile(file);
  std::string text;
  char buffer[1 << 16];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, stdin))
    text.append(buffer, count);
  if (std::ferror(stdin) != 0) return Err(ErrorCode::kIo, "cannot read standard input");
  return text;
}

json::object Describe(const RewardMode& mode) {
  return {{"name", mode.name},       {"version", mode.version},
          {"low", mode.low},         {"high", mode.high},
          {"summary", mode.summary}, {"parameters", mode.parameters},
          {"source", mode.source},   {"ranks_correct", mode.ranks_correct}};
}

int List(bool as_json) {
  for (const RewardMode& mode : RewardModes()) {
    if (as_json) {
      fmt::print("{}\n", json::serialize(Describe(mode)));
      continue;
    }
    fmt::print("{:<12} [{:g}, {:g}]  {}\n", mode.name, mode.low, mode.high, mode.summary);
    fmt::print("{:<12} {}\n", "", json::serialize(mode.parameters));
    if (!mode.source.empty()) fmt::print("{:<12} {}\n", "", mode.source);
  }
  return kExitOk;
}

/// Prints one verdict's reward, or why there is none; the exit code that fits.
int Print(const Options& options, const json::object& parameters, const Result<json::object>& read,
          const std::string& where) {
  const Result<Reward> reward =
      read.ok() ? ComputeReward(options.mode, parameters, *read) : Result<Reward>(read.error());
  const json::object empty;
  const json::object& verdict = read.ok() ? *read : empty;
  const std::string id = CleanText(TruncateMiddle(GetString(verdict, "id"), 100));
  const std::string task = CleanText(TruncateMiddle(GetString(verdict, "task_id"), 100));
  if (!reward.ok()) {
    const int code = Report({reward.error().code, where + reward.error().message});
    if (options.as_json) {
      fmt::print("{}\n", json::serialize(json::object{{"id", id},
                                                      {"task_id", task},
                                                      {"mode", options.mode},
                                                      {"reward", nullptr},
                                                      {"error", reward.error().message}}));
    }
    return code;
  }
  const auto mode = std::find_if(RewardModes().begin(), RewardModes().end(),
                                 [&](const RewardMode& each) { return each.name == options.mode; });
  if (options.as_json) {
    json::object line{
        {"id", id},
        {"task_id", task},
        {"mode", mode->name},
        {"version", mode->version},
        {"reward", reward->masked ? json::value(nullptr) : json::value(reward->value)},
        {"masked", reward->masked},
        {"parts", reward->parts},
        {"explanation", reward->explanation},
        {"parameters", parameters},
        {"protocol", CleanText(TruncateMiddle(GetString(verdict, "protocol"), 100))}};
    fmt::print("{}\n", json::serialize(line));
  } else {
    fmt::print("{:>9}  {}/{}  {}{}{}\n",
               reward->masked ? "masked" : fmt::format("{:.4f}", reward->value), mode->name,
               mode->version, id, id.empty() ? "" : "  ", reward->explanation);
  }
  return kExitOk;
}

int Run(const Options& options) {
  if (options.list) return List(options.as_json);
  if (options.file.empty())
    return Report(
        Err(ErrorCode::kInvalid, "name a verdict's file, - for standard input, or --list"));
  const Result<json::object> parameters = ParseSettings(options.settings);
  if (!parameters.ok()) return Report(parameters.error());
  // A mode or parameter that is wrong is said once, not once a verdict.
  if (const Result<RewardRange> range = RangeOf(options.mode, *parameters); !range.ok())
    return Report(range.error());
  const Result<std::string> text = ReadInput(options.file);
  if (!text.ok()) return Report(text.error());
  if (Trim(*text).empty()) return Report(Err(ErrorCode::kInvalid, "{} is empty", options.file));
  constexpr size_t kMaxVerdict = 64u << 20;
  const Result<json::object> whole = ParseJsonObject(*text, kMaxVerdict);
  const std::vector<std::string_view> lines = Split(*text, '\n');
  const auto full = [](std::string_view line) { return !Trim(line).empty(); };
  if (whole.ok() || std::count_if(lines.begin(), lines.end(), full) == 1)
    return Print(options, *parameters, whole, "");
  int worst = kExitOk;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!full(lines[i])) continue;
    const Result<json::object> verdict = ParseJsonObject(Trim(lines[i]), kMaxVerdict);
    worst = std::max(worst, Print(options, *parameters, verdict, fmt::format("line {}: ", i + 1)));
  }
  return worst;
}

}  // namespace

void AddReward(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app->add_subcommand("reward", "What a verdict is worth under a reward mode; needs no GPU");
  command->add_option("file", options->file, "a verdict, or one a line; - is standard input");
  command->add_option("--mode", options->mode, "reward mode")->capture_default_str();
  command->add_option("--set", options->settings,
                      "a parameter of the mode, NAME=VALUE; repeatable");
  command->add_flag("--list", options->list, "the modes, their ranges, formulas and parameters");
  command->add_flag("--json", options->as_json, "one JSON object a line");
  command->footer(
      "Exit codes: 0 every verdict has a reward or is masked, 2 a wrong mode, parameter or\n"
      "document, 3 a verdict lacks what the mode needs.\n"
      "Examples:\n"
      "  assay reward --list\n"
      "  assay reward --mode speedup --set cap=2 verdict.json\n"
      "  assay eval --task assay/relu examples/relu.py --json | assay reward --mode kevin -");
  command->callback([options, exit_code] { *exit_code = Run(*options); });
}

}  // namespace assay
