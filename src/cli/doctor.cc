#include "doctor/doctor.h"

#include "cli/allocator.h"
#include "cli/commands.h"

namespace assay {
namespace {

struct Options {
  std::string python;
  bool as_json = false;
};

/// Of this program and not of the machine, so Examine() cannot know it.
Check CheckAllocator() {
  const std::string name = AllocatorName();
  if (name.starts_with("mimalloc")) return {"allocator", Check::kOk, name, ""};
  return {"allocator", Check::kWarn, name + "; `assay serve` answers fewer requests a second",
          "delete the build folder and build where deb.debian.org can be reached, or with "
          "-DASSAY_MIMALLOC_SOURCE=<mimalloc's source folder>"};
}

int Doctor(const Options& options) {
  std::vector<Check> checks = Examine(ChoosePython(options.python));
  checks.push_back(CheckAllocator());
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
