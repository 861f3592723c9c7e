#include "cli/runner_flags.h"

#include "base/fd.h"
#include "base/strings.h"
#include "cli/commands.h"

namespace assay {

void AddRunnerFlags(CLI::App* command, RunnerFlags* flags, RunnerOptions* options,
                    const std::vector<std::string>& runners) {
  command
      ->add_option("--device", options->devices,
                   "auto, cpu, cuda:N; repeatable or a list: cuda:0,cuda:1 (default: auto)")
      ->delimiter(',');
  command
      ->add_option_function<int>(
          "--jobs",
          [flags, options](const int& jobs) {
            options->jobs = jobs;
            flags->has_jobs = true;
          },
          fmt::format("submissions in work at once on each device (default: {})", options->jobs))
      ->check(CLI::Range(1, 64));
  command->add_option("--pool", options->device.limits.pool, "warmed candidates kept ready")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--python", flags->python,
                      "interpreter with torch >= 2.6 (default: the active environment's)");
  command
      ->add_option("--require-sandbox", flags->require_sandbox,
                   "refuse less than: none, limits, filtered, isolated, full")
      ->capture_default_str();
  command->add_option("--secret-file", flags->secret_file,
                      "key of the hidden seeds, to replay verdicts (default: random)");
  command->add_option("--overrides", flags->overrides,
                      "a JSON file of corrections of tasks' bounds (docs/roofline.md)");
  command
      ->add_option("--runner", flags->runner,
                   Join(runners, ", ") + "; echo judges nothing, for load tests of the service")
      ->check(CLI::IsMember(runners))
      ->capture_default_str();
  command->add_option("--echo-delay-ms", flags->echo_delay_ms, "with --runner echo")
      ->check(CLI::Range(0, 600'000));
}

Status ApplyRunnerFlags(const RunnerFlags& flags, RunnerOptions* options) {
  options->device.python = ChoosePython(flags.python);
  ASSAY_ASSIGN_OR_RETURN(options->device.require_sandbox, ParseSandboxLevel(flags.require_sandbox));
  ASSAY_ASSIGN_OR_RETURN(options->device.overrides, LoadOverrides(flags.overrides));
  if (!flags.secret_file.empty()) {
    ASSAY_ASSIGN_OR_RETURN(options->secret, ReadFile(flags.secret_file, 4096));
    if (options->secret.size() < 16)
      return Err(ErrorCode::kInvalid, "'{}' holds a secret of {} bytes; 16 is the least",
                 flags.secret_file, options->secret.size());
  }
  options->none = flags.runner == "none";
  options->echo = flags.runner == "echo";
  options->echo_delay = Milliseconds(flags.echo_delay_ms);
  return {};
}

}  // namespace assay
