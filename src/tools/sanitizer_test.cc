#include "tools/sanitizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kMemcheck = R"(========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at add_kernel+0x170 in /work/submission_0/submission.py:23
=========     by thread (32,0,0) in block (0,0,0)
=========     Access at 0x7f6c1ba00200 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f6c1ba00000 of size 512 bytes
========= 
========= Invalid __global__ write of size 4 bytes
=========     at add_kernel+0x170 in /work/submission_0/submission.py:23
=========     by thread (33,0,0) in block (0,0,0)
=========     Access at 0x7f6c1ba00204 is out of bounds
========= 
========= Invalid __shared__ read of size 8 bytes
=========     at helper(float *)+0x40 in /work/extensions/x/cuda.cu:7
=========     by thread (0,0,0) in block (1,0,0)
=========     Address 0x400 is out of bounds
=========         Device Frame: void kernel<float>(float *, int)+0x90 in cuda.cu:19
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x2a1bca] in libcuda.so.1
========= 
========= Target application returned an error
========= ERROR SUMMARY: 34 errors
========= ERROR SUMMARY: 31 errors were not printed. Use --print-limit option to adjust the number of printed errors
)";

TEST(Sanitizer, Memcheck) {
  const Result<SanitizerReport> report = ReadSanitizer(kMemcheck);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->errors, 34);
  ASSERT_THAT(report->findings, SizeIs(2));
  const SanitizerFinding& first = report->findings[0];
  EXPECT_EQ(first.kind, "out_of_bounds");
  EXPECT_EQ(first.kernel, "add_kernel");
  EXPECT_EQ(first.file, "submission.py");
  EXPECT_EQ(first.line, 23);
  EXPECT_EQ(first.count, 2);
  EXPECT_THAT(first.message, HasSubstr("Invalid __global__ write of size 4 bytes"));
  EXPECT_THAT(first.message, HasSubstr("1 bytes after the nearest allocation"));
  const SanitizerFinding& second = report->findings[1];
  EXPECT_EQ(second.kernel, "kernel<float>");
  EXPECT_EQ(second.file, "cuda.cu");
  EXPECT_EQ(second.line, 19);
  EXPECT_THAT(second.message, Not(HasSubstr("cuLaunchKernel")));
}

TEST(Sanitizer, Racecheck) {
  const Result<SanitizerReport> report = ReadSanitizer(
      "========= COMPUTE-SANITIZER\n"
      "========= Error: Race reported between Write access at reduce(int *, int *)+0xf0 in "
      "a.cu:12\n"
      "=========     and Read access at reduce(int *, int *)+0xd0 in a.cu:14 [32 hazards]\n"
      "========= \n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->errors, 1);
  ASSERT_THAT(report->findings, SizeIs(1));
  EXPECT_EQ(report->findings[0].kind, "race");
  EXPECT_EQ(report->findings[0].kernel, "reduce");
  EXPECT_EQ(report->findings[0].line, 12);
  EXPECT_EQ(report->findings[0].message,
            "Race reported between Write access; and Read access at a.cu:14");
}

TEST(Sanitizer, InitcheckSynccheckAndOldForms) {
  const auto one = [](std::string_view printed) {
    const Result<SanitizerReport> report = ReadSanitizer(printed);
    EXPECT_TRUE(report.ok());
    EXPECT_THAT(report->findings, SizeIs(1));
    return report->findings.empty() ? SanitizerFinding{} : report->findings[0];
  };
  const SanitizerFinding uninitialized =
      one("========= Uninitialized __global__ memory read of size 4 bytes\n"
          "=========     at 0x88 in scale(float *)\n========= ERROR SUMMARY: 1 error\n");
  EXPECT_EQ(uninitialized.kind, "uninitialized");
  EXPECT_EQ(uninitialized.kernel, "scale");
  EXPECT_EQ(uninitialized.line, 0);
  const SanitizerFinding barrier =
      one("========= Barrier error detected. Divergent thread(s) in block\n"
          "=========     at 0x120 in /a/b/c.cu:17:sum(float*)\n"
          "=========     by thread (3,0,0) in block (4,0,0)\n========= ERROR SUMMARY: 1 error\n");
  EXPECT_EQ(barrier.kind, "barrier");
  EXPECT_EQ(barrier.kernel, "sum");
  EXPECT_EQ(barrier.file, "c.cu");
  EXPECT_EQ(barrier.line, 17);
}

TEST(Sanitizer, NothingFoundIsAReport) {
  const Result<SanitizerReport> report = ReadSanitizer(
      "========= COMPUTE-SANITIZER\nthe program's own words\n========= ERROR SUMMARY: 0 errors\n");
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->findings, IsEmpty());
  EXPECT_EQ(report->errors, 0);
}

TEST(Sanitizer, AReportThatBreaksOffIsReadAsFarAsItGoes) {
  const Result<SanitizerReport> report =
      ReadSanitizer(kMemcheck.substr(0, kMemcheck.find("Invalid __shared__")));
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->findings, SizeIs(1));
  EXPECT_FALSE(report->errors);
  // Nothing was seen yet: that is no clean report.
  const Result<SanitizerReport> none = ReadSanitizer("========= COMPUTE-SANITIZER\n");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->errors);
}

TEST(Sanitizer, SaysWhyThereIsNothing) {
  for (const char* printed :
       {"========= COMPUTE-SANITIZER\n========= Error: Target application terminated before first "
        "instrumented API call\n========= ERROR SUMMARY: 0 errors\n",
        "========= COMPUTE-SANITIZER\n========= Internal Sanitizer Error: the driver is too old\n",
        "", "Segmentation fault\n"}) {
    const Result<SanitizerReport> report = ReadSanitizer(printed);
    ASSERT_FALSE(report.ok()) << printed;
    EXPECT_THAT(report.error().message, HasSubstr("compute-sanitizer"));
  }
}

TEST(Sanitizer, HostileTextIsBounded) {
  std::string printed = "========= COMPUTE-SANITIZER\n";
  for (int i = 0; i < 2000; ++i)
    printed += "========= Invalid " + std::string(5000, 'x') + "\n=========     at k" +
               std::to_string(i) + "\x1b]0;title\x07+0x10 in " + std::string(3000, 'y') +
               ".cu:" + std::to_string(i + 1) + "\n";
  const Result<SanitizerReport> report = ReadSanitizer(printed);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->findings, SizeIs(kMaxSanitizerFindings));
  EXPECT_EQ(report->left_out, 2000 - static_cast<int64_t>(kMaxSanitizerFindings));
  for (const SanitizerFinding& finding : report->findings)
    EXPECT_LE(json::serialize(ToJson(finding)).size(), 1200U);
}

TEST(Sanitizer, ToolsByName) {
  for (const std::string_view tool : kSanitizers) EXPECT_EQ(*ParseSanitizer(tool), tool);
  for (const char* wrong : {"", "Memcheck", "leakcheck", "memcheck "})
    EXPECT_FALSE(ParseSanitizer(wrong).ok()) << wrong;
  EXPECT_THAT(SanitizerArguments("racecheck"), Contains("racecheck"));
}

}  // namespace
}  // namespace assay
