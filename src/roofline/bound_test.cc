#include "roofline/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace assay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Work Moves(double read, double write) {
  Work work;
  work.read_bytes = read;
  work.write_bytes = write;
  work.eager_bytes = read + write;
  work.eager_kernels = 1;
  return work;
}

Work Multiplies(double flops, const std::string& dtype) {
  Work work = Moves(1e6, 1e6);
  work.operators.push_back({.op = "mm",
                            .matrix = true,
                            .dtype = dtype,
                            .nominal = flops,
                            .flops = flops,
                            .least = flops});
  return work;
}

Calibration Typical() {
  Calibration calibration;
  calibration.uuid = "GPU-1";
  calibration.bandwidth_gbs = {{"dram_copy", 4300}, {"dram_read", 4500}, {"dram_write", 4400}};
  calibration.tflops = {{"fp64", 60}, {"fp32", 52}, {"tf32", 400}, {"bf16", 790}, {"fp16", 780}};
  calibration.best_gbs = calibration.bandwidth_gbs;
  calibration.best_tflops = calibration.tflops;
  calibration.launch_us = 2;
  return calibration;
}

Bound OnH200(const Work& work, const Calibration* calibration = nullptr) {
  return ComputeBound(work, *FindCard("H200"), calibration, nullptr);
}

// The peaks at the highest clock, 1.98 GHz: fp32 66.9, tf32 535.3, half 1070.5 TFLOP/s.
TEST(Bound, MemoryAtTheDatasheetsRate) {
  // ReLU of 4096 x 393216 fp32: 12.885 GB; up to 60 MB of the output may be in L2 at the end.
  const double half = 4096.0 * 393216 * 4;
  const Bound bound = OnH200(Moves(half, half));
  EXPECT_NEAR(bound.bound_us, (2 * half - 60e6) / 4800e3, 0.01);
  EXPECT_EQ(bound.limiter, "memory");
  EXPECT_EQ(bound.precision, "");
  EXPECT_EQ(bound.source, "datasheet");
  EXPECT_FALSE(bound.calibrated_us.has_value());
}

TEST(Bound, OutputsThatFitTheCacheAreFree) {
  EXPECT_NEAR(OnH200(Moves(480e6, 50e6)).bound_us, 100, 1e-9);
}

TEST(Bound, NothingIsShorterThanALaunch) {
  const Bound bound = OnH200(Moves(4096, 4096));
  EXPECT_EQ(bound.bound_us, 1);
  EXPECT_EQ(bound.limiter, "launch");
}

TEST(Bound, PrecisionLadderOfFp32) {
  // 4096 cubed. Where nobody tried, TF32 is assumed to pass.
  Work work = Multiplies(1.374e11, "float32");
  EXPECT_NEAR(OnH200(work).bound_us, 1.374e11 / 535.3e6, 0.1);
  EXPECT_EQ(OnH200(work).precision, "tf32");
  EXPECT_THAT(OnH200(work).notes, Contains(HasSubstr("TF32")));
  // Refused: three TF32 products are as good as fp32 and 2.7 times as fast.
  work.verified = true;
  EXPECT_NEAR(OnH200(work).bound_us, 1.374e11 / (535.3e6 / 3), 0.3);
  EXPECT_EQ(OnH200(work).precision, "3xtf32");
  EXPECT_TRUE(OnH200(work).notes.empty());
  work.admitted = {"bf16x3"};
  EXPECT_NEAR(OnH200(work).bound_us, 1.374e11 / (1070.5e6 / 3), 0.2);
  work.admitted = {"tf32", "bf16"};
  EXPECT_NEAR(OnH200(work).bound_us, 1.374e11 / 1070.5e6, 0.1);
  EXPECT_EQ(OnH200(work).precision, "bf16");
}

