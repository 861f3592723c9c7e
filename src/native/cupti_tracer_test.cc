// The tracer against libraries that act as CUPTI and CUDA, loaded as the real ones would be.

#include "native/cupti_tracer.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/temp_folder.h"
#include "native/testing/fakes.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using test::FakeCupti;
using test::FakeLaunch;
using ::testing::HasSubstr;

const std::string kFakes = ASSAY_FAKES;
const std::string kCupti = kFakes + "/libcupti.so.fake";

template <typename Function>
Function Symbol(void* library, const char* name) {
  void* symbol = ::dlsym(library, name);
  EXPECT_NE(symbol, nullptr) << name;
  Function function = nullptr;
  std::memcpy(&function, &symbol, sizeof(void*));
  return function;
}

void* Open(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << ::dlerror();
  return library;
}

class Tracer : public ::testing::Test {
 protected:
  Tracer() {
    for (const char* name : {"own", "site-packages"}) {
      fs::create_directories(folder_ / name);
      fs::copy_file(kFakes + "/libassay_fake_caller.so", folder_ / name / "caller.so",
                    fs::copy_options::overwrite_existing);
    }
    void* cupti = Open(kCupti);
    state_ = Symbol<FakeCupti*>(cupti, "fake_cupti");
    *state_ = {};
    call_ = Symbol<test::FakeCallback>(cupti, "fake_cupti_call");
    record_ = Symbol<void (*)(const void*, size_t)>(cupti, "fake_cupti_record");
    runtime_ = Symbol<test::FakeRuntime>(Open(kFakes + "/libcudart.so.fake"), "fake_cudart_launch");
    own_ = Caller("own");
    library_ = Caller("site-packages");
  }

  test::FakeCaller Caller(const char* folder) {
    return Symbol<test::FakeCaller>(Open(folder_ / folder / "caller.so"), "fake_caller");
  }

  Result<std::unique_ptr<CuptiTracer>> Attach() {
    const std::string paths[] = {kCupti};
    return CuptiTracer::Attach(
        paths, {(folder_ / "own").string(), {(folder_ / "site-packages").string()}});
  }

  void Launch(test::FakeCaller caller, FakeLaunch launch) { caller(runtime_, call_, &launch); }
  /// A launch by the runtime's API, which asks the driver.
  void RuntimeLaunch(test::FakeCaller caller, uint32_t correlation, void* node = nullptr) {
    Launch(caller, {.domain = cupti::kDomainRuntime,
                    .id = 211,
                    .correlation = correlation,
                    .nested_correlation = correlation + 500,
                    .nested = true,
                    .node = node});
  }

  void Ran(const char* name, uint32_t correlation, uint64_t start, uint64_t end,
           uint64_t node = 0) {
    cupti::KernelActivity kernel{};
    kernel.kind = cupti::kConcurrentKernel;
    kernel.name = name;
    kernel.correlation = correlation;
    kernel.graph_node = node;
    kernel.start = start;
    kernel.end = end;
    kernel.grid[0] = kernel.grid[1] = kernel.grid[2] = 1;
    kernel.block[0] = 256;
    kernel.registers = 40;
    record_(&kernel, sizeof kernel);
  }
  void Copied(uint32_t kind, uint64_t start, uint64_t end) {
    cupti::TransferActivity transfer{};
    transfer.kind = kind;
    transfer.start = start;
    transfer.end = end;
    record_(&transfer, sizeof transfer);
  }

  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
  FakeCupti* state_ = nullptr;
  test::FakeCallback call_ = nullptr;
  void (*record_)(const void*, size_t) = nullptr;
  test::FakeRuntime runtime_ = nullptr;
  test::FakeCaller own_ = nullptr;
  test::FakeCaller library_ = nullptr;
};

