#include <gtest/gtest.h>

#include <cmath>

#include "base/fd.h"
#include "reward/reward.h"
#include "reward/reward_test_util.h"

namespace assay {
namespace {

using test::Case;
using test::VerdictOf;

double Value(std::string_view mode, const Case& wanted, const json::object& parameters = {}) {
  const Result<Reward> reward = ComputeReward(mode, parameters, VerdictOf(wanted));
  EXPECT_TRUE(reward.ok()) << mode << ": " << (reward.ok() ? "" : reward.error().message);
  if (!reward.ok()) return std::nan("");
  EXPECT_FALSE(reward->masked) << mode << ": " << reward->explanation;
  return reward->value;
}

ErrorCode Code(std::string_view mode, const Case& wanted, const json::object& parameters = {}) {
  const Result<Reward> reward = ComputeReward(mode, parameters, VerdictOf(wanted));
  EXPECT_FALSE(reward.ok());
  return reward.ok() ? ErrorCode::kInternal : reward.error().code;
}

// Two tasks of a GPU: one whose reference is nearly at the bound, one whose reference moves nine
// times the bytes it must. Rows: the kernel's distance from the bound, and what each mode pays.
TEST(RewardGolden, ModesSideBySide) {
  struct Row {
    double reference, kernel, roofline, kevin, speedup, log_speedup, sol, drkernel;
  };
  const Row rows[] = {
      {1.1, 3.00, 1.200, 0.6667, 0.6667, -1.0033, 0.0476, 0.6833},
      {1.1, 1.15, 2.6478, 1.2565, 1.2565, -0.0445, 0.4000, 0.9783},
      {9.0, 9.00, 0.6000, 1.3000, 1.3000, 0.0000, 0.5000, 1.0000},
      {9.0, 2.00, 1.6500, 4.8000, 3.3000, 1.5041, 0.8889, 2.0000},
      {9.0, 1.05, 2.8714, 8.8714, 3.3000, 2.1484, 0.9938, 2.0000},
  };
  for (const Row& row : rows) {
    Case wanted;
    wanted.bound = 100;
    wanted.reference = 100 * row.reference;
    wanted.candidate = 100 * row.kernel;
    wanted.coverage_time = 0;
    SCOPED_TRACE(testing::Message() << row.reference << " " << row.kernel);
    EXPECT_NEAR(Value("roofline", wanted), row.roofline, 5e-4);
    EXPECT_NEAR(Value("kevin", wanted), row.kevin, 5e-4);
    // The reference is 1.1 or 9 bounds long, so the physical cap does not bite below 3.
    EXPECT_NEAR(Value("speedup", wanted), row.speedup, 5e-4);
    EXPECT_NEAR(Value("drkernel", wanted), row.drkernel, 5e-4);
    EXPECT_NEAR(Value("sol", wanted), 0.3 + 2.7 * row.sol, 5e-4);
    const json::object plain{{"base", 0}, {"low", 0.25}, {"high", 100}};
    EXPECT_NEAR(Value("log", wanted, plain), std::max(row.log_speedup - std::log(0.25), 0.0), 5e-4);
  }
}

TEST(RewardGolden, Roofline) {
  EXPECT_DOUBLE_EQ(Value("roofline", {}), 0.3 + 2.7 * 0.5);
  EXPECT_DOUBLE_EQ(Value("roofline", {.candidate = 50}), 3.0);
  EXPECT_DOUBLE_EQ(Value("roofline", {.candidate = 49}), 3.0);  // at the roof
  EXPECT_DOUBLE_EQ(Value("roofline", {.calibrated = 80.0}), 0.3 + 2.7 * 0.8);
  EXPECT_DOUBLE_EQ(Value("roofline", {.calibrated = 80.0}, {{"t_min", "bound"}}), 0.3 + 2.7 * 0.5);
  EXPECT_DOUBLE_EQ(Value("roofline", {.calibrated = 20.0}), 0.3 + 2.7 * 0.5);
  EXPECT_DOUBLE_EQ(Value("roofline", {}, {{"power", 2}}), 0.3 + 2.7 * 0.25);
  EXPECT_DOUBLE_EQ(Value("roofline", {}, {{"base", 0}, {"span", 1}}), 0.5);
  // The lower end of the speedup's interval is a longer time.
  EXPECT_DOUBLE_EQ(Value("roofline", {.interval = 0.25}, {{"estimate", "lower"}}), 0.3 + 2.7 * 0.4);
  EXPECT_DOUBLE_EQ(Value("roofline", {.status = "incorrect"}), 0);
  EXPECT_EQ(Code("roofline", {.bound = {}}), ErrorCode::kUnavailable);
  EXPECT_EQ(Code("roofline", {}, {{"t_min", "calibrated"}}), ErrorCode::kUnavailable);
}

TEST(RewardGolden, SolHasNoPole) {
  EXPECT_DOUBLE_EQ(Value("sol", {.candidate = 200}), 0.3 + 2.7 * 0.5);  // as fast as the reference
  // A reference at the bound: where the published score has its pole.
  EXPECT_DOUBLE_EQ(Value("sol", {.candidate = 49, .reference = 50}), 3.0);
  EXPECT_DOUBLE_EQ(Value("sol", {.candidate = 52.5, .reference = 50}), 0.3 + 2.7 * 0.5);
}

TEST(RewardGolden, SpeedupIsCappedByPhysics) {
  EXPECT_DOUBLE_EQ(Value("speedup", {}), 2.3);
  EXPECT_DOUBLE_EQ(Value("speedup", {.candidate = 10, .bound = {}}), 3.3);
  // The bound is 50 of the reference's 60: no speedup over 1.2 is real, whatever the clock said.
  EXPECT_DOUBLE_EQ(Value("speedup", {.candidate = 48.6, .reference = 60}), 0.3 + 1.02 * 60 / 50);
}

TEST(RewardGolden, Log) {
  EXPECT_DOUBLE_EQ(Value("log", {}), 0.3 + std::log(8.0));
  EXPECT_DOUBLE_EQ(Value("log", {.candidate = 1e6}), 0.3);
  EXPECT_DOUBLE_EQ(Value("log", {.candidate = 50}), 0.3 + std::log(12.0));
  EXPECT_EQ(Code("log", {}, {{"low", 3}, {"high", 3}}), ErrorCode::kInvalid);
}

TEST(RewardGolden, FastAndKernelBenchAreStrict) {
  EXPECT_EQ(Value("fast_p", {.candidate = 200}), 0);
  EXPECT_EQ(Value("fast_p", {.candidate = 199}), 1);
  EXPECT_EQ(Value("fast_p", {.candidate = 199, .interval = 0.1}, {{"estimate", "lower"}}), 0);
  EXPECT_EQ(Value("fast_p", {}, {{"p", 2}}), 0);
  EXPECT_EQ(Value("kernelbench", {.candidate = 200}), 0);
  EXPECT_EQ(Value("kernelbench", {.candidate = 200}, {{"p", 0}}), 1);
  const Result<Reward> reward = ComputeReward("kernelbench", {}, VerdictOf({.candidate = 150}));
  ASSERT_TRUE(reward.ok());
  EXPECT_EQ(reward->parts.at("fast_1").as_int64(), 1);
  EXPECT_EQ(reward->parts.at("fast_1.5").as_int64(), 0);
}

TEST(RewardGolden, Milestones) {
  EXPECT_EQ(Value("milestones", {.candidate = 200}), 1);
  EXPECT_EQ(Value("milestones", {.candidate = 190}), 2);
  EXPECT_EQ(Value("milestones", {}), 3);  // 2.0 itself is not passed
  EXPECT_EQ(Value("milestones", {.candidate = 60}), 5);
  EXPECT_EQ(Value("milestones", {.candidate = 190, .interval = 0.01}), 1);
  EXPECT_EQ(Value("milestones", {.status = "timeout"}), 0);
}

TEST(RewardGolden, LadderAndTiers) {
  EXPECT_EQ(Value("ladder", {.status = "invalid_submission"}), 0);
  EXPECT_EQ(Value("ladder", {.status = "compile_error"}), 0.1);
  EXPECT_EQ(Value("ladder", {.status = "runtime_error", .compiled = false}), 0.1);
  EXPECT_EQ(Value("ladder", {.status = "runtime_error"}), 0.2);
  EXPECT_EQ(Value("ladder", {.status = "incorrect"}), 0.3);
  EXPECT_EQ(Value("ladder", {}), 0.5 + 2.5 * 0.5);
  EXPECT_EQ(Value("tiers", {.status = "compile_error"}), 0);
  EXPECT_EQ(Value("tiers", {.status = "incorrect"}), 0.1);
  EXPECT_DOUBLE_EQ(Value("tiers", {}), 0.3 + 0.7 / 3);
  EXPECT_EQ(Value("tiers", {.candidate = 400}), 0.3);
  EXPECT_EQ(Value("tiers", {.candidate = 10, .bound = {}}), 1);
  EXPECT_EQ(Value("tiers", {}, {{"timing", false}}), 0.3);
}

TEST(RewardGolden, CoverageMultiplies) {
  EXPECT_DOUBLE_EQ(Value("coverage", {}), 0.3 + 2.7 * 0.5);
  EXPECT_DOUBLE_EQ(Value("coverage", {.coverage_time = 0.55}), 0.3 + 2.7 * 0.5 * 0.5);
  EXPECT_DOUBLE_EQ(Value("coverage", {.coverage_time = 0.3}), 0.3);
  EXPECT_DOUBLE_EQ(Value("coverage", {.coverage_time = 0.94}, {{"least", 0.95}}), 0);
  EXPECT_DOUBLE_EQ(Value("coverage", {.coverage_time = 0.1}, {{"of", "count"}}), 0.3 + 2.7 * 0.5);
  EXPECT_EQ(Code("coverage", {.coverage_time = {}}), ErrorCode::kUnavailable);
  EXPECT_EQ(Code("coverage", {}, {{"from", 0.8}}), ErrorCode::kInvalid);
}

TEST(RewardGolden, ProgressSumsToTheBest) {
  double best = 0;
  double sum = 0;
  for (const double candidate : {400.0, 100.0, 200.0, 50.0, 50.0}) {
    const Case wanted{.candidate = candidate};
    sum += Value("progress", wanted, {{"best", best}});
    best = std::max(best, Value("roofline", wanted));
  }
  EXPECT_DOUBLE_EQ(sum, 3.0);
  EXPECT_EQ(Value("progress", {}, {{"of", "fast_p"}, {"of_parameters", {{"p", 3}}}}), 0);
  EXPECT_EQ(Code("progress", {}, {{"of_parameters", {{"p", 3}}}}), ErrorCode::kInvalid);
  EXPECT_EQ(Code("progress", {}, {{"of", "progress"}}), ErrorCode::kInvalid);
}

TEST(RewardGolden, Kevin) {
  EXPECT_DOUBLE_EQ(Value("kevin", {.candidate = 1, .bound = {}}), 200.3);
  EXPECT_EQ(Value("kevin", {.status = "incorrect"}), 0);
}

TEST(RewardGolden, DrKernel) {
  // Published recipe: 0.5 correct, 0.5 speedup up to 3, 0.5 coverage.
  EXPECT_DOUBLE_EQ(Value("drkernel", {.candidate = 500, .coverage_time = 0.2}), 0.8);
  EXPECT_DOUBLE_EQ(Value("drkernel", {.candidate = 10, .bound = {}, .coverage_time = 0.4}), 2.2);
  EXPECT_DOUBLE_EQ(Value("drkernel", {}, {{"coverage", false}}), 1.5);
  EXPECT_DOUBLE_EQ(Value("drkernel", {}, {{"function", "weighted"}, {"coverage", false}}), 1);
  EXPECT_EQ(Value("drkernel", {.flags = {"decoy"}}), 0);
  for (const char* status : {"incorrect", "compile_error", "runtime_error", "timeout"})
    EXPECT_EQ(Value("drkernel", {.status = status}), 0);
  EXPECT_EQ(Code("drkernel", {.coverage_time = {}}), ErrorCode::kUnavailable);
  const json::object staircase{{"function", "staircase"}};
  EXPECT_DOUBLE_EQ(Value("drkernel", {.coverage_time = {}}, staircase), 0.8);
  EXPECT_DOUBLE_EQ(Value("drkernel", {.candidate = 300}, staircase), -0.1);
  EXPECT_DOUBLE_EQ(Value("drkernel", {.status = "incorrect"}, staircase), -0.3);
  EXPECT_DOUBLE_EQ(Value("drkernel", {.status = "timeout"}, staircase), -1);
}

TEST(RewardGolden, Kernrl) {
  EXPECT_EQ(Value("kernrl", {.status = "compile_error"}), -0.5);
  EXPECT_EQ(Value("kernrl", {.status = "incorrect"}), -0.25);
  EXPECT_EQ(Value("kernrl", {.candidate = 400}), -0.25);
  EXPECT_EQ(Value("kernrl", {.candidate = 200}), 0);
  EXPECT_EQ(Value("kernrl", {}), 1);
  EXPECT_EQ(Value("kernrl", {.candidate = 50}), 2);
}

TEST(RewardGolden, CudaAgent) {
  EXPECT_EQ(Value("cuda_agent", {.status = "incorrect"}), -1);
  EXPECT_EQ(Value("cuda_agent", {.candidate = 195}), 1);
  EXPECT_EQ(Value("cuda_agent", {.over_compile = 1.05}), 2);
  EXPECT_EQ(Value("cuda_agent", {}), 3);
  EXPECT_EQ(Value("cuda_agent", {.candidate = 300, .over_compile = 2.0}), 1);
  EXPECT_EQ(Code("cuda_agent", {.over_compile = {}}), ErrorCode::kUnavailable);
}

TEST(RewardGolden, RealVerdictsAreRead) {
  const auto read = [](const std::string& name) {
    Result<std::string> text = ReadFile(ASSAY_SOURCE_DIR "/src/verdict/testdata/" + name);
    EXPECT_TRUE(text.ok());
    Result<json::object> verdict = ParseJsonObject(*text);
    EXPECT_TRUE(verdict.ok());
    return *verdict;
  };
  EXPECT_DOUBLE_EQ((*ComputeReward("kevin", {}, read("correct.json"))).value, 0.3 + 2.3133);
  EXPECT_EQ((*ComputeReward("roofline", {}, read("incorrect.json"))).value, 0);
  EXPECT_EQ((*ComputeReward("kernrl", {}, read("cheat.json"))).value, -0.5);
  EXPECT_TRUE((*ComputeReward("roofline", {}, read("infra.json"))).masked);
  const Result<Reward> interpreter = ComputeReward("kevin", {}, read("interpreter.json"));
  ASSERT_FALSE(interpreter.ok());
  EXPECT_EQ(interpreter.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ((*ComputeReward("correctness", {}, read("interpreter.json"))).value, 1);
}

TEST(RewardGolden, ModesThatNeedAProfileSaySo) {
  const json::object none;
  for (const RewardMode& mode : RewardModes())
    EXPECT_EQ(NeedsProfile(mode.name, none), mode.name == "coverage" || mode.name == "drkernel")
        << mode.name;
  EXPECT_FALSE(NeedsProfile("drkernel", {{"coverage", false}}));
  EXPECT_FALSE(NeedsProfile("drkernel", {{"function", "staircase"}}));
  EXPECT_TRUE(NeedsProfile("progress", {{"of", "coverage"}}));
  EXPECT_FALSE(NeedsProfile("progress", {{"of", "nothing"}}));
  EXPECT_FALSE(NeedsProfile("nothing", none));
  EXPECT_FALSE(NeedsProfile("coverage", {{"nothing", 1}}));
}

}  // namespace
}  // namespace assay
