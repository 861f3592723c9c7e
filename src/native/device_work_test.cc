#include "native/device_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace assay {
namespace {

DeviceWork Kernel(std::string_view name, Owner owner, uint64_t start, uint64_t end) {
  DeviceWork work;
  work.name = name;
  work.owner = owner;
  work.start_ns = start;
  work.end_ns = end;
  work.grid = {4, 2, 1};
  work.block = {128, 1, 1};
  work.registers = 32;
  work.static_shared = 1024;
  work.dynamic_shared = 48;
  work.stream = 7;
  return work;
}

DeviceWork Transfer(DeviceWork::Kind kind, uint64_t start, uint64_t end) {
  DeviceWork work;
  work.kind = kind;
  work.start_ns = start;
  work.end_ns = end;
  return work;
}

TEST(SumUp, Nothing) {
  const json::object report = SumUp({}, 3);
  EXPECT_EQ(GetInt(report, "calls"), 3);
  EXPECT_EQ(GetDouble(report, "own_us", -1), 0);
  EXPECT_EQ(GetInt(report, "other_kernels", -1), 0);
  EXPECT_TRUE(GetArray(report, "kernels").empty());
}

TEST(SumUp, ByOwnerAndByKernel) {
  const DeviceWork work[] = {
      Kernel("_Z4reluPfi", Owner::kOwn, 1000, 4000),
      Kernel("_Z4reluPfi", Owner::kOwn, 5000, 9000),
      Kernel("gemm", Owner::kLibrary, 9000, 19000),
      Kernel("gemm", Owner::kUnknown, 19000, 19500),
      Transfer(DeviceWork::Kind::kCopy, 20000, 21000),
      Transfer(DeviceWork::Kind::kCopy, 21000, 22000),
      Transfer(DeviceWork::Kind::kFill, 22000, 22250),
      Kernel("backwards", Owner::kOwn, 30000, 29000),
  };
  const json::object report = SumUp(work, 2);
  EXPECT_DOUBLE_EQ(GetDouble(report, "own_us"), 7);
  EXPECT_DOUBLE_EQ(GetDouble(report, "library_us"), 10);
  EXPECT_DOUBLE_EQ(GetDouble(report, "unknown_us"), 0.5);
  EXPECT_DOUBLE_EQ(GetDouble(report, "copy_us"), 2.25);
  EXPECT_EQ(GetInt(report, "own_launches"), 3);
  EXPECT_EQ(GetInt(report, "copies"), 3);
  EXPECT_EQ(GetInt(report, "own_kernels"), 2);
  EXPECT_EQ(GetInt(report, "other_kernels"), 4) << "gemm twice, copies, fills";
  const json::array& kernels = GetArray(report, "kernels");
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(GetString(kernels[0].as_object(), "name"), "gemm");
  const json::object& relu = kernels[1].as_object();
  const json::value expected =
      json::parse(R"j({"name": "relu(float*, int)", "own": true, "calls": 2,
      "us": 7.0, "grid": [4, 2, 1], "block": [128, 1, 1], "registers": 32, "static_shared": 1024,
      "dynamic_shared": 48, "stream": 7})j");
  EXPECT_EQ(json::value(relu), expected) << json::serialize(relu);
}

TEST(SumUp, AnotherShapeOrStreamIsAnotherLine) {
  DeviceWork work[3] = {Kernel("k", Owner::kOwn, 0, 10), Kernel("k", Owner::kOwn, 0, 10),
                        Kernel("k", Owner::kOwn, 0, 10)};
  work[1].grid[0] = 5;
  work[2].stream = 8;
  const json::object report = SumUp(work, 1);
  EXPECT_EQ(GetArray(report, "kernels").size(), 3u);
  EXPECT_EQ(GetInt(report, "own_kernels"), 1);
}

TEST(SumUp, IsBounded) {
  std::vector<std::string> names;
  names.reserve(500);
  for (int i = 0; i < 500; ++i) names.push_back(std::string(5000, 'x') + std::to_string(i));
  std::vector<DeviceWork> work;
  work.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) work.push_back(Kernel(names[i], Owner::kLibrary, 0, i));
  const json::object report = SumUp(work, 1);
  EXPECT_EQ(GetArray(report, "kernels").size(), kMaxReportedKernels);
  EXPECT_EQ(GetInt(report, "left_out"), static_cast<int64_t>(500 - kMaxReportedKernels));
  EXPECT_DOUBLE_EQ(GetDouble(GetArray(report, "kernels")[0].as_object(), "us"), 0.499);
  EXPECT_LT(json::serialize(report).size(), 32u << 10);
}

TEST(ReadableName, CleansWhatIsHostile) {
  EXPECT_EQ(ReadableName("_ZN2at6native4gelu"), "_ZN2at6native4gelu") << "not a mangled name";
  EXPECT_EQ(ReadableName("triton_relu_kernel"), "triton_relu_kernel");
  EXPECT_EQ(ReadableName("a\x1b[31mb"), "ab");
  EXPECT_LE(ReadableName(std::string(100'000, 'k')).size(), kMaxKernelName);
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string name = "_Z";
    for (unsigned n = random() % 60; n > 0; --n) name += static_cast<char>(random() % 256);
    EXPECT_LE(ReadableName(name).size(), kMaxKernelName);
  }
}

TEST(Occupation, CountsOverlapsOnceAndGapsNot) {
  EXPECT_EQ(OccupationOf({}).span_us, 0);
  const DeviceWork work[] = {
      Kernel("b", Owner::kOwn, 3000, 5000),    Kernel("a", Owner::kOwn, 1000, 2000),
      Kernel("c", Owner::kOwn, 4000, 4500),    Kernel("d", Owner::kOwn, 4500, 6000),
      Kernel("wrong", Owner::kOwn, 9000, 100),
  };
  const Occupation found = OccupationOf(work);
  EXPECT_DOUBLE_EQ(found.span_us, 5);
  EXPECT_DOUBLE_EQ(found.busy_us, 4);
}

}  // namespace
}  // namespace assay