TEST_F(Tracer, SaysWhoAskedForWhatRan) {
  auto tracer = Attach();
  ASSERT_TRUE(tracer.ok()) << tracer.error().message;
  ASSERT_TRUE((*tracer)->Start(CuptiTracer::kAttributed).ok());
  // Records carry the number of the runtime's call or of the driver's: both are known.
  RuntimeLaunch(own_, 1);
  Ran("_Z4reluPfi", 1, 1000, 3000);
  RuntimeLaunch(own_, 2);
  Ran("_Z4reluPfi", 502, 3000, 5000);
  RuntimeLaunch(library_, 3);
  Ran("relu", 3, 5000, 6000);
  Ran("nobody", 99, 6000, 6500);
  Copied(cupti::kMemcpy, 7000, 8000);
  Copied(cupti::kMemset, 8000, 8100);
  Copied(cupti::kMemcpyPeer, 8100, 8200);
  ASSERT_TRUE((*tracer)->Stop().ok());
  ASSERT_TRUE((*tracer)->Start(CuptiTracer::kFree).ok());
  Ran("relu", 7, 100'000, 101'000);
  Ran("relu", 8, 102'000, 103'000);
  ASSERT_TRUE((*tracer)->Stop().ok());
  Ran("after the end", 9, 0, 1'000'000);

  const json::object report = (*tracer)->Report({}, 1);
  EXPECT_DOUBLE_EQ(GetDouble(report, "own_us"), 4) << json::serialize(report);
  EXPECT_DOUBLE_EQ(GetDouble(report, "library_us"), 1);
  EXPECT_DOUBLE_EQ(GetDouble(report, "unknown_us"), 0.5);
  EXPECT_DOUBLE_EQ(GetDouble(report, "copy_us"), 1.2);
  EXPECT_DOUBLE_EQ(GetDouble(report, "span_us"), 3);
  EXPECT_DOUBLE_EQ(GetDouble(report, "busy_us"), 2);
  EXPECT_EQ(GetInt(report, "free_records"), 2);
  EXPECT_EQ(GetString(report, "library"), kCupti);
  EXPECT_EQ(state_->buffers_out, 0);
  (*tracer).reset();
  EXPECT_EQ(state_->subscribers, 0);
  EXPECT_EQ(state_->callbacks_enabled, 0);
}

TEST_F(Tracer, HandlesDecideOverTheLauncher) {
  auto tracer = Attach();
  ASSERT_TRUE(tracer.ok());
  ASSERT_TRUE((*tracer)->Start(CuptiTracer::kAttributed).ok());
  const uint64_t launch_kernel[] = {0x1111, 0};
  const uint64_t launch_kernel_ex[] = {0, 0x2222};
  const auto driver = [&](uint32_t id, const void* parameters, uint32_t correlation) {
    Launch(own_, {.domain = cupti::kDomainDriver,
                  .id = id,
                  .parameters = parameters,
                  .correlation = correlation});
    Ran("k", correlation, 0, 1000);
  };
  driver(307, launch_kernel, 1);
  driver(652, launch_kernel_ex, 2);
  driver(652, launch_kernel_ex, 3);
  driver(478, launch_kernel, 4);
  ASSERT_TRUE((*tracer)->Stop().ok());
  const uint64_t inductor[] = {0x2222};
  const json::object report = (*tracer)->Report({{}, inductor}, 1);
  EXPECT_EQ(GetInt(report, "own_launches"), 2) << json::serialize(report);
  EXPECT_EQ(GetInt(report, "library_launches"), 2);
}

