#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/fd.h"
#include "sandbox/internal.h"

namespace assay::sandbox {
namespace {

// The kernel's interface, which newer than the libc headers of most distributions.
constexpr int kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr uint32_t kVersionFlag = 1;
constexpr int kRulePathBeneath = 1;
constexpr uint32_t kNoAuditLog = 1;  // ABI 7: a hostile loop must not flood the audit log

struct RulesetAttributes {
  uint64_t fs = 0;
  uint64_t net = 0;     // ABI 4
  uint64_t scoped = 0;  // ABI 6
};

struct __attribute__((packed)) PathBeneath {
  uint64_t access;
  int32_t parent_fd;
};

constexpr uint64_t kExecute = 1u << 0, kWriteFile = 1u << 1, kReadFile = 1u << 2,
                   kReadFolder = 1u << 3, kTruncate = 1u << 14, kIoctlDevice = 1u << 15;
constexpr uint64_t kRead = kExecute | kReadFile | kReadFolder;
constexpr uint64_t kFileRights = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
constexpr uint64_t kDevice = kReadFile | kWriteFile | kTruncate | kIoctlDevice;

/// The rights that a kernel of this ABI knows.
RulesetAttributes KnownRights(int abi) {
  RulesetAttributes known;
  int rights = 13;            // up to MAKE_SYM
  if (abi >= 2) rights = 14;  // REFER
  if (abi >= 3) rights = 15;  // TRUNCATE
  if (abi >= 5) rights = 16;  // IOCTL_DEV
  known.fs = (1u << rights) - 1;
  if (abi >= 4) known.net = 3;     // BIND_TCP, CONNECT_TCP
  if (abi >= 6) known.scoped = 3;  // abstract Unix sockets, signals
  return known;
}

size_t AttributesSize(int abi) { return abi >= 6 ? 24 : abi >= 4 ? 16 : 8; }

class Ruleset {
 public:
  /// `network`: TCP is left alone.
  Ruleset(int abi, bool network) : known_(KnownRights(abi)) {
    if (network) known_.net = 0;
    fd_ = UniqueFd(static_cast<int>(::syscall(kCreateRuleset, &known_, AttributesSize(abi), 0)));
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

  /// A path that does not exist needs no rule. errno, or 0.
  [[nodiscard]] int Allow(const std::string& path, uint64_t access) const {
    const UniqueFd parent(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!parent.valid()) return 0;
    struct stat status {};
    if (::fstat(parent.get(), &status) != 0) return errno;
    access &= known_.fs;
    if (!S_ISDIR(status.st_mode)) access &= kFileRights;
    const PathBeneath rule{access, parent.get()};
    return ::syscall(kAddRule, fd_.get(), kRulePathBeneath, &rule, 0) == 0 ? 0 : errno;
  }

 private:
  RulesetAttributes known_;
  UniqueFd fd_;
};

/// All rules of one candidate; errno of the first that the kernel refuses, or 0.
int AddRules(const Ruleset& rules, const SandboxSpec& spec, const SandboxReport& report) {
  int error = 0;
  const auto allow = [&](const std::string& path, uint64_t access) {
    if (error == 0) error = rules.Allow(path, access);
  };
  if (report.private_root) {
    // It holds nothing but what may be read.
    allow("/", kRead);
    for (const char* path : {"/tmp", "/dev/shm"}) allow(path, ~0ull);
  } else {
    for (const std::string& path : spec.read_only) allow(path, kRead);
    for (const char* path : {"/proc", "/dev/fd", "/etc/ld.so.cache", "/etc/localtime",
                             "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"})
      allow(path, kReadFile | kReadFolder);
  }
  // CUDA names its threads through /proc/self/task/<tid>/comm and does not start if it cannot
  // (cuInit: error 304). Root would also own the kernel's knobs there.
  if (::geteuid() != 0) allow("/proc", kReadFile | kReadFolder | kWriteFile | kTruncate);
  allow(report.work_dir, ~0ull);
  for (const char* path : kBasicDevices) allow(path, kDevice);
  for (const std::string& path : spec.devices) allow(path, kDevice);
  return error;
}

}  // namespace

void RestrictWithLandlock(const SandboxSpec& spec, SandboxReport* report) {
  const auto abi = static_cast<int>(::syscall(kCreateRuleset, nullptr, 0, kVersionFlag));
  if (abi < 1) return Miss(report, "landlock", "the kernel lacks it or has it off", errno);
  const Ruleset rules(abi, report->loopback);
  if (rules.fd() < 0) return Miss(report, "landlock", "ruleset", errno);
  if (const int error = AddRules(rules, spec, *report); error != 0)
    return Miss(report, "landlock", "rule", error);
  if (::syscall(kRestrictSelf, rules.fd(), abi >= 7 ? kNoAuditLog : 0) != 0)
    return Miss(report, "landlock", "restrict", errno);
  report->landlock = true;
  if (abi < 6 && !report->pid_ns)
    report->missing.emplace_back("landlock: this kernel's cannot scope signals (needs Linux 6.12)");
}

}  // namespace assay::sandbox
