// Each test is one way out, tried from inside, in each situation that a worker can start in.

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>

#include "base/fd.h"
#include "sandbox/testing.h"

namespace assay::sandbox {
namespace {

class Escape : public testing::TestWithParam<Start> {
 protected:
  void SetUp() override {
    if (GetParam() != Start::kUser && ::geteuid() != 0)
      GTEST_SKIP() << "needs root: run the tests as root to try this situation";
  }

  /// Runs `body` inside and expects that it finds nothing wrong.
  Outcome Try(const Body& body, const SandboxSpec& spec = TestSpec()) {
    Outcome outcome = RunInside(GetParam(), spec, body);
    EXPECT_TRUE(outcome.confined) << outcome.text;
    EXPECT_TRUE(!outcome.confined || outcome.text.empty())
        << outcome.text << "\nmissing: " << outcome.Missing();
    return outcome;
  }

  /// What the situation reaches on this machine, without running anything.
  SandboxReport Reached() {
    return RunInside(GetParam(), TestSpec(), [](const SandboxReport&) { return ""; }).report;
  }
};

std::string NameOf(const testing::TestParamInfo<Start>& start) {
  return std::string(ToString(start.param));
}

INSTANTIATE_TEST_SUITE_P(From, Escape,
                         testing::Values(Start::kRoot, Start::kUser, Start::kContainer), NameOf);

// Skips loudly where the machine lacks what the test is about.
#define REQUIRE_MECHANISM(report, condition)                                                   \
  if (!(report).condition) {                                                                   \
    GTEST_SKIP() << "no " #condition " here: "                                                 \
                 << ((report).missing.empty() ? "no reason given" : (report).missing.front()); \
  }

TEST_P(Escape, EveryMissingMechanismHasAReason) {
  const SandboxReport report = Reached();
  EXPECT_TRUE(report.level == SandboxLevel::kFull || !report.missing.empty());
  EXPECT_TRUE(report.rlimits);
  EXPECT_TRUE(report.no_new_privs);
  EXPECT_TRUE(report.no_capabilities);
  EXPECT_TRUE(report.seccomp);
  EXPECT_TRUE(report.dies_with_worker);
  if (GetParam() == Start::kContainer) {
    EXPECT_LE(report.level, SandboxLevel::kFiltered);
    EXPECT_EQ(report.level, report.landlock ? SandboxLevel::kFiltered : SandboxLevel::kLimits);
    EXPECT_GE(report.missing.size(), 6u);
  }
}

TEST_P(Escape, NetworkIsOutOfReach) {
  Try([](const SandboxReport&) {
    std::string wrong;
    for (const int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG})
      wrong += MustFail("socket", ::socket(family, SOCK_DGRAM, 0), {EPERM});
    wrong += MustFail("tcp", ::socket(AF_INET, SOCK_STREAM, 0), {EPERM});
    // A family hidden behind bits that the kernel ignores.
    wrong +=
        MustFail("wide", ::syscall(SYS_socket, (1ull << 32) | AF_INET, SOCK_STREAM, 0), {EPERM});
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) wrong += "no Unix socket pair; ";
    return wrong;
  });
}

TEST_P(Escape, LoopbackReachesNobodyElse) {
  // A listener of the host, on any port.
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in host{};
  host.sin_family = AF_INET;
  host.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof host;
  auto* generic = reinterpret_cast<sockaddr*>(&host);
  ASSERT_EQ(::bind(listener.get(), generic, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), generic, &size), 0);
  SandboxSpec spec = TestSpec();
  spec.loopback = true;
  const Outcome outcome = Try(
      [&](const SandboxReport& report) {
        std::string wrong;
        for (const int family : {AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG})
          wrong += MustFail("socket", ::socket(family, SOCK_DGRAM, 0), {EPERM});
        if (!report.loopback)
          return wrong + MustFail("tcp", ::socket(AF_INET, SOCK_STREAM, 0), {EPERM});
        const UniqueFd out(::socket(AF_INET, SOCK_STREAM, 0));
        wrong +=
            MustFail("connect to the host", ::connect(out.get(), generic, size), {ECONNREFUSED});
        // Its own listener can be reached.
        const UniqueFd own(::socket(AF_INET, SOCK_STREAM, 0));
        const UniqueFd client(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in address = host;
        address.sin_port = 0;
        auto* inside = reinterpret_cast<sockaddr*>(&address);
        socklen_t length = sizeof address;
        if (::bind(own.get(), inside, length) != 0 || ::listen(own.get(), 1) != 0 ||
            ::getsockname(own.get(), inside, &length) != 0 ||
            ::connect(client.get(), inside, length) != 0)
          wrong += std::string("no way to itself: ") + ErrnoError("connect", errno).message;
        return wrong;
      },
      spec);
  EXPECT_EQ(outcome.report.loopback, outcome.report.net_ns) << outcome.Missing();
}

