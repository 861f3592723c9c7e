#include "doctor/doctor.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/temp_folder.h"

namespace assay {
namespace {

/// The first check of this name, or one without a name.
Check Find(const std::vector<Check>& checks, std::string_view name) {
  for (const Check& check : checks)
    if (check.name == name) return check;
  return {};
}

const std::vector<Check>& Fixed() {
  static const std::vector<Check> checks = {
      {"system", Check::kOk, "Debian GNU/Linux 12, Linux 6.18 x86_64", ""},
      {"gpu", Check::kWarn, "no NVIDIA driver; the CPU device still works",
       "apt-get install driver"},
      {"torch", Check::kMissing, "not installed; nothing can be judged",
       "python3 -m pip install torch"},
  };
  return checks;
}

TEST(Doctor, TextIsAligned) {
  EXPECT_EQ(ChecksToText(Fixed()),
            "ok       system  Debian GNU/Linux 12, Linux 6.18 x86_64\n"
            "warn     gpu     no NVIDIA driver; the CPU device still works\n"
            "                 fix: apt-get install driver\n"
            "missing  torch   not installed; nothing can be judged\n"
            "                 fix: python3 -m pip install torch\n"
            "1 missing, 1 to improve.\n");
  EXPECT_EQ(ChecksToText({}), "Everything is there.\n");
}

TEST(Doctor, JsonSaysWhetherAnythingIsMissing) {
  EXPECT_EQ(
      json::serialize(ChecksToJson({Fixed()[2]})),
      R"({"ok":false,"checks":[{"name":"torch","state":"missing",)"
      R"("detail":"not installed; nothing can be judged","fix":"python3 -m pip install torch"}]})");
  EXPECT_TRUE(GetBool(ChecksToJson({Fixed()[0], Fixed()[1]}), "ok"));
}

TEST(Doctor, AMachineWithoutADriverIsTold) {
  const std::vector<Check> checks =
      CheckGpus({.nvml = "libno-such-nvml.so", .cuda = "libno-such-cuda.so"});
  ASSERT_EQ(checks.size(), 2u);
  for (const Check& check : checks) {
    EXPECT_EQ(check.state, Check::kWarn) << check.name;
    EXPECT_NE(check.detail.find("libno-such-"), std::string::npos) << check.detail;
    EXPECT_FALSE(check.fix.empty());
  }
}

TEST(Doctor, ALibraryThatIsNotCudaIsTold) {
  const std::vector<Check> checks = CheckGpus({.nvml = "libno-such-nvml.so", .cuda = "libm.so.6"});
  EXPECT_EQ(Find(checks, "libcuda").detail, "libm.so.6 is not a CUDA driver");
}

/// A script that stands for an interpreter.
class FakePython {
 public:
  explicit FakePython(const std::string& body) {
    std::ofstream(path_) << "#!/bin/sh\n" << body << "\n";
    ::chmod(path_.c_str(), 0755);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const test::TempFolder folder_;
  const std::string path_ = folder_.File("python");
};

TEST(Doctor, AnInterpreterThatIsNoneIsMissing) {
  const FakePython failing("echo 'no module named site' >&2; exit 3");
  const FakePython other("echo hello");
  for (const std::string& python : {std::string("/no/such/python"), failing.path(), other.path()}) {
    const std::vector<Check> checks = CheckPython(python);
    ASSERT_EQ(checks.size(), 1u) << python;
    EXPECT_EQ(checks[0].state, Check::kMissing);
    EXPECT_FALSE(checks[0].fix.empty());
  }
  EXPECT_NE(CheckPython(failing.path())[0].detail.find("no module named site"), std::string::npos);
}

TEST(Doctor, PackagesAreReadAndMissingOnesGetACommand) {
  const FakePython python(
      R"sh(echo 'noise'; echo 'assay:{"version": "3.12.3", "prefix": "/venv", "torch_cuda": "13.0",)sh"
      R"sh( "packages": {"torch": "2.11.0"}, "cupti": ""}')sh");
  const std::vector<Check> checks = CheckPython(python.path());
  EXPECT_EQ(Find(checks, "python").detail, "3.12.3 (/venv)");
  EXPECT_EQ(Find(checks, "torch").detail, "2.11.0, built for CUDA 13.0");
  EXPECT_EQ(Find(checks, "triton").fix, python.path() + " -m pip install triton");
  EXPECT_EQ(Find(checks, "triton").state, Check::kWarn);
  EXPECT_EQ(Find(checks, "cupti").state, Check::kWarn);
}

TEST(Doctor, AnOldInterpreterIsMissing) {
  const FakePython python(R"sh(echo 'assay:{"version": "3.9.1", "packages": {}}')sh");
  const std::vector<Check> checks = CheckPython(python.path());
  EXPECT_EQ(Find(checks, "python").state, Check::kMissing);
  EXPECT_EQ(Find(checks, "torch").state, Check::kMissing);
}

TEST(Doctor, TheSandboxLevelDecides) {
  SandboxReport report;
  report.missing = {"seccomp: filter: no"};
  const std::pair<SandboxLevel, Check::State> states[] = {{SandboxLevel::kNone, Check::kMissing},
                                                          {SandboxLevel::kLimits, Check::kMissing},
                                                          {SandboxLevel::kFiltered, Check::kWarn},
                                                          {SandboxLevel::kIsolated, Check::kOk},
                                                          {SandboxLevel::kFull, Check::kOk}};
  for (const auto& [level, state] : states) {
    report.level = level;
    const std::vector<Check> checks = CheckSandbox(report);
    ASSERT_EQ(checks.size(), 2u);
    EXPECT_EQ(checks[0].state, state) << ToString(level);
    EXPECT_EQ(checks[0].fix.empty(), state == Check::kOk);
    EXPECT_EQ(checks[1].detail, "seccomp: filter: no");
  }
}

TEST(Doctor, CountersThatOnlyAdministratorsReadAreToldOf) {
  const test::TempFolder folder;
  const std::string path = folder.File("nvidia-params");
  std::ofstream(path) << "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n";
  const std::vector<Check> refused = CheckProfilers(path);
  EXPECT_EQ(Find(refused, "ncu").state, Check::kWarn);
  EXPECT_NE(Find(refused, "ncu").fix.find("NVreg_RestrictProfilingToAdminUsers=0"),
            std::string::npos);
  std::ofstream(path) << "RmProfilingAdminOnly: 0\n";
  for (const Check& check : CheckProfilers(path)) {
    EXPECT_EQ(check.fix.find("NVreg"), std::string::npos);
    EXPECT_EQ(check.fix.empty(), check.state == Check::kOk) << check.name;
  }
}

TEST(Doctor, ExaminesThisMachine) {
  const std::vector<Check> checks = Examine("python3");
  for (const char* name : {"system", "cores", "memory", "/dev/shm", "libcuda", "python", "nvcc",
                           "g++", "ninja", "ncu", "compute-sanitizer", "sandbox", "cgroup"})
    EXPECT_EQ(Find(checks, name).name, name);
  EXPECT_EQ(Find(checks, "g++").state, Check::kOk);
  // The sandbox's reasons share the fix of its level; everything else says how to mend it.
  for (const Check& check : checks)
    EXPECT_TRUE(check.state == Check::kOk || check.name == "sandbox" || !check.fix.empty())
        << check.name;
}

}  // namespace
}  // namespace assay
