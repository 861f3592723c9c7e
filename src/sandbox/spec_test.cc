#include <gtest/gtest.h>

#include "sandbox/internal.h"

namespace assay {
namespace {

Result<SandboxSpec> Parse(std::string_view text) {
  return SandboxSpec::FromJson(*ParseJsonObject(text));
}

TEST(SandboxSpec, RefusesWhatWouldWeakenIt) {
  for (const char* text : {
           R"({"read_only": ["usr"]})",
           R"({"read_only": ["/"]})",
           R"({"read_only": ["/usr/../etc"]})",
           R"({"read_only": [3]})",
           R"({"devices": ["nvidia0"]})",
           R"({"work_dir": "/"})",
           R"({"work_dir": ""})",
           R"({"uid": 0})",
           R"({"uid": -1})",
           R"({"uid": 4294967295})",
           R"({"work_bytes": 0})",
           R"({"max_processes": -5})",
           R"({"max_open_files": "many"})",
       })
    EXPECT_FALSE(Parse(text).ok()) << text;
}

TEST(SandboxSpec, SaysWhatIsWrong) {
  EXPECT_EQ(Parse(R"({"read_only": ["usr"]})").error().message,
            "sandbox: read_only 'usr' must be an absolute path below /");
}

TEST(SandboxSpec, SurvivesJson) {
  SandboxSpec spec;
  spec.read_only = {"/usr", "/opt/x"};
  spec.devices = {"/dev/nvidia0"};
  spec.work_dir = "/w";
  spec.uid = 4242;
  spec.max_data_bytes = 7;
  spec.work_bytes = 1 << 20;
  const Result<SandboxSpec> copy = SandboxSpec::FromJson(spec.ToJson());
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_EQ(copy->ToJson(), spec.ToJson());
  EXPECT_EQ(copy->read_only, spec.read_only);
  EXPECT_EQ(copy->uid, 4242u);
}

TEST(SandboxLevel, NamesGoBothWays) {
  for (const auto level : {SandboxLevel::kNone, SandboxLevel::kLimits, SandboxLevel::kFiltered,
                           SandboxLevel::kIsolated, SandboxLevel::kFull})
    EXPECT_EQ(*ParseSandboxLevel(ToString(level)), level);
  EXPECT_FALSE(ParseSandboxLevel("Full").ok());
}

SandboxReport Everything() {
  SandboxReport report;
  report.user_ns = report.pid_ns = report.mount_ns = report.net_ns = true;
  report.ipc_ns = report.uts_ns = report.fresh_proc = report.private_root = true;
  report.landlock = report.seccomp = report.no_new_privs = report.no_capabilities = true;
  report.rlimits = true;
  return report;
}

TEST(SandboxLevel, EveryMechanismCounts) {
  EXPECT_EQ(sandbox::LevelOf(Everything()), SandboxLevel::kFull);
  const std::pair<bool SandboxReport::*, SandboxLevel> without[] = {
      {&SandboxReport::user_ns, SandboxLevel::kIsolated},
      {&SandboxReport::landlock, SandboxLevel::kIsolated},
      {&SandboxReport::pid_ns, SandboxLevel::kFiltered},
      {&SandboxReport::mount_ns, SandboxLevel::kFiltered},
      {&SandboxReport::net_ns, SandboxLevel::kFiltered},
      {&SandboxReport::ipc_ns, SandboxLevel::kFiltered},
      {&SandboxReport::uts_ns, SandboxLevel::kFiltered},
      {&SandboxReport::fresh_proc, SandboxLevel::kFiltered},
      {&SandboxReport::private_root, SandboxLevel::kFiltered},
      {&SandboxReport::seccomp, SandboxLevel::kLimits},
      {&SandboxReport::no_new_privs, SandboxLevel::kNone},
      {&SandboxReport::no_capabilities, SandboxLevel::kNone},
      {&SandboxReport::rlimits, SandboxLevel::kNone},
  };
  for (const auto& [member, level] : without) {
    SandboxReport report = Everything();
    report.*member = false;
    EXPECT_EQ(sandbox::LevelOf(report), level);
  }
  SandboxReport neither = Everything();
  neither.landlock = neither.private_root = false;
  EXPECT_EQ(sandbox::LevelOf(neither), SandboxLevel::kLimits);
}

TEST(SandboxReport, SurvivesJson) {
  SandboxReport report = Everything();
  report.level = sandbox::LevelOf(report);
  report.work_dir = "/work";
  report.stem_pidfd = 9;
  report.missing = {"a: b"};
  EXPECT_EQ(SandboxReport::FromJson(report.ToJson()).ToJson(), report.ToJson());
}

}  // namespace
}  // namespace assay