TEST_P(Escape, HostAbstractSocketsAreOutOfReach) {
  const SandboxReport reached = Reached();
  if (!reached.net_ns) {
    REQUIRE_MECHANISM(reached, landlock)
  }
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "assay-test-" + std::to_string(::getpid());
  name.copy(address.sun_path + 1, name.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), generic, sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  Try([&](const SandboxReport&) {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    return MustFail("connect", ::connect(socket.get(), generic, sizeof address),
                    {ECONNREFUSED, EPERM});
  });
}

TEST_P(Escape, HostFilesAreUnreadable) {
  const SandboxReport reached = Reached();
  if (!reached.private_root) {
    REQUIRE_MECHANISM(reached, landlock)
  }
  const std::string secret = "/var/tmp/assay-secret-" + std::to_string(::getpid());
  std::ofstream(secret) << "hidden seed";
  ::chmod(secret.c_str(), 0644);
  const std::string source = std::string(ASSAY_SOURCE_DIR) + "/CMakeLists.txt";
  Try([&](const SandboxReport&) {
    std::string wrong;
    for (const char* path : {"/etc/shadow", secret.c_str(), source.c_str(), "/root/.profile",
                             "/.host/etc/shadow", "/proc/1/root/etc/shadow"})
      wrong += MustFail(path, ::open(path, O_RDONLY), {ENOENT, EACCES, EPERM});
    wrong += MustFail("listing", ::open("/var/tmp", O_RDONLY | O_DIRECTORY), {ENOENT, EACCES});
    if (::access("/usr/bin/env", X_OK) != 0) wrong += "a listed file is missing; ";
    return wrong;
  });
  ::unlink(secret.c_str());
}

TEST_P(Escape, ReadOnlyPathsCannotBeWritten) {
  Try([](const SandboxReport& report) {
    std::string wrong;
    for (const char* path : {"/usr/assay-x", "/etc/assay-x", "/assay-x", "/dev/assay-x"})
      wrong +=
          MustFail(path, ::open(path, O_CREAT | O_WRONLY, 0600), {EROFS, EACCES, EPERM, ENOENT});
    wrong += MustFail("open", ::open("/usr/bin/env", O_WRONLY), {EROFS, EACCES, EPERM});
    for (const char* knob : {"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"})
      wrong += MustFail(knob, ::open(knob, O_WRONLY), {EROFS, EACCES, EPERM, ENOENT});
    wrong += MustFail("unlink", ::unlink("/usr/bin/env"), {EROFS, EACCES, EPERM});
    wrong += MustFail("chmod", ::chmod("/usr/bin/env", 0777), {EROFS, EPERM});
    const std::string own = report.work_dir + "/file";
    if (UniqueFd(::open(own.c_str(), O_CREAT | O_WRONLY, 0600)).get() < 0)
      wrong += "the work folder is not writable; ";
    ::unlink(own.c_str());
    return wrong;
  });
}

TEST_P(Escape, OtherProcessesCannotBeSignalled) {
  const SandboxReport reached = Reached();
  if (!reached.pid_ns) {
    REQUIRE_MECHANISM(reached, landlock)
  }
  // Of the same user as the candidate, where that can be arranged.
  const pid_t victim = ::fork();
  if (victim == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::geteuid() == 0 && ::setresuid(TestSpec().uid, TestSpec().uid, TestSpec().uid) != 0)
      ::_exit(1);
    for (;;) ::pause();
  }
  ::usleep(20'000);
  Try([&](const SandboxReport&) {
    std::string wrong;
    for (const int signal : {0, SIGTERM, SIGKILL})
      wrong += MustFail("kill", ::kill(victim, signal), {ESRCH, EPERM});
    return wrong;
  });
  int status = 0;
  EXPECT_EQ(::waitpid(victim, &status, WNOHANG), 0) << "the victim died";
  ::kill(victim, SIGKILL);
  ::waitpid(victim, &status, 0);
}

TEST_P(Escape, ProcShowsOnlyItself) {
  const SandboxReport reached = Reached();
  REQUIRE_MECHANISM(reached, fresh_proc)
  Try([](const SandboxReport&) -> std::string {
    std::string pids;
    DIR* folder = ::opendir("/proc");
    if (folder == nullptr) return "no /proc";
    while (const dirent* entry = ::readdir(folder))
      if (std::isdigit(entry->d_name[0]) != 0) pids += std::string(entry->d_name) + " ";
    ::closedir(folder);
    return pids == "1 " ? "" : "pids " + pids;
  });
}