TEST_F(Tracer, GraphsReplayWhatWasCaptured) {
  auto tracer = Attach();
  ASSERT_TRUE(tracer.ok());
  int nodes[3] = {};
  // Captured while warming up, before any window.
  RuntimeLaunch(own_, 1, &nodes[0]);
  RuntimeLaunch(library_, 2, &nodes[1]);
  cupti::GraphData clone{};
  clone.node = &nodes[2];
  clone.original_node = &nodes[0];
  const cupti::ResourceData resource{nullptr, nullptr, &clone};
  call_(cupti::kDomainResource, cupti::kGraphNodeCloned, &resource);
  ASSERT_TRUE((*tracer)->Start(CuptiTracer::kAttributed).ok());
  Ran("k", 77, 0, 1000, reinterpret_cast<uintptr_t>(&nodes[2]));
  Ran("k", 77, 1000, 5000, reinterpret_cast<uintptr_t>(&nodes[1]));
  Ran("k", 77, 5000, 5500, 12345);
  ASSERT_TRUE((*tracer)->Stop().ok());
  const json::object report = (*tracer)->Report({}, 1);
  EXPECT_DOUBLE_EQ(GetDouble(report, "own_us"), 1) << json::serialize(report);
  EXPECT_DOUBLE_EQ(GetDouble(report, "library_us"), 4);
  EXPECT_DOUBLE_EQ(GetDouble(report, "unknown_us"), 0.5);
}

TEST_F(Tracer, NothingGrowsWithoutBound) {
  auto tracer = Attach();
  ASSERT_TRUE(tracer.ok());
  state_->buffer_limit = 4096;
  ASSERT_TRUE((*tracer)->Start(CuptiTracer::kAttributed).ok());
  std::string name(10'000, 'n');
  for (uint32_t i = 0; i < 70'000; ++i) {
    name[i % 100] = static_cast<char>('a' + i % 26);
    Ran(name.c_str(), i, i, i + 1);
  }
  ASSERT_TRUE((*tracer)->Stop().ok());
  const json::object report = (*tracer)->Report({}, 1);
  EXPECT_EQ(GetInt(report, "unknown_launches"), 1 << 16);
  EXPECT_EQ(GetInt(report, "dropped"), 70'000 - (1 << 16));
  EXPECT_LT(json::serialize(report).size(), 64u << 10);
}

TEST_F(Tracer, FailuresAreTypedAndLeaveNothingBehind) {
  state_->subscribe_result = cupti::kErrorMultipleSubscribers;
  auto tracer = Attach();
  ASSERT_FALSE(tracer.ok());
  EXPECT_EQ(tracer.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(tracer.error().message,
              HasSubstr("cuptiSubscribe: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED (39): "
                        "another profiler"));
  state_->subscribe_result = 77;
  EXPECT_THAT(Attach().error().message, HasSubstr("unknown error (77)"));
  state_->subscribe_result = 0;
  state_->version = 17;
  EXPECT_THAT(Attach().error().message, HasSubstr("version 17"));
  state_->version = 18;
  state_->unknown_callback = 505;
  tracer = Attach();
  ASSERT_TRUE(tracer.ok()) << "an older library does not know all calls";
  EXPECT_THAT(Attach().error().message, HasSubstr("already"));
  state_->enable_result = 3;
  EXPECT_THAT((*tracer)->Start(CuptiTracer::kFree).error().message,
              HasSubstr("cuptiActivityEnable of activity 10"));
  state_->enable_result = 0;
  ASSERT_TRUE((*tracer)->Start(CuptiTracer::kFree).ok());
  state_->flush_result = 5;
  EXPECT_THAT((*tracer)->Stop().error().message, HasSubstr("cuptiActivityFlushAll"));
  (*tracer).reset();
  EXPECT_EQ(state_->subscribers, 0);
}

TEST_F(Tracer, ALibraryThatIsNoneIsNamed) {
  const std::string text = (folder_ / "libcupti.so.text").string();
  std::ofstream(text) << "no library";
  const std::string paths[] = {"/nowhere/libcupti.so", text, kFakes + "/libcudart.so.fake"};
  const auto opened = CuptiLibrary::Open(paths);
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("is too old"));
  const auto none = CuptiLibrary::Open(std::span(paths).first(2));
  // A machine with CUPTI in its library path has one all the same.
  if (!none.ok()) {
    EXPECT_THAT(none.error().message, HasSubstr("/nowhere/libcupti.so"));
    EXPECT_THAT(none.error().message, HasSubstr("libcupti.so.text"));
  }
}

}  // namespace
}  // namespace assay
