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

TEST(NvmlTest, RealGpusHaveNamesAndMemory) {
  Result<std::vector<GpuInfo>> gpus = ListGpus();
  if (!gpus.ok()) GTEST_SKIP() << "no NVIDIA GPU here: " << gpus.error().message;
  for (const GpuInfo& gpu : *gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_EQ(gpu.uuid.substr(0, 4), "GPU-");
    EXPECT_GT(gpu.memory_total_bytes, 1u << 30);
    EXPECT_GE(gpu.compute_major, 3);
  }
}

}  // namespace
}  // namespace assay
