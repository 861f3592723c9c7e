#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "base/fd.h"
#include "sandbox/internal.h"

namespace assay::sandbox {
namespace {

struct Namespace {
  int flag;
  const char* name;
  bool SandboxReport::*member;
};

constexpr Namespace kNamespaces[] = {
    {CLONE_NEWPID, "pid namespace", &SandboxReport::pid_ns},
    {CLONE_NEWNS, "mount namespace", &SandboxReport::mount_ns},
    {CLONE_NEWNET, "network namespace", &SandboxReport::net_ns},
    {CLONE_NEWIPC, "ipc namespace", &SandboxReport::ipc_ns},
    {CLONE_NEWUTS, "uts namespace", &SandboxReport::uts_ns},
};

/// Runs in a child that shares this process's memory: only system calls.
int MountProcOrFail(void* /*unused*/) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  return ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0
                                                                                          : errno;
}

/// Whether a new pid namespace could have its own /proc; errno, or 0. A container runtime that
/// masks parts of /proc makes the kernel refuse it inside a user namespace.
///
/// Tried in a throw-away child, since the first child of a pid namespace is its init and its end
/// ends the namespace. The child borrows this address space, so nothing is copied.
int TryFreshProc() {
  constexpr size_t kStack = 64u << 10;
  void* stack = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return errno;
  const pid_t child =
      ::clone(MountProcOrFail, static_cast<char*>(stack) + kStack,
              CLONE_VM | CLONE_VFORK | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, nullptr);
  int result = errno;
  if (child > 0) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    result = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
  }
  ::munmap(stack, kStack);
  return result;
}

/// Brings the loopback device of a new network namespace up; errno, or 0.
int BringLoopbackUp() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno;
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");  // NOLINT(clang-analyzer-security.insecureAPI.strcpy)
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

}  // namespace

int WriteKnob(const char* path, std::string_view text) {
  const UniqueFd fd(::open(path, O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return errno;
  return ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                          : errno;
}

int MapOwnUser(uint32_t uid, uint32_t gid) {
  // An unprivileged process may map its group only after giving up setgroups(2).
  int error = WriteKnob("/proc/self/setgroups", "deny");
  if (error == 0) error = WriteKnob("/proc/self/uid_map", fmt::format("{0} {0} 1", uid));
  if (error == 0) error = WriteKnob("/proc/self/gid_map", fmt::format("{0} {0} 1", gid));
  return error;
}

void EnterUserNamespace(SandboxReport* report) {
  const uint32_t uid = ::geteuid();
  const uint32_t gid = ::getegid();
  // A change of user makes the process non-dumpable, and its /proc/self root's.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  if (::unshare(CLONE_NEWUSER) != 0) return Miss(report, "user namespace", "unshare", errno);
  const int error = MapOwnUser(uid, gid);
  if (error != 0) return Miss(report, "user namespace", "uid_map", error);
  report->user_ns = true;
}

}  // namespace assay::sandbox

namespace assay {

SandboxReport Unshare(const SandboxSpec& spec) {
  using sandbox::Miss;
  SandboxReport report;
  report.stem_pidfd = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));

  if (!sandbox::HasCapability(CAP_SYS_ADMIN)) {
    // Root of a plain container: becoming the candidate's user first leaves one case, not two.
    if (::geteuid() == 0) sandbox::BecomeUser(spec.uid, &report);
    sandbox::EnterUserNamespace(&report);
    if (!report.user_ns) {
      for (const auto& ns : sandbox::kNamespaces)
        report.missing.push_back(
            fmt::format("{}: needs CAP_SYS_ADMIN or a user namespace", ns.name));
      return report;
    }
  }

  int wanted = 0;
  for (const auto& ns : sandbox::kNamespaces) wanted |= ns.flag;
  if (const int error = sandbox::TryFreshProc(); error != 0) {
    // CUDA cannot start in a pid namespace with the host's /proc, so it is both or neither.
    Miss(&report, "pid namespace", "its /proc cannot be mounted", error);
    wanted &= ~CLONE_NEWPID;
  }
  const bool all = ::unshare(wanted) == 0;
  for (const auto& ns : sandbox::kNamespaces) {
    if ((wanted & ns.flag) == 0) continue;
    if (all || ::unshare(ns.flag) == 0)
      report.*ns.member = true;
    else
      Miss(&report, ns.name, "unshare", errno);
  }
  if (spec.loopback && report.net_ns) {
    const int error = sandbox::BringLoopbackUp();
    if (error == 0)
      report.loopback = true;
    else
      Miss(&report, "loopback", "lo", error);
  }
  return report;
}

}  // namespace assay