TEST(Bound, OtherTypesHaveTheirOwnUnits) {
  EXPECT_NEAR(OnH200(Multiplies(1e12, "bfloat16")).bound_us, 1e12 / 1070.5e6, 1);
  EXPECT_NEAR(OnH200(Multiplies(1e12, "float16")).bound_us, 1e12 / 1070.5e6, 1);
  EXPECT_NEAR(OnH200(Multiplies(1e12, "float64")).bound_us, 1e12 / 66.9e6, 10);
  EXPECT_NEAR(OnH200(Multiplies(1e12, "int8")).bound_us, 1e12 / 2141e6, 1);
  EXPECT_NEAR(OnH200(Multiplies(1e12, "float8_e4m3fn")).bound_us, 1e12 / 2141e6, 1);
  // A card without TF32 units multiplies fp32 on its vector units.
  const Bound t4 = ComputeBound(Multiplies(1e12, "float32"), *FindCard("T4"), nullptr, nullptr);
  EXPECT_EQ(t4.precision, "fp32");
  EXPECT_NEAR(t4.bound_us, 1e12 / 8.14e6, 300);
}

TEST(Bound, VectorAndMatrixWorkOverlap) {
  Work work = Multiplies(1e12, "bfloat16");
  work.operators.push_back({.op = "sum",
                            .matrix = false,
                            .dtype = "float32",
                            .nominal = 1e10,
                            .flops = 1e10,
                            .least = 1e10});
  EXPECT_NEAR(OnH200(work).bound_us, 1e12 / 1070.5e6, 1) << "the larger one, not the sum";
  work.operators[1].least = work.operators[1].flops = work.operators[1].nominal = 1e12;
  EXPECT_EQ(OnH200(work).limiter, "vector");
}

TEST(Bound, OnlyTheLeastWorkCountsForTheBound) {
  Work work = Multiplies(8e11, "bfloat16");
  work.operators[0].flops = 4e11;  // triangular
  work.operators[0].least = 1e11;  // Winograd
  const Calibration calibration = Typical();
  const Bound bound = OnH200(work, &calibration);
  EXPECT_NEAR(bound.bound_us, 1e11 / 1070.5e6, 0.1);
  EXPECT_NEAR(*bound.calibrated_us, 4e11 / 790e6 + 2, 0.1) << "what the card reaches, and a launch";
}

TEST(Bound, CalibratedTimeKnowsTheMixOfReadsAndWrites) {
  const Calibration calibration = Typical();
  EXPECT_NEAR(*OnH200(Moves(1e9, 1e9), &calibration).calibrated_us, 2e9 / 4300e3 + 2, 1e-6);
  EXPECT_NEAR(*OnH200(Moves(2e9, 0), &calibration).calibrated_us, 2e9 / 4500e3 + 2, 1e-6);
  EXPECT_NEAR(*OnH200(Moves(0, 2e9), &calibration).calibrated_us, 2e9 / 4400e3 + 2, 1e-6);
  EXPECT_NEAR(*OnH200(Moves(1.5e9, 0.5e9), &calibration).calibrated_us, 2e9 / 4400e3 + 2, 1e-6);
}

TEST(Bound, LongRowsAreReadTwice) {
  const Calibration calibration = Typical();
  Work work = Moves(4e9, 4e9);
  const double once = *OnH200(work, &calibration).calibrated_us;
  work.second_reads = {{.op = "_softmax", .row_bytes = 64e3, .bytes = 4e9}};
  EXPECT_EQ(*OnH200(work, &calibration).calibrated_us, once) << "a row fits on the chip";
  work.second_reads[0].row_bytes = 64e6;
  EXPECT_GT(*OnH200(work, &calibration).calibrated_us, 1.4 * once);
  EXPECT_EQ(OnH200(work, &calibration).bound_us, OnH200(Moves(4e9, 4e9), &calibration).bound_us);
}

TEST(Bound, ChainsCost) {
  const Calibration calibration = Typical();
  Work work = Moves(1e9, 1e9);
  work.depth = 65;
  EXPECT_NEAR(*OnH200(work, &calibration).calibrated_us, 2e9 / 4300e3 + 2 + 64 * 1.5, 1e-6);
}

