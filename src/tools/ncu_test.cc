#include "tools/ncu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// What ncu prints for two kernels: its own remarks, a header, a line of units, a line a launch.
constexpr std::string_view kPrinted =
    R"csv(==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.
==PROF== Connected to process 17 (/usr/bin/python3.12)
==PROF== Profiling "gelu_kernel" - 0: 0%....50%....100% - 18 passes
==PROF== Disconnected from process 17
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","gpu__time_duration.sum","launch__occupancy_limit_blocks","launch__occupancy_limit_registers","launch__occupancy_limit_shared_mem","launch__occupancy_limit_warps","launch__registers_per_thread","sm__maximum_warps_per_active_cycle_pct","sm__throughput.avg.pct_of_peak_sustained_elapsed","sm__warps_active.avg.pct_of_peak_sustained_active","smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","smsp__average_warps_issue_stalled_selected_per_issue_active.ratio","smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"
"","","","","","","","","","","","%","%","ns","block","block","block","block","register/thread","%","%","%","inst","inst","inst","inst"
"0","17","python3.12","127.0.0.1","gelu_kernel","1","7","(128, 1, 1)","(65536, 1, 1)","0","9.0","91.5","90.25","33,120","32","10","32","16","42","62.5","12.5","60","0.4","8","1","1.5"
"1","17","python3.12","127.0.0.1","gelu_kernel","1","7","(128, 1, 1)","(65536, 1, 1)","0","9.0","93.5","92.25","33,120","32","10","32","16","42","62.5","14.5","62","0.4","8","1","1.5"
"2","17","python3.12","127.0.0.1","void tail<float>(float *, int)","1","7","(32, 1, 1)","(1, 1, 1)","0","9.0","n/a","0.5","2,048","32","64","32","16","16","100","0.1","3.5","0","0","1","0"
)csv";

TEST(Ncu, ReadsTheTable) {
  const Result<NcuSummary> summary = ReadNcu(kPrinted, {});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  ASSERT_THAT(summary->kernels, SizeIs(2));
  const NcuKernel& gelu = summary->kernels[0];
  EXPECT_EQ(gelu.name, "gelu_kernel");
  EXPECT_EQ(gelu.launches, 2);
  EXPECT_DOUBLE_EQ(gelu.us, 33.12);
  EXPECT_DOUBLE_EQ(*gelu.compute_pct, 13.5);
  EXPECT_DOUBLE_EQ(*gelu.memory_pct, 92.5);
  EXPECT_DOUBLE_EQ(*gelu.dram_pct, 91.25);
  EXPECT_DOUBLE_EQ(*gelu.occupancy_pct, 61);
  EXPECT_DOUBLE_EQ(*gelu.occupancy_most, 62.5);
  EXPECT_EQ(gelu.occupancy_limit, "registers");
  EXPECT_DOUBLE_EQ(*gelu.registers, 42);
  ASSERT_THAT(gelu.stalls, SizeIs(2));  // A barrier is 4 %; selected is none.
  EXPECT_EQ(gelu.stalls[0].first, "long scoreboard");
  EXPECT_NEAR(gelu.stalls[0].second, 8 / 9.9, 1e-9);
  EXPECT_EQ(gelu.stalls[1].first, "wait");
  const NcuKernel& tail = summary->kernels[1];
  EXPECT_EQ(tail.name, "tail<float>");
  EXPECT_FALSE(tail.memory_pct);
  EXPECT_THAT(tail.stalls, IsEmpty());
}

TEST(Ncu, LineAndJsonSayTheSame) {
  const NcuSummary summary = *ReadNcu(kPrinted, {});
  EXPECT_EQ(NcuLine(summary.kernels[0]),
            "gelu_kernel: 33.12 us; SM 13.5 %; memory 92.5 %; DRAM 91.2 %; occupancy 61 % of 62.5 "
            "%, bounded by registers; 42 registers; warps wait: long scoreboard 81 % (waits for "
            "global memory), wait 15 % (fixed latency of instructions)");
  EXPECT_EQ(
      json::serialize(ToJson(summary).at("kernels").at(1)),
      R"({"name":"tail<float>","launches":1,"us":2.048E0,"compute_pct":1E-1,"memory_pct":null,)"
      R"("dram_pct":5E-1,"occupancy_pct":3.5E0,"occupancy_most_pct":1E2,)"
      R"("occupancy_limit":"block size","registers":1.6E1,"stalls":[]})");
}

TEST(Ncu, SaysWhyThereIsNothing) {
  const auto why = [](std::string_view printed) {
    const Result<NcuSummary> summary = ReadNcu(printed, {});
    return summary.ok() ? std::string("a table") : summary.error().message;
  };
  EXPECT_THAT(why("==PROF== Connected to process 5\n==ERROR== ERR_NVGPUCTRPERM - The user does not "
                  "have permission to access NVIDIA GPU Performance Counters on the target device "
                  "0.\n"),
              HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_THAT(why("==WARNING== No kernels were profiled.\n"), HasSubstr("no kernel"));
  EXPECT_THAT(why("==ERROR== The application returned an error code (11).\n"),
              HasSubstr("returned an error code (11)"));
  EXPECT_THAT(why(""), HasSubstr("no table"));
  EXPECT_THAT(why("\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n"), HasSubstr("no table"));
}

TEST(Ncu, HostileTextIsBoundedAndNotBelieved) {
  std::string printed = "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"ns\"\n";
  for (int i = 0; i < 1000; ++i)
    printed += "\"" + std::to_string(i) + "\",\"k" + std::to_string(i) + std::string(500, 'x') +
               "\x1b[31m\",\"" + std::to_string(1000 + i) + "\"\n";
  const NcuSummary summary = *ReadNcu(printed, {});
  EXPECT_THAT(summary.kernels, SizeIs(kMaxNcuKernels));
  EXPECT_GT(summary.left_out, 0);
  for (const NcuKernel& kernel : summary.kernels) {
    EXPECT_LE(kernel.name.size(), 200U);
    EXPECT_THAT(kernel.name, Not(HasSubstr("\x1b")));
  }
  for (const char* time : {"-1", "nan", "inf", "1e300", "0", "12x", ""})
    EXPECT_FALSE(ReadNcu("\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"0\",\"k\",\"" +
                             std::string(time) + "\"\n",
                         {})
                     .ok())
        << time;
  EXPECT_FALSE(ReadNcu("\"ID\",\"gpu__time_duration.sum\"\n\"0,\"5\n", {}).ok());
  EXPECT_FALSE(ReadNcu("\"ID" + std::string(1 << 20, ',') + "\n", {}).ok());
}

TEST(Ncu, KeepsOwnKernelsOnly) {
  const auto names = [](const std::vector<std::string>& own) {
    const Result<NcuSummary> summary = ReadNcu(kPrinted, own);
    std::vector<std::string> found;
    if (summary.ok())
      for (const NcuKernel& kernel : summary->kernels) found.push_back(kernel.name);
    return found;
  };
  EXPECT_THAT(names({"gelu_kernel"}), ElementsAre("gelu_kernel"));
  // As the other demangler writes it.
  EXPECT_THAT(names({"void tail< float >(float*, int)"}), ElementsAre("tail<float>"));
  EXPECT_THAT(names({"gelu_kernel_2"}), IsEmpty());
  EXPECT_THAT(ReadNcu(kPrinted, {"gelu_kernel_2"}).error().message, HasSubstr("own"));
  EXPECT_THAT(NcuArguments(), Contains("--profile-from-start"));
}

}  // namespace
}  // namespace assay
