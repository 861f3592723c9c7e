#include "sandbox/sandbox.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/internal.h"

namespace assay {

Status Confine(const SandboxSpec& spec, const std::vector<int>& keep_fds, SandboxReport* report) {
  using namespace sandbox;  // NOLINT(google-build-using-namespace): its steps, in order
  // Still root of the initial user namespace: there is a user to become.
  const bool root = ::geteuid() == 0 && !report->own_uid && !report->user_ns;
  const uint32_t uid = root ? spec.uid : ::geteuid();

  if (::setsid() < 0 && errno != EPERM) return ErrnoError("sandbox: setsid", errno);
  if (const int error = WriteKnob("/proc/self/oom_score_adj", "1000"); error != 0)
    Miss(report, "oom score", "/proc/self/oom_score_adj", error);
  if (report->uts_ns && ::sethostname("assay", 5) != 0)
    return ErrnoError("sandbox: sethostname", errno);

  if (report->mount_ns)
    ASSAY_RETURN_IF_ERROR(EnterPrivateRoot(spec, uid, report));
  else
    report->missing.emplace_back("private root: needs a mount namespace");
  if (!report->private_root) {
    ASSAY_RETURN_IF_ERROR(MakeHostWorkDir(uid, report));
    report->missing.emplace_back("work folder limits: need a private root");
  }
  if (report->pid_ns && !report->fresh_proc)
    report->missing.emplace_back("fresh /proc: needs a private root");

  if (root) BecomeUser(spec.uid, report);
  if (root && report->own_uid) EnterUserNamespace(report);
  std::vector<int> keep = keep_fds;
  keep.push_back(report->stem_pidfd);
  ASSAY_RETURN_IF_ERROR(CloseDescriptors(keep));
  SetLimits(spec, report);
  DropPrivileges(report);
  if (::chdir(report->work_dir.c_str()) != 0)
    return ErrnoError("sandbox: cannot enter " + report->work_dir, errno);
  ::umask(077);
  DieWithWorker(report);
  RestrictWithLandlock(spec, report);
  RestrictSystemCalls(spec, report);
  report->level = LevelOf(*report);
  return {};
}

}  // namespace assay
