#include "gpu/nvml.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

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

/// The stand-in for NVML, opened once more to set what it tells.
class FakeNvml : public ::testing::Test {
 protected:
  FakeNvml() : library_(::dlopen(ASSAY_FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {}
  ~FakeNvml() override { ::dlclose(library_); }
  template <typename T>
  T& Variable(const char* name) {
    return *static_cast<T*>(::dlsym(library_, name));
  }

 private:
  void* const library_;
};

TEST_F(FakeNvml, CardsAreListed) {
  Result<std::vector<GpuInfo>> gpus = ListGpus(ASSAY_FAKE_NVML);
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 2u);
  EXPECT_EQ((*gpus)[1].uuid, "GPU-1");
  EXPECT_EQ((*gpus)[1].memory_used_bytes, 10ull << 30);
  EXPECT_EQ((*gpus)[1].device_number, 5u);
  EXPECT_EQ((*gpus)[1].state.sm_clock_mhz, 1980u);
  EXPECT_EQ((*gpus)[1].state.temperature_celsius, std::nullopt);  // it does not tell
  EXPECT_EQ(Variable<int>("fake_nvml_opened"), 0);
}

TEST_F(FakeNvml, AWordNamesADevice) {
  const auto found = [](const char* word) {
    const Result<std::optional<GpuInfo>> gpu = FindGpu(word, ASSAY_FAKE_NVML);
    return !gpu.ok() ? gpu.error().message : gpu->has_value() ? (*gpu)->uuid : "the CPU";
  };
  EXPECT_EQ(found("cpu"), "the CPU");
  EXPECT_EQ(found("auto"), "GPU-0");
  EXPECT_EQ(found("cuda"), "GPU-0");
  EXPECT_EQ(found("cuda:1"), "GPU-1");
  EXPECT_EQ(found("cuda:2"), "there is no cuda:2: 2 GPU(s) can be seen here");
  for (const char* word :
       {"", "tpu", "cuda0", "cuda:", "cuda:x", "cuda:0 ", "cuda:-1", "cuda:99999999999999999999"})
    EXPECT_NE(found(word).find("is no device: use auto, cpu, cuda or cuda:N"), std::string::npos)
        << word;
  EXPECT_EQ(FindGpu("tpu", "libno-such-library.so.1").error().code, ErrorCode::kInvalid);
  EXPECT_EQ(FindGpu("cuda", "libno-such-library.so.1").error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(FindGpu("auto", "libno-such-library.so.1")->has_value());
}

TEST_F(FakeNvml, OnlyVisibleCardsAreListed) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  const Result<std::vector<GpuInfo>> gpus = ListGpus(ASSAY_FAKE_NVML);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_TRUE(gpus.ok()) << gpus.error().message;
  ASSERT_EQ(gpus->size(), 1u);
  EXPECT_EQ(gpus->front().uuid, "GPU-1");
  EXPECT_EQ(gpus->front().index, 0u);
}

TEST(VisibleGpusTest, ListsAreReadAsCudaReadsThem) {
  std::vector<GpuInfo> cards(3);
  for (unsigned i = 0; i < 3; ++i) {
    cards[i].index = i;
    cards[i].uuid = "GPU-" + std::string(1, static_cast<char>('a' + i)) + "00";
  }
  const auto names = [&](const char* visible) {
    std::string text;
    for (const GpuInfo& gpu : VisibleGpus(cards, visible)) text += gpu.uuid.substr(4, 1);
    return text;
  };
  EXPECT_EQ(names(nullptr), "abc");
  EXPECT_EQ(names(""), "");
  EXPECT_EQ(names("2,0"), "ca");
  EXPECT_EQ(names("GPU-b,2"), "bc");
  EXPECT_EQ(names("1,7,0"), "b");  // what follows a name of no card does not count
  EXPECT_EQ(names("-1,0"), "");    // hides all, as many scripts write it
  EXPECT_EQ(names("0,0,1"), "a");
  EXPECT_EQ(names("NoDevFiles"), "");
}

TEST_F(FakeNvml, TheGaugeReadsItsOwnCardAgainAndAgain) {
  {
    Result<std::unique_ptr<ClockGauge>> gauge = ClockGauge::Open("GPU-1", ASSAY_FAKE_NVML);
    ASSERT_TRUE(gauge.ok()) << gauge.error().message;
    EXPECT_EQ((*gauge)->Read().sm_mhz, 1980u);
    EXPECT_FALSE((*gauge)->Read().Disturbed());
    EXPECT_EQ((*gauge)->MemoryUsed(), 10ull << 30);
    Variable<unsigned>("fake_nvml_clock_mhz") = 1200;
    Variable<unsigned long long>("fake_nvml_reasons") = 0x20 | 0x4;
    EXPECT_EQ((*gauge)->Read().sm_mhz, 1200u);
    EXPECT_TRUE((*gauge)->Read().Disturbed());
    EXPECT_EQ(Variable<int>("fake_nvml_opened"), 1);
  }
  EXPECT_EQ(Variable<int>("fake_nvml_opened"), 0);
}

TEST_F(FakeNvml, ACardThatIsNotThereIsNotFound) {
  Result<std::unique_ptr<ClockGauge>> gauge = ClockGauge::Open("GPU-7", ASSAY_FAKE_NVML);
  ASSERT_FALSE(gauge.ok());
  EXPECT_EQ(gauge.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(Variable<int>("fake_nvml_opened"), 0);
}

TEST(DeviceClockTest, APowerCapIsNoDisturbance) {
  EXPECT_FALSE((DeviceClock{1980, 0x1 | 0x4}).Disturbed());
  for (const uint64_t reason : {0x8, 0x20, 0x40, 0x80})
    EXPECT_TRUE((DeviceClock{1980, reason}).Disturbed()) << reason;
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