TEST_P(Escape, SystemCallsAreRefused) {
  Try([](const SandboxReport&) {
    std::string wrong;
    iovec none{};
    wrong += MustFail("ptrace", ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr), {EPERM});
    wrong += MustFail("vm_readv", ::process_vm_readv(::getpid(), &none, 1, &none, 1, 0), {EPERM});
    wrong += MustFail("vm_writev", ::process_vm_writev(::getpid(), &none, 1, &none, 1, 0), {EPERM});
    wrong += MustFail("mount", ::mount("t", "/tmp", "tmpfs", 0, nullptr), {EPERM});
    wrong += MustFail("umount", ::umount2("/usr", MNT_DETACH), {EPERM});
    wrong += MustFail("chroot", ::chroot("/tmp"), {EPERM});
    wrong += MustFail("unshare", ::unshare(CLONE_NEWUSER), {EPERM});
    wrong += MustFail("setns", ::setns(0, 0), {EPERM});
    wrong += MustFail("clone", ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0), {EPERM});
    wrong +=
        MustFail("clone parent", ::syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0), {EPERM});
    wrong += MustFail("clone3", ::syscall(SYS_clone3, nullptr, 0), {ENOSYS});
    for (const int call : {SYS_bpf,
                           SYS_perf_event_open,
                           SYS_userfaultfd,
                           SYS_io_uring_setup,
                           SYS_keyctl,
                           SYS_memfd_create,
                           SYS_shmget,
                           SYS_msgget,
                           447 /*memfd_secret*/,
                           SYS_add_key,
                           SYS_init_module,
                           SYS_finit_module,
                           SYS_reboot,
                           SYS_kexec_load,
                           SYS_swapon,
                           SYS_acct,
                           SYS_settimeofday,
                           SYS_clock_settime,
                           SYS_adjtimex,
                           SYS_open_by_handle_at,
                           SYS_name_to_handle_at,
                           SYS_fsopen,
                           SYS_open_tree,
                           SYS_move_mount,
                           SYS_pivot_root,
                           SYS_kcmp,
                           SYS_syslog,
                           SYS_vhangup,
                           SYS_quotactl,
                           SYS_sched_setattr,
                           438 /*pidfd_getfd*/,
                           442 /*mount_setattr*/})
      wrong += MustFail(std::to_string(call).c_str(), ::syscall(call, 0, 0, 0, 0, 0), {EPERM});
    wrong += MustFail("shared memory",
                      ::syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0),
                      {EPERM});
    if (::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      wrong += "private memory is refused; ";
    sched_param priority{1};
    wrong += MustFail("fifo", ::sched_setscheduler(0, SCHED_FIFO, &priority), {EPERM});
    wrong += MustFail("personality", ::personality(ADDR_NO_RANDOMIZE), {EPERM});
    if (::personality(0xffffffff) < 0) wrong += "personality cannot be asked; ";
    wrong += MustFail("TIOCSTI", ::ioctl(0, TIOCSTI, "x"), {EPERM});
    wrong +=
        MustFail("wide TIOCSTI", ::syscall(SYS_ioctl, 0, (1ull << 32) | TIOCSTI, "x"), {EPERM});
    return wrong;
  });
}

#ifdef __x86_64__
TEST_P(Escape, OtherAbisAreRefused) {
  Try([](const SandboxReport&) {
    std::string wrong =
        MustFail("x32 getpid", ::syscall(0x40000000L | SYS_getpid), {EPERM, ENOSYS});
    const pid_t child = ::fork();
    if (child == 0) {
      long result = 20;  // getpid of i386
      asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
      ::_exit(result == -EPERM || result == -ENOSYS ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0) wrong += "int 0x80 works; ";
    return wrong;
  });
}
#endif

TEST_P(Escape, NoPrivilegeIsLeft) {
  const Outcome outcome = Try([](const SandboxReport& report) {
    std::string wrong;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      const bool capabilities = line.starts_with("Cap");
      // Without the right to empty it, an ordinary user's bounding set stays, and grants nothing.
      if (line.starts_with("CapBnd") && !report.user_ns && !report.own_uid) continue;
      if (capabilities && !line.ends_with("\t0000000000000000")) wrong += line + "; ";
      if (line.starts_with("NoNewPrivs") && line.back() != '1') wrong += line + "; ";
      if (line.starts_with("Seccomp:") && line.back() != '2') wrong += line + "; ";
    }
    if (::getuid() == 0 || ::geteuid() == 0) wrong += "still root; ";
    if (::getgroups(0, nullptr) != 0) wrong += "has supplementary groups; ";
    wrong += MustFail("setuid", ::setuid(0), {EPERM, EINVAL});
    wrong += MustFail("setgroups", ::syscall(SYS_setgroups, 0, nullptr), {EPERM});
    if (::getsid(0) != ::getpid()) wrong += "not a session leader; ";
    return wrong;
  });
  EXPECT_TRUE(GetParam() != Start::kRoot || outcome.report.own_uid) << outcome.Missing();
}

