#include "sandbox/cgroup.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"

namespace assay {
namespace {

TEST(Cgroup, BadNamesAreRefused) {
  for (const char* name : {"", "a/b", "..", ".hidden"}) {
    const Result<Cgroup> cgroup = Cgroup::Create(name, {});
    ASSERT_FALSE(cgroup.ok()) << name;
    EXPECT_EQ(cgroup.error().code, ErrorCode::kInvalid);
  }
}

TEST(Cgroup, AnOrdinaryFolderIsNotAHierarchy) {
  const Result<Cgroup> cgroup = Cgroup::Create("x", {}, "/tmp");
  ASSERT_FALSE(cgroup.ok());
  EXPECT_EQ(cgroup.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(cgroup.error().message, "cgroup: /tmp is not a version 2 hierarchy");
}

TEST(Cgroup, LackingControllersAreSaid) {
  // A hybrid machine: version 2 is mounted beside version 1, which holds the controllers.
  constexpr const char* kHybrid = "/sys/fs/cgroup/unified";
  if (::access("/sys/fs/cgroup/unified/cgroup.procs", W_OK) != 0)
    GTEST_SKIP() << kHybrid << " is not writable or not there";
  const Result<std::string> controllers = ReadFile("/sys/fs/cgroup/unified/cgroup.controllers");
  if (!controllers.ok() || controllers->find("memory") != std::string::npos)
    GTEST_SKIP() << "version 2 has the memory controller here";
  const Result<Cgroup> cgroup = Cgroup::Create("x", {}, kHybrid);
  ASSERT_FALSE(cgroup.ok());
  EXPECT_EQ(cgroup.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(cgroup.error().message.find("cgroup: no memory controller in"), 0u)
      << cgroup.error().message;
}

TEST(Cgroup, BoundsKillsAndIsRemoved) {
  // In a child: Create() moves the calling process.
  const pid_t runner = ::fork();
  if (runner == 0) {
    Result<Cgroup> cgroup =
        Cgroup::Create("assay-test", {.memory_bytes = 64 << 20, .processes = 8});
    if (!cgroup.ok()) {
      std::fprintf(stderr, "%s\n", cgroup.error().message.c_str());
      ::_exit(cgroup.error().code == ErrorCode::kUnavailable ? 77 : 1);
    }
    const pid_t candidate = ::fork();
    if (candidate == 0)
      for (;;) ::pause();
    const bool used = cgroup->Add(candidate).ok() && cgroup->MemoryBytes().ok() &&
                      cgroup->OutOfMemoryKills().ok() && cgroup->Freeze(true).ok() &&
                      cgroup->Kill().ok();
    int status = 0;
    ::waitpid(candidate, &status, 0);
    const std::string path = cgroup->path();
    { const Cgroup gone = *std::move(cgroup); }
    ::_exit(used && WIFSIGNALED(status) && ::access(path.c_str(), F_OK) != 0 ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(runner, &status, 0), runner);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no delegated cgroup v2 here (reason above)";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace assay
