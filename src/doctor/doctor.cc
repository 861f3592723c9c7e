#include "doctor/doctor.h"

#include <iterator>

#include "base/strings.h"
#include "sandbox/cgroup.h"

namespace assay {

std::vector<Check> CheckSandbox(const SandboxReport& report) {
  Check check{"sandbox", Check::kOk, fmt::format("level {}", ToString(report.level)), ""};
  if (report.level < SandboxLevel::kFiltered)
    check.state = Check::kMissing;
  else if (report.level < SandboxLevel::kIsolated)
    check.state = Check::kWarn;
  if (report.level < SandboxLevel::kIsolated)
    check.fix =
        "run the worker as root, or allow user namespaces (sysctl -w "
        "kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=10000); in "
        "Docker: "
        "docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt "
        "apparmor=unconfined --security-opt systempaths=unconfined";
  std::vector<Check> checks = {std::move(check)};
  // The level says how grave it is; the reasons are for whoever mends it.
  for (const std::string& missing : report.missing)
    checks.push_back({"sandbox", Check::kWarn, missing, ""});
  return checks;
}

Check CheckCgroup() {
  const Status status = Cgroup::CheckAvailable();
  if (status.ok()) return {"cgroup", Check::kOk, "version 2, delegated to this process", ""};
  return {"cgroup", Check::kWarn, status.error().message + "; memory is bounded per process only",
          "systemd-run --scope -p Delegate=yes assay eval ..."};
}

std::vector<Check> Examine(const ExamineOptions& options) {
  std::vector<Check> checks;
  const auto append = [&](std::vector<Check> more) {
    checks.insert(checks.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  };
  append(CheckSystem());
  append(CheckGpus(options));
  append(CheckPython(options.python));
  append(CheckTools());
  append(CheckProfilers(options.driver_parameters));
  append(CheckSandbox(ProbeSandbox()));
  checks.push_back(CheckCgroup());
  return checks;
}

std::vector<Check> Examine(const std::string& python) {
  return Examine(ExamineOptions{.python = python});
}

}  // namespace assay
