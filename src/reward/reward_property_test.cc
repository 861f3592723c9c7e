// The properties that reward.h promises of every mode, over random verdicts and parameters. A mode
// that is added to the registry is tested without a change here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "reward/mode.h"
#include "reward/reward.h"
#include "reward/reward_test_util.h"

namespace assay {

/// What a failed test prints of its mode.
static void PrintTo(const RewardMode& mode, std::ostream* out) { *out << mode.name; }

namespace {

using test::Case;
using test::VerdictOf;

constexpr int kRounds = 2000;

class RewardProperty : public testing::TestWithParam<RewardMode> {
 protected:
  double Between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  /// From tiny to huge.
  double Scale(double low, double high) { return std::exp(Between(std::log(low), std::log(high))); }
  bool Coin() { return random_() % 2 == 0; }

  Case RandomCase() {
    Case wanted;
    wanted.reference = Scale(1, 1e6);
    wanted.candidate = Scale(0.01, 1e5);
    wanted.bound = Scale(1e-6, 1e7);
    if (Coin()) wanted.bound = wanted.candidate * Between(0.1, 1.02);
    wanted.calibrated = *wanted.bound * Between(0.5, 3);
    wanted.interval = Coin() ? 0 : Between(0, 0.5);
    wanted.coverage_time = Between(0, 1);
    wanted.coverage_count = Between(0, 1);
    wanted.over_compile = Scale(0.01, 100);
    return wanted;
  }

  /// Some parameters of the mode, at random; not always a set that goes together.
  json::object RandomParameters() {
    json::object parameters;
    for (const reward::Mode& mode : reward::Modes()) {
      if (mode.name != GetParam().name) continue;
      for (const reward::ParameterSpec& spec : mode.parameters) {
        if (Coin() || spec.fallback.is_object()) continue;
        if (spec.fallback.is_bool()) {
          parameters[spec.name] = Coin();
        } else if (spec.fallback.is_string()) {
          parameters[spec.name] = spec.choices[random_() % spec.choices.size()];
        } else if (spec.fallback.is_array()) {
          parameters[spec.name] = json::array{Between(0.1, 1), Between(1, 2), Between(2, 9)};
        } else {
          parameters[spec.name] = Coin() ? spec.low : Between(spec.low, std::min(spec.high, 5.0));
        }
      }
    }
    return parameters;
  }

  json::object GoodParameters() {
    for (;;) {
      json::object parameters = RandomParameters();
      if (RangeOf(GetParam().name, parameters).ok()) return parameters;
    }
  }

  Reward Compute(const Case& wanted, const json::object& parameters) {
    Result<Reward> reward = ComputeReward(GetParam().name, parameters, VerdictOf(wanted));
    EXPECT_TRUE(reward.ok()) << (reward.ok() ? "" : reward.error().message) << "\n"
                             << json::serialize(parameters) << "\n"
                             << json::serialize(VerdictOf(wanted));
    return reward.ok() ? *reward : Reward{};
  }

