#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/fd.h"
#include "sandbox/internal.h"

namespace assay::sandbox {
namespace {

constexpr int kStemTimeoutMs = 10'000;

struct Capabilities {
  __user_cap_data_struct words[2] = {};
};

int GetCapabilities(Capabilities* capabilities) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return static_cast<int>(::syscall(SYS_capget, &header, capabilities->words));
}

int LastCapability() {
  int last = 63;
  while (last > 0 && ::prctl(PR_CAPBSET_READ, last, 0, 0, 0) < 0) --last;
  return last;
}

bool BoundingSetIsEmpty() {
  for (int capability = LastCapability(); capability >= 0; --capability)
    if (::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) != 0) return false;
  return true;
}

/// Never above the hard limit that is already there, and soft equals hard.
bool Limit(int resource, uint64_t value) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return false;
  limit.rlim_max = std::min<rlim_t>(value, limit.rlim_max);
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0;
}

void DropBoundingSet() {
  for (int capability = LastCapability(); capability >= 0; --capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

int CloseRange(unsigned first, unsigned last) {
  if (::syscall(SYS_close_range, first, last, 0) == 0) return 0;
  if (errno != ENOSYS) return -1;
  // Before Linux 5.9. No descriptor is above the limit unless the limit was lowered since.
  const auto end = static_cast<unsigned>(::sysconf(_SC_OPEN_MAX));
  for (unsigned fd = first; fd <= last && fd < end; ++fd) ::close(static_cast<int>(fd));
  return 0;
}

}  // namespace

bool HasCapability(int capability) {
  Capabilities capabilities;
  if (GetCapabilities(&capabilities) != 0) return false;
  return (capabilities.words[capability / 32].effective >> (capability % 32) & 1u) != 0;
}

void SetLimits(const SandboxSpec& spec, SandboxReport* report) {
  struct {
    const char* name;
    int resource;
    uint64_t value;
  } const limits[] = {
      {"open files", RLIMIT_NOFILE, spec.max_open_files},
      {"file size", RLIMIT_FSIZE, spec.max_file_bytes},
      // 1, not 0: a core pattern that pipes to a handler ignores 0, and would dump gigabytes.
      {"core", RLIMIT_CORE, 1},
      {"stack", RLIMIT_STACK, 64ull << 20},
      {"data", RLIMIT_DATA, spec.max_data_bytes == 0 ? RLIM_INFINITY : spec.max_data_bytes},
      {"message queues", RLIMIT_MSGQUEUE, 0},
      {"real-time priority", RLIMIT_RTPRIO, 0},
      {"nice", RLIMIT_NICE, 0},
  };
  bool all = true;
  for (const auto& limit : limits) {
    if (Limit(limit.resource, limit.value)) continue;
    Miss(report, "rlimits", limit.name, errno);
    all = false;
  }
  // Counted per user (and user namespace): with a shared user it would count the worker's too.
  if (report->own_uid || report->user_ns) {
    if (!Limit(RLIMIT_NPROC, spec.max_processes)) {
      Miss(report, "rlimits", "processes", errno);
      all = false;
    }
  } else {
    report->missing.emplace_back(
        "process limit: needs a user of its own (run the worker as root) or a user namespace");
  }
  report->rlimits = all;
}

void BecomeUser(uint32_t uid, SandboxReport* report) {
  DropBoundingSet();  // afterwards the right to do it is gone
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 ||
      ::setresuid(uid, uid, uid) != 0)
    return Miss(report, "own user", "setresuid", errno);
  report->own_uid = true;
}

void DropPrivileges(SandboxReport* report) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  DropBoundingSet();
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const Capabilities none;
  if (::syscall(SYS_capset, &header, none.words) != 0)
    Miss(report, "capabilities", "capset", errno);
  else
    report->no_capabilities = true;
  if (!BoundingSetIsEmpty() && ::geteuid() == 0) {
    // Matters only to root, who regains the bounding set at exec; others cannot gain any.
    report->missing.emplace_back("capabilities: the bounding set could not be emptied");
    report->no_capabilities = false;
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    Miss(report, "no-new-privileges", "prctl", errno);
  else
    report->no_new_privs = true;
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

Status CloseDescriptors(std::vector<int> keep) {
  std::erase_if(keep, [](int fd) { return fd < 0; });
  std::sort(keep.begin(), keep.end());
  unsigned next = 0;
  for (const int fd : keep) {
    const auto kept = static_cast<unsigned>(fd);
    if (kept > next && CloseRange(next, kept - 1) != 0) return ErrnoError("close_range", errno);
    next = kept + 1;
  }
  if (CloseRange(next, ~0u) != 0) return ErrnoError("close_range", errno);
  // Otherwise the next files opened would become standard streams.
  for (int fd = 0; fd <= 2; ++fd) {
    if (std::binary_search(keep.begin(), keep.end(), fd)) continue;
    const int opened = ::open("/dev/null", O_RDWR);
    if (opened < 0) return ErrnoError("cannot open /dev/null", errno);
    if (opened == fd) continue;
    ::dup2(opened, fd);
    ::close(opened);
  }
  return {};
}

void DieWithWorker(SandboxReport* report) {
  if (report->stem_pidfd < 0) {
    report->missing.emplace_back("death with the worker: no pidfd of the stem (needs Linux 5.3)");
    return;
  }
  // The kernel re-parents the children before it marks a pidfd as ended; arming earlier would make
  // the stem's own end kill the candidate.
  pollfd stem{report->stem_pidfd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&stem, 1, kStemTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  ::close(report->stem_pidfd);
  report->stem_pidfd = -1;
  if (ready != 1) {
    report->missing.emplace_back("death with the worker: the stem did not exit");
    return;
  }
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return Miss(report, "death with the worker", "prctl", errno);
  report->dies_with_worker = true;
}

}  // namespace assay::sandbox
