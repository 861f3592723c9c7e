#include <algorithm>

#include "base/log.h"
#include "cli/commands.h"

namespace {

/// An option that is repeatable takes one value a use, in every command below `app`: it must not
/// swallow what stands behind it.
void TakeOneValueAUse(CLI::App* app) {
  for (CLI::Option* option : app->get_options())
    if (!option->get_positional() && option->get_items_expected_max() > 1)
      option->allow_extra_args(false);
  for (CLI::App* command : app->get_subcommands(nullptr)) TakeOneValueAUse(command);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Assay judges GPU kernels written by language models."};
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(
      "Examples:\n"
      "  assay eval --task assay/relu examples/relu.py    judge a submission\n"
      "  assay tasks list                                 what can be solved\n"
      "  assay doctor                                     what this machine can do");
  std::string log_level = "warn";
  app.add_option("--log-level", log_level,
                 "trace, debug, info, warn, error or off; logs go to standard error")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->each([](const std::string& level) { assay::SetUpLogging(level); });
  assay::SetUpLogging(log_level);

  int exit_code = assay::kExitOk;
  assay::AddEval(&app, &exit_code);
  assay::AddTasks(&app, &exit_code);
  assay::AddDoctor(&app, &exit_code);
  assay::AddReward(&app, &exit_code);
  assay::AddRoofline(&app, &exit_code);
  assay::AddTimerCheck(&app, &exit_code);
  assay::AddServe(&app, &exit_code);
  assay::AddWorker(&app, &exit_code);
  assay::AddTop(&app, &exit_code);
  assay::AddKeys(&app, &exit_code);
  assay::AddStoreCommands(&app, &exit_code);
  assay::AddVersion(&app, &exit_code);
  assay::AddZoo(&app, &exit_code);
  TakeOneValueAUse(&app);
  const auto is_command = [&](std::string_view word) {
    const auto commands = app.get_subcommands(nullptr);
    return std::any_of(commands.begin(), commands.end(),
                       [&](const CLI::App* command) { return command->get_name() == word; });
  };
  if (argc > 1 && argv[1][0] != '-' && !is_command(argv[1])) {
    fmt::print(stderr, "assay: there is no command '{}'; `assay --help` lists them\n", argv[1]);
    return assay::kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? assay::kExitOk : assay::kExitUsage;
  }
  return exit_code;
}
