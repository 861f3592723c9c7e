#include "doctor/doctor.h"

#include "cli/commands.h"

namespace assay {
namespace {

struct Options {
  std::string python;
  bool as_json = false;
};

int Doctor(const Options& options) {
  const std::vector<Check> checks = Examine(ChoosePython(options.python));
  fmt::print("{}",
             options.as_json ? json::serialize(ChecksToJson(checks)) + "\n" : ChecksToText(checks));
  for (const Check& check : checks)
    if (check.state == Check::kMissing) return kExitInfrastructure;
  return kExitOk;
}

}  // namespace

void AddDoctor(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand(
      "doctor", "What this machine can do, and the command for what is missing");
  command->add_option("--python", options->python, "interpreter that will run submissions");
  command->add_flag("--json", options->as_json, "machine-readable");
  command->footer(
      "Exit codes: 0 nothing is missing, 3 something is.\n"
      "Examples:\n"
      "  assay doctor\n"
      "  assay doctor --python .venv/bin/python --json");
  command->callback([options, exit_code] { *exit_code = Doctor(*options); });
}

}  // namespace assay