TEST_P(Escape, ForkBombIsBounded) {
  // A process that has threads, the thread sanitizer's for one, gets no user namespace.
  const SandboxReport reached = Reached();
  if (!reached.own_uid && !reached.user_ns) GTEST_SKIP() << "no process limit can be set here";
  SandboxSpec spec = TestSpec();
  spec.max_processes = 20;
  Try(
      [](const SandboxReport&) -> std::string {
        std::vector<pid_t> children;
        int error = 0;
        while (children.size() < 100) {
          const pid_t child = ::fork();
          if (child == 0)
            for (;;) ::pause();
          if (child < 0) {
            error = errno;
            break;
          }
          children.push_back(child);
        }
        for (const pid_t child : children) ::kill(child, SIGKILL);
        for (const pid_t child : children) ::waitpid(child, nullptr, 0);
        if (error != EAGAIN) return "no EAGAIN";
        return children.size() <= 20 && children.size() >= 5
                   ? ""
                   : fmt::format("{} children", children.size());
      },
      spec);
}

/// Bytes that fit into a file before write(2) fails, and why it failed.
std::pair<size_t, int> Fill(const std::string& path, size_t most) {
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  if (!fd.valid()) return {0, errno};
  const std::string block(64 << 10, 'x');
  size_t written = 0;
  while (written < most) {
    const ssize_t n = ::write(fd.get(), block.data(), block.size());
    if (n < 0) return {written, errno};
    written += static_cast<size_t>(n);
  }
  return {written, 0};
}

TEST_P(Escape, DiskIsBounded) {
  const SandboxReport reached = Reached();
  REQUIRE_MECHANISM(reached, private_root)
  SandboxSpec spec = TestSpec();
  spec.work_bytes = 1 << 20;
  spec.work_files = 50;
  Try(
      [](const SandboxReport& report) {
        std::string wrong;
        size_t total = 0;
        // The three folders share one limit.
        for (const std::string& folder :
             {report.work_dir, std::string("/tmp"), std::string("/dev/shm")}) {
          const auto [bytes, error] = Fill(folder + "/big", 8 << 20);
          total += bytes;
          if (error != ENOSPC) wrong += fmt::format("{}: errno {}; ", folder, error);
        }
        if (total > 1 << 20 || total < 1 << 19) wrong += fmt::format("{} bytes; ", total);
        int files = 0;
        while (files < 200 &&
               ::mkdir(fmt::format("{}/{}", report.work_dir, files).c_str(), 0700) == 0)
          ++files;
        if (files >= 50 || errno != ENOSPC) wrong += fmt::format("{} folders; ", files);
        return wrong;
      },
      spec);
}

TEST_P(Escape, FilesAreBounded) {
  SandboxSpec spec = TestSpec();
  spec.max_file_bytes = 128 << 10;
  spec.max_open_files = 40;
  Try(
      [](const SandboxReport& report) {
        std::string wrong;
        ::signal(SIGXFSZ, SIG_IGN);
        const std::string path = report.work_dir + "/big";
        const auto [bytes, error] = Fill(path, 8 << 20);
        if (bytes != 128 << 10 || error != EFBIG) wrong += fmt::format("{} bytes; ", bytes);
        ::unlink(path.c_str());
        int opened = 0;
        while (opened < 200 && ::dup(1) >= 0) ++opened;
        if (opened >= 40 || errno != EMFILE) wrong += fmt::format("{} descriptors; ", opened);
        rlimit core{};
        ::getrlimit(RLIMIT_CORE, &core);
        if (core.rlim_max > 1) wrong += "core dumps; ";
        return wrong;
      },
      spec);
}

TEST_P(Escape, DescriptorsAreClosed) {
  const int leak = ::open("/etc/passwd", O_RDONLY);  // without O_CLOEXEC, and forked anyway
  const int high = ::dup2(leak, 900);
  Try([&](const SandboxReport&) {
    std::string wrong;
    int open = 0;
    for (int fd = 0; fd < 4096; ++fd)
      if (::fcntl(fd, F_GETFD) >= 0) ++open;
    // Standard streams and the test's own pipe.
    if (open != 4) wrong += fmt::format("{} descriptors are open; ", open);
    wrong += MustFail("leaked", ::fcntl(leak, F_GETFD) >= 0 ? -2 : -1, {EBADF});
    wrong += MustFail("leaked", ::fcntl(high, F_GETFD), {EBADF});
    char byte = 0;
    if (::read(0, &byte, 1) != 0) wrong += "standard input is not /dev/null; ";
    return wrong;
  });
  ::close(leak);
  ::close(high);
}

}  // namespace
}  // namespace assay::sandbox
