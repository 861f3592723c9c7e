#include "gpu/nvml.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(NvmlTest, AMachineWithoutTheLibrarySaysSo) {
  Result<std::vector<GpuInfo>> gpus = ListGpus("libno-such-library.so.1");
  ASSERT_FALSE(gpus.ok());
  EXPECT_EQ(gpus.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(gpus.error().message.find("libno-such-library.so.1"), std::string::npos);
}

TEST(NvmlTest, ALibraryThatIsNotNvmlIsRefused) {
  Result<std::vector<GpuInfo>> gpus = ListGpus("libm.so.6");
  ASSERT_FALSE(gpus.ok());
  EXPECT_NE(gpus.error().message.find("nvmlInit_v2"), std::string::npos);
}

TEST(NvmlTest, OnlySlowdownsAreNamed) {
  EXPECT_TRUE(
      SlowdownReasons(0x1 | 0x2 | 0x10 | 0x100).empty());  // idle, set clocks, sync, display
  EXPECT_EQ(SlowdownReasons(0x4 | 0x20), (std::vector<std::string>{"power cap", "thermal"}));
}

TEST(NvmlTest, RealGpusHaveNamesAndMemory) {
  Result<std::vector<GpuInfo>> gpus = ListGpus();
  if (!gpus.ok()) GTEST_SKIP() << "no NVIDIA GPU here: " << gpus.error().message;
  for (const GpuInfo& gpu : *gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_EQ(gpu.uuid.substr(0, 4), "GPU-");
    EXPECT_GT(gpu.memory_total_bytes, 1u << 30);
    EXPECT_GE(gpu.compute_major, 3);
    EXPECT_TRUE(gpu.state.sm_clock_mhz.has_value());
    EXPECT_TRUE(gpu.state.processes.has_value());
  }
}

}  // namespace
}  // namespace assay