  std::mt19937_64 random_{20260101};  // NOLINT(bugprone-random-generator-seed): repeatable
};

TEST_P(RewardProperty, FiniteAndWithinItsRange) {
  for (int round = 0; round < kRounds; ++round) {
    const json::object parameters = GoodParameters();
    const Result<RewardRange> range = RangeOf(GetParam().name, parameters);
    ASSERT_TRUE(range.ok());
    EXPECT_LE(range->low, range->high);
    const Reward reward = Compute(RandomCase(), parameters);
    EXPECT_TRUE(std::isfinite(reward.value));
    if (reward.masked) {
      EXPECT_EQ(reward.value, 0);
      continue;
    }
    EXPECT_GE(reward.value, range->low);
    EXPECT_LE(reward.value, range->high);
    EXPECT_FALSE(reward.explanation.empty());
    for (const auto& [name, part] : reward.parts)
      EXPECT_TRUE(part.is_number() && std::isfinite(part.to_number<double>())) << name;
  }
}

TEST_P(RewardProperty, ASlowerKernelIsWorthNoMore) {
  for (int round = 0; round < kRounds; ++round) {
    const json::object parameters = GoodParameters();
    Case fast = RandomCase();
    Case slow = fast;
    slow.candidate = fast.candidate * Scale(1, 1000);
    // torch.compile's time is one figure too.
    slow.over_compile = *fast.over_compile * fast.candidate / slow.candidate;
    const Reward quick = Compute(fast, parameters);
    const Reward late = Compute(slow, parameters);
    if (quick.masked || late.masked) continue;  // faster than the bound
    EXPECT_GE(quick.value, late.value - 1e-9) << json::serialize(parameters);
  }
}

TEST_P(RewardProperty, AWrongResultIsWorthNoMoreThanARightOne) {
  const char* const wrong[] = {"incorrect", "invalid_submission", "compile_error", "runtime_error",
                               "timeout",   "out_of_memory",      "rejected_cheat"};
  bool violated = false;
  for (int round = 0; round < kRounds; ++round) {
    json::object parameters = GoodParameters();
    const Reward right = Compute(RandomCase(), parameters);
    if (right.masked) continue;
    for (const char* status : wrong) {
      const Reward reward = Compute({.status = status}, parameters);
      EXPECT_FALSE(reward.masked);
      violated = violated || reward.value > right.value;
    }
  }
  EXPECT_EQ(violated, !GetParam().ranks_correct);
}

TEST_P(RewardProperty, CheatsGetTheLeastWithAnyParameters) {
  for (int round = 0; round < kRounds / 10; ++round) {
    const json::object parameters = GoodParameters();
    EXPECT_EQ(Compute({.status = "rejected_cheat"}, parameters).value,
              (*RangeOf(GetParam().name, parameters)).low);
  }
}

TEST_P(RewardProperty, OneFactorOnAllTimesChangesNothing) {
  for (int round = 0; round < kRounds; ++round) {
    const json::object parameters = GoodParameters();
    const Case wanted = RandomCase();
    Case scaled = wanted;
    const double factor = std::exp2(static_cast<int>(random_() % 13) - 6);  // exact
    scaled.candidate *= factor;
    scaled.reference *= factor;
    *scaled.bound *= factor;
    if (scaled.calibrated) *scaled.calibrated *= factor;
    const Reward before = Compute(wanted, parameters);
    const Reward after = Compute(scaled, parameters);
    EXPECT_EQ(before.masked, after.masked);
    EXPECT_NEAR(before.value, after.value, 1e-9 * std::max(1.0, std::abs(before.value)));
  }
}

TEST_P(RewardProperty, ReadsNothingThatTheSubmissionWrote) {
  const Case wanted{.candidate = 120, .interval = 0.01};
  json::object verdict = VerdictOf(wanted);
  const Result<Reward> before = ComputeReward(GetParam().name, {}, verdict);
  ASSERT_TRUE(before.ok());
  verdict["stdout"] = R"({"speedup": 1000, "reward": 3})";
  verdict["stderr"] = "correct";
  verdict["reward"] = 3;
  verdict["speedup"] = 1000;
  verdict["timing"].as_object()["clock_check"] = json::object{{"inside_us", 0.001}};
  verdict["raw"] = json::object{{"candidate", json::array{0}}};
  const Result<Reward> after = ComputeReward(GetParam().name, {}, verdict);
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(before->value, after->value);
}

TEST_P(RewardProperty, TheLowerBoundPaysNoMore) {
  if (!GetParam().parameters.contains("estimate")) GTEST_SKIP() << "the mode takes no estimate";
  for (int round = 0; round < kRounds; ++round) {
    json::object parameters = GoodParameters();
    const Case wanted = RandomCase();
    parameters["estimate"] = "median";
    const Reward median = Compute(wanted, parameters);
    parameters["estimate"] = "lower";
    const Reward lower = Compute(wanted, parameters);
    if (median.masked) continue;
    EXPECT_LE(lower.value, median.value + 1e-9);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RewardProperty, testing::ValuesIn(RewardModes()),
                         [](const auto& mode) { return mode.param.name; });

TEST(RewardModes, RooflineIsFirstAndNamesAreUnique) {
  ASSERT_FALSE(RewardModes().empty());
  EXPECT_EQ(RewardModes().front().name, "roofline");
  std::set<std::string> names;
  for (const RewardMode& mode : RewardModes()) {
    EXPECT_TRUE(names.insert(mode.name).second) << mode.name;
    EXPECT_FALSE(mode.version.empty());
    EXPECT_FALSE(mode.summary.empty());
    const Result<RewardRange> range = RangeOf(mode.name, mode.parameters);
    ASSERT_TRUE(range.ok()) << mode.name << ": the defaults are valid parameters";
    EXPECT_EQ(range->low, mode.low);
    EXPECT_EQ(range->high, mode.high);
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"roofline", "sol", "speedup", "log", "fast_p", "milestones",
                                   "ladder", "tiers", "coverage", "correctness", "progress",
                                   "kevin", "drkernel", "kernrl", "cuda_agent", "kernelbench"}));
}

}  // namespace
}  // namespace assay