TEST(Bound, BestSeenRatesShortenTheBound) {
  Calibration calibration = Typical();
  const double table = OnH200(Moves(4e9, 0)).bound_us;
  calibration.best_gbs["dram_read"] = 4890;
  EXPECT_NEAR(OnH200(Moves(4e9, 0), &calibration).bound_us, table * 4800 / 4890, 1e-6);
  calibration.best_tflops["bf16"] = 1100;
  EXPECT_NEAR(OnH200(Multiplies(1e12, "bfloat16"), &calibration).bound_us, 1e12 / 1100e6, 0.1);
}

TEST(Bound, NeverAboveTheCalibratedTime) {
  std::mt19937_64 random(7);  // NOLINT: repeatable
  std::uniform_real_distribution<double> exponent(0, 12);
  const auto draw = [&] { return std::pow(10, exponent(random)); };
  const Calibration calibration = Typical();
  for (int i = 0; i < 2000; ++i) {
    Work work = Multiplies(draw(), i % 2 == 0 ? "float32" : "bfloat16");
    work.read_bytes = draw();
    work.write_bytes = draw();
    work.depth = i % 7;
    const Bound bound = OnH200(work, &calibration);
    ASSERT_GT(bound.bound_us, 0);
    ASSERT_LE(bound.bound_us, *bound.calibrated_us);
    // More work never takes less time.
    Work more = work;
    more.read_bytes *= 2;
    more.operators[0].flops = more.operators[0].least = 2 * work.operators[0].flops;
    ASSERT_GE(OnH200(more, &calibration).bound_us, bound.bound_us);
    ASSERT_GE(*OnH200(more, &calibration).calibrated_us, *bound.calibrated_us);
  }
}

TEST(Bound, OverridesNeedTheTaskAndAReason) {
  const json::object document{
      {"kb/l2/1",
       {{"task_sha256", "aa"},
        {"reason", "the sum makes it a matrix-vector product"},
        {"matrix_scale", 0.01},
        {"read_bytes", 480e6}}},
  };
  const Result<BoundOverrides> read = ReadOverrides(document);
  ASSERT_TRUE(read.ok());
  const BoundOverride* found = FindOverride(*read, "kb/l2/1", "aa");
  ASSERT_NE(found, nullptr);
  Work work = Multiplies(1e12, "bfloat16");
  work.read_bytes = 960e6;
  const RooflineReport report = ToReport(ComputeBound(work, *FindCard("H200"), nullptr, found));
  EXPECT_NEAR(report.bound_us, 100, 1) << "its memory, no longer its arithmetic";
  EXPECT_EQ(report.bound_us, report.traffic_us);
  EXPECT_THAT(report.override_reason, HasSubstr("matrix-vector"));
  EXPECT_EQ(report.written_us, ComputeBound(work, *FindCard("H200"), nullptr, nullptr).bound_us);
  work.read_bytes = 1e6;  // the same task, smaller
  EXPECT_LT(ComputeBound(work, *FindCard("H200"), nullptr, found).traffic_us, 2);
  EXPECT_EQ(FindOverride(*read, "kb/l2/1", "bb"), nullptr) << "another version";
  EXPECT_EQ(FindOverride(*read, "kb/l2/9", "aa"), nullptr);
}

TEST(Bound, OverridesThatDoNothingAreTold) {
  TaskRegistry tasks;
  for (const char* name : {"a/one", "a/two", "a/three"}) {
    Result<Task> task = MakeTask({.id = name,
                                  .aliases = {std::string("alias/") + name},
                                  .source = "class Model: pass\n"
                                            "def get_inputs(): return []\n"
                                            "def get_init_inputs(): return []\n"});
    ASSERT_TRUE(task.ok()) << task.error().message;
    ASSERT_TRUE(tasks.Add(*std::move(task)).ok());
  }
  const std::string sha256 = (*tasks.Find("a/one"))->sha256;
  const auto of = [](const std::string& hash) {
    return BoundOverride{.task_sha256 = hash, .reason = "a test"};
  };
  const std::vector<std::string> idle = IdleOverrides(
      {{"a/one", of(sha256)}, {"a/two", of("bb")}, {"alias/a/three", of(sha256)}, {"b", of("cc")}},
      tasks);
  EXPECT_THAT(
      idle, ElementsAre(AllOf(HasSubstr("a/two"), HasSubstr("another version"), HasSubstr(sha256)),
                        AllOf(HasSubstr("alias/a/three"), HasSubstr("its id is a/three")),
                        AllOf(HasSubstr("of b "), HasSubstr("names no task here"))));
}

