#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "sandbox/sandbox.h"

namespace assay {

/// One thing that Assay needs or can use, and whether this machine has it.
struct Check {
  enum State {
    kOk,
    kWarn,     ///< there, but less than it should be, or only some submissions need it
    kMissing,  ///< something that Assay does will not work
  };
  std::string name;
  State state = kOk;
  std::string detail;  ///< what was found, one line
  std::string fix;     ///< the command that mends it; empty when there is nothing to mend
};

std::string_view ToString(Check::State state);

/// Where to look; other values are for tests.
struct ExamineOptions {
  std::string python = "python3";  ///< interpreter that will run submissions (path or name)
  std::string nvml = "libnvidia-ml.so.1";
  std::string cuda = "libcuda.so.1";
  std::string driver_parameters = "/proc/driver/nvidia/params";
};

/// Everything about this machine, in the order in which people should read it. Starts short
/// subprocesses (interpreter, compilers, a trial sandbox); changes nothing; takes about a second.
/// Call it before the process has threads, as it forks.
std::vector<Check> Examine(const ExamineOptions& options);
std::vector<Check> Examine(const std::string& python);

/// Aligned lines for a terminal, ending with a summary.
std::string ChecksToText(const std::vector<Check>& checks);
/// {"ok": bool, "checks": [{"name", "state", "detail", "fix"}]}; ok: nothing is missing.
json::object ChecksToJson(const std::vector<Check>& checks);

/// The parts of Examine().
std::vector<Check> CheckSystem();
std::vector<Check> CheckGpus(const ExamineOptions& options);
std::vector<Check> CheckTools();
/// Nsight Compute and compute-sanitizer, and whether the driver lets others than root read
/// counters. `parameters`: the driver's own, /proc/driver/nvidia/params.
std::vector<Check> CheckProfilers(const std::string& parameters);
std::vector<Check> CheckPython(const std::string& python);
/// Pure: what a sandbox report means.
std::vector<Check> CheckSandbox(const SandboxReport& report);
Check CheckCgroup();

}  // namespace assay
