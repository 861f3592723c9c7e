// What must still work inside, the order of the two phases, and death with the worker.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/fd.h"
#include "sandbox/testing.h"

namespace assay::sandbox {
namespace {

Start Here() { return ::geteuid() == 0 ? Start::kRoot : Start::kUser; }

TEST(Confine, OrdinaryWorkIsPossible) {
  const Outcome outcome = RunInside(Here(), TestSpec(), [](const SandboxReport& report) {
    std::string wrong;
    bool ran = false;
    std::thread([&] { ran = true; }).join();
    if (!ran) wrong += "no threads; ";
    // A shell, a pipe, a child, the links /bin and /dev/fd, the user's name.
    if (std::system("test \"$(cat /dev/fd/0 < /dev/null | wc -c)\" = 0") != 0)
      wrong += "no shell; ";
    const UniqueFd shared(::shm_open("/x", O_CREAT | O_RDWR, 0600));
    if (report.private_root && !shared.valid()) wrong += "no shared memory; ";
    // Compiled code is loaded from the work folder.
    const UniqueFd code(::open((report.work_dir + "/code").c_str(), O_CREAT | O_RDWR, 0700));
    if (::ftruncate(code.get(), 4096) != 0 ||
        ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, code.get(), 0) == MAP_FAILED)
      wrong += "no executable mapping; ";
    ::unlink((report.work_dir + "/code").c_str());
    if (!UniqueFd(::open("/proc/self/maps", O_RDONLY)).valid()) wrong += "no /proc/self/maps; ";
    // As CUDA does to name a thread.
    const std::string name = fmt::format("/proc/self/task/{}/comm", ::gettid());
    if (!UniqueFd(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666)).valid())
      wrong += "threads cannot be named; ";
    return wrong;
  });
  ASSERT_TRUE(outcome.confined) << outcome.text;
  EXPECT_EQ(outcome.text, "") << outcome.Missing();
}

TEST(Confine, PathsMayBeAbsentNestedLinkedOrInsideTheWorkFolder) {
  char folder[] = "/var/tmp/assay-root-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  ASSERT_EQ(::chmod(folder, 0755), 0);
  const std::string base = folder;
  ASSERT_EQ(std::system(("cd " + base +
                         " && mkdir -p real/deep work/venv tmp && echo 1 > real/deep/f && "
                         "echo 2 > work/venv/g && ln -s real link && ln -s " +
                         base +
                         "/link/deep abs && "
                         "ln -s loop loop")
                            .c_str()),
            0);
  SandboxSpec spec = TestSpec();
  spec.work_dir = base + "/work";
  for (const char* path :
       {"/nowhere", "/link/deep", "/abs/f", "/real/deep/f", "/work/venv", "/loop"})
    spec.read_only.push_back(base + path);
  spec.read_only.emplace_back("/usr/bin");
  const Outcome outcome = RunInside(Here(), spec, [&](const SandboxReport& report) {
    if (!report.private_root) return std::string();
    std::string wrong;
    for (const char* path : {"/real/deep/f", "/link/deep/f", "/abs/f", "/work/venv/g"})
      if (::access((base + path).c_str(), R_OK) != 0) wrong += std::string(path) + " is missing; ";
    for (const char* path : {"/nowhere", "/tmp", "/loop"})
      if (::access((base + path).c_str(), F_OK) == 0) wrong += std::string(path) + " is there; ";
    if (::access(report.work_dir.c_str(), W_OK) != 0) wrong += "the work folder is read-only; ";
    wrong += MustFail("write", ::open((base + "/work/venv/new").c_str(), O_CREAT | O_WRONLY, 0600),
                      {EROFS, EACCES});
    return wrong;
  });
  EXPECT_EQ(std::system(("rm -r " + base).c_str()), 0);
  ASSERT_TRUE(outcome.confined) << outcome.text;
  EXPECT_EQ(outcome.text, "");
}

TEST(Confine, WorkFolderThatCannotBeMadeIsAnError) {
  SandboxSpec spec = TestSpec();
  spec.work_dir = "/usr/no-such-folder-here";  // inside a read-only path, where nothing is created
  const Outcome outcome = RunInside(Here(), spec, [](const SandboxReport&) { return ""; });
  if (!outcome.report.mount_ns) GTEST_SKIP() << "no mount namespace: " << outcome.Missing();
  EXPECT_FALSE(outcome.confined);
  EXPECT_NE(outcome.text.find("/usr/no-such-folder-here"), std::string::npos) << outcome.text;
}

/// True when `fd` has reached its end of file within the time.
bool EndsWithin(int fd, int milliseconds) {
  pollfd readable{fd, POLLIN, 0};
  char byte = 0;
  return ::poll(&readable, 1, milliseconds) == 1 && ::read(fd, &byte, 1) == 0;
}

TEST(Confine, CandidateDiesWithTheWorkerAndCannotPreventIt) {
  int ready[2];
  int life[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(life, O_CLOEXEC), 0);
  const pid_t worker = ::fork();
  ASSERT_GE(worker, 0);
  if (worker == 0) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (::fork() == 0) {
      SandboxReport report = Unshare(TestSpec());
      if (::fork() != 0) ::_exit(0);
      if (!Confine(TestSpec(), {ready[1], life[1]}, &report).ok()) ::_exit(1);
      // Only this process and its child hold the life line from here on.
      const bool kept =
          ::prctl(PR_SET_PDEATHSIG, 0) == -1 && errno == EPERM && report.dies_with_worker;
      if (report.pid_ns && ::fork() == 0)
        for (;;) ::pause();
      if (::write(ready[1], kept ? "k" : "l", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(life[1]);
    ::close(ready[1]);
    for (;;) ::pause();
  }
  ::close(life[1]);
  ::close(ready[1]);
  char state = 0;
  ASSERT_EQ(::read(ready[0], &state, 1), 1);
  EXPECT_EQ(state, 'k') << "the candidate could disarm its parent-death signal";
  EXPECT_FALSE(EndsWithin(life[0], 50)) << "it died with the stem";
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  EXPECT_TRUE(EndsWithin(life[0], 5000)) << "it outlived the worker";
  ::close(life[0]);
  ::close(ready[0]);
}

TEST(Probe, AgreesWithARealCandidate) {
  const SandboxReport probed = ProbeSandbox();
  const Outcome outcome = RunInside(Here(), TestSpec(), [](const SandboxReport&) { return ""; });
  EXPECT_EQ(ToString(probed.level), ToString(outcome.report.level));
  EXPECT_EQ(probed.missing, outcome.report.missing);
}

}  // namespace
}  // namespace assay::sandbox
