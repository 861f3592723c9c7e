#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "server/options.h"

namespace assay {

/// The options of what judges, as `assay serve` and `assay worker` take them.
struct RunnerFlags {
  std::string python;
  std::string secret_file;
  std::string require_sandbox = "none";
  std::string overrides;
  std::string runner = "engine";
  double echo_delay_ms = 0;
  bool has_jobs = false;  ///< --jobs was given
};

/// `runners`: the values of --runner that the command has. Both outlive the parsing.
void AddRunnerFlags(CLI::App* command, RunnerFlags* flags, RunnerOptions* options,
                    const std::vector<std::string>& runners);

/// Fills in what the flags say, after the parsing. kInvalid names the flag.
Status ApplyRunnerFlags(const RunnerFlags& flags, RunnerOptions* options);

}  // namespace assay