TEST(Bound, OverridesThatAreMalformedAreRefused) {
  const json::object bad{
      {"no reason", {{"task_sha256", "aa"}}},
      {"no task", {{"reason", "x"}, {"matrix_scale", 1}}},
      {"more work", {{"task_sha256", "aa"}, {"reason", "x"}, {"matrix_scale", 2}}},
      {"misspelt", {{"task_sha256", "aa"}, {"reason", "x"}, {"read_byte", 2}}},
      {"a number", 3}};
  for (const auto& [id, entry] : bad) {
    const Result<BoundOverrides> read = ReadOverrides({{id, entry}});
    ASSERT_FALSE(read.ok()) << id;
    EXPECT_THAT(read.error().message, HasSubstr(std::string(id)));
  }
}

TEST(Bound, FusionGainsWhatEagerMovesMore) {
  // GELU written out of eight operators moves its tensor eighteen times instead of twice.
  Work work = Moves(268435456, 268435456);
  work.eager_bytes = 9 * (work.read_bytes + work.write_bytes);
  work.eager_kernels = 8;
  const Bound bound = OnH200(work);
  EXPECT_NEAR(bound.fusion_gain, 9.0, 1e-9);
  EXPECT_THAT(ExplainText(work, bound), HasSubstr("fusion gains at most 9.0x"));
  // Where arithmetic is the limit, moving less gains nothing.
  EXPECT_EQ(OnH200(Multiplies(1e12, "bfloat16")).fusion_gain, 1);
}

TEST(Bound, ReportHoldsWhatTheVerdictNeeds) {
  const Calibration calibration = Typical();
  const Bound bound = OnH200(Multiplies(1e12, "bfloat16"), &calibration);
  RooflineReport report = ToReport(bound);
  SetFraction(2 * *bound.calibrated_us, &report);
  EXPECT_DOUBLE_EQ(report.fraction, 0.5);
  EXPECT_EQ(report.limiter, "matrix");
  EXPECT_EQ(report.precision, "bf16");
  EXPECT_EQ(report.source, "calibrated");
  EXPECT_TRUE(ReadRoofline(ToJson(report)).ok());
}

TEST(WorkDocument, BadOnesAreRefused) {
  const json::object good{{"schema", "assay.work/1"}, {"inputs", json::array{}},
                          {"outputs", json::array{}}, {"read_bytes", 1},
                          {"write_bytes", 1},         {"eager_bytes", 1},
                          {"eager_kernels", 1},       {"depth", 1}};
  EXPECT_TRUE(ReadWork(good).ok());
  const auto with = [&](const char* name, json::value value) {
    json::object document = good;
    document[name] = std::move(value);
    return document;
  };
  const json::object op{{"op", "mm"},          {"class", "matrix"}, {"dtype", "float32"},
                        {"flops_nominal", 10}, {"flops", 5},        {"flops_bound", 6}};
  for (const json::object& bad :
       {with("schema", "assay.work/2"), with("read_bytes", -1), with("read_bytes", "1"),
        with("write_bytes", nullptr), with("eager_bytes", 1e30), with("inputs", json::array{1}),
        with("ops", json::array{op}), with("second_reads", json::array{json::object{}})})
    EXPECT_FALSE(ReadWork(bad).ok()) << json::serialize(bad);
}

}  // namespace
}  // namespace assay
