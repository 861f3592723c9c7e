// The published example: one prompt, three trajectories of up to three turns, c with two turns and
// one padding row; b's second turn is void. The figures were computed independently by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "rl/advantage.h"
#include "rl/mismatch.h"
#include "rl/returns.h"
#include "rl/reward.h"
#include "rl/sampling.h"
#include "rl/simd.h"
#include "rl/token_advantage.h"

namespace assay::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<int64_t> kGroup(9, 7);
const std::vector<int64_t> kTrajectory = {1, 1, 1, 2, 2, 2, 3, 3, 3};
const std::vector<int64_t> kTurn = {1, 2, 3, 1, 2, 3, -1, 1, 2};
const std::vector<double> kReward = {0, 1, 2, .5, 0, 1.5, 0, 0, 1.2};
const std::vector<uint8_t> kKeep = {1, 1, 1, 1, 0, 1, 0, 1, 1};

Rows Example() { return {kGroup, kTrajectory, kTurn, kReward, kKeep}; }

Advantages Compute(const char* name, double gamma, AdvantageInputs inputs = {}) {
  const Rows rows = Example();
  auto index = Index::Build(rows);
  auto estimator = FindEstimator(name);
  auto result = ComputeAdvantages(*index, rows, *estimator, {.gamma = gamma}, inputs);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return *result;
}

struct Golden {
  const char* name;
  double gamma;
  std::vector<double> expected;
};

class GoldenAdvantages : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenAdvantages, MatchPublishedFigures) {
  const auto result = Compute(GetParam().name, GetParam().gamma);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(result.advantage[i], GetParam().expected[i], 5.1e-5) << "row " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Example, GoldenAdvantages,
    ::testing::Values(
        Golden{"trloo", 1.0, {1.4, 1.8, .5, -.1, 0, -.5, 0, -1.3, -1.8}},
        Golden{"trloo", 0.5, {.2625, .8, .5, .075, 0, -.5, 0, -.3375, -.8}},
        Golden{"grpo", 1.0, {.93333, .9, .25, -.06667, 1.5, -.25, 1.2, -.86667, -.9}},
        Golden{"grpo", 0.5, {.175, .4, .25, .05, .75, -.25, .3, -.225, -.4}},
        Golden{"turn_independent_grpo",
               1.0,
               {-.885714, .114286, 1.114286, -.385714, 0, .614286, 0, -.885714, .314286}},
        Golden{"turn_independent_grpo",
               0.5,
               {-.885714, .114286, 1.114286, -.385714, 0, .614286, 0, -.885714, .314286}},
        Golden{"erloo",
               1.0,
               {1.183333, 1.183333, .016667, .016667, 0, -.566667, 0, -.916667, -.916667}},
        Golden{
            "erloo", 0.5, {-.3625, .804167, .804167, -.508333, 0, .220833, 0, -.829167, -.129167}},
        Golden{"erloo_norm", 1.0, {1.7341, 1.7341, .0198, .0198, 0, -.7025, 0, -1.2231, -1.2231}},
        Golden{"erloo_norm", 0.5, {-.6259, 1.6177, 1.6177, -.9076, 0, .3735, 0, -1.6922, -.2168}},
        Golden{"reinforce",
               1.0,
               {1.3226, 1.3226, .0186, .0186, -.6334, -.6334, -1.0246, -1.0246, -1.0246}},
        Golden{"reinforce",
               0.5,
               {-.5689, 1.262, 1.262, -.7978, -1.0266, .3466, -1.8505, -1.3013, -.2027}}),
    [](const auto& golden) {
      return std::string(golden.param.name) +
             (golden.param.gamma == 1.0 ? "_undiscounted" : "_half");
    });

TEST(Golden, Returns) {
  const Rows rows = Example();
  auto index = Index::Build(rows);
  std::vector<double> g(9);
  ASSERT_TRUE(Returns(*index, rows, {.gamma = 1.0}, g).ok());
  EXPECT_THAT(g, ElementsAre(3, 3, 2, 2, 1.5, 1.5, 1.2, 1.2, 1.2));
  ASSERT_TRUE(Returns(*index, rows, {.gamma = 0.5}, g).ok());
  EXPECT_THAT(g, ElementsAre(1, 2, 2, .875, .75, 1.5, .3, .6, 1.2));
}

TEST(Golden, TurnPopulationsFollowTheTurnNotThePosition) {
  // c's second turn stands where a's and b's third do, but is compared with a's second.
  EXPECT_THAT(Compute("trloo", 1.0).population, ElementsAre(3, 2, 2, 3, 0, 2, 0, 3, 2));
}

std::vector<double> ReturnsOf(std::vector<double> reward, const ReturnOptions& options) {
  const std::vector<int64_t> same(reward.size(), 0);
  std::vector<int64_t> turn(reward.size());
  for (size_t i = 0; i < turn.size(); ++i) turn[i] = static_cast<int64_t>(i);
  const Rows rows{same, same, turn, reward, {}};
  auto index = Index::Build(rows);
  std::vector<double> out(reward.size());
  EXPECT_TRUE(Returns(*index, rows, options, out).ok());
  return out;
}

TEST(Returns, EveryKind) {
  using K = ReturnKind;
  const std::vector<double> r = {1, 0, 2, 1};
  EXPECT_THAT(ReturnsOf(r, {K::kMaxToGo, 0.5}), ElementsAre(1, 1, 2, 1));
  EXPECT_THAT(ReturnsOf(r, {K::kBestDelta, 1.0}), ElementsAre(2, 1, 1, 0));
  EXPECT_THAT(ReturnsOf(r, {K::kBestDelta, 0.5}), ElementsAre(1.25, .5, 1, 0));
  EXPECT_THAT(ReturnsOf(r, {K::kLast, 0.5}), ElementsAre(.125, .25, .5, 1));
  EXPECT_THAT(ReturnsOf(r, {K::kBest, 0.5}), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(ReturnsOf(r, {K::kNone, 0.5}), ElementsAre(1, 0, 2, 1));
  EXPECT_THAT(ReturnsOf({-1, -2}, {K::kBestDelta, 1.0}), ElementsAre(0, 0));
}

TEST(Returns, ShapingTelescopes) {
  const std::vector<double> r = {1, 0, 2};
  EXPECT_THAT(ReturnsOf(r, {ReturnKind::kNone, 0.5, true, false}), ElementsAre(1, -1, 2));
  EXPECT_THAT(ReturnsOf(r, {ReturnKind::kNone, 0.5, true, true}), ElementsAre(1, -1, 1));
  EXPECT_THAT(ReturnsOf(r, {ReturnKind::kNone, 1.0, true, true}), ElementsAre(1, -1, 0));
}

TEST(VoidTurns, RemoveWhatFailsAfterASuccess) {
  const auto keep_of = [](const std::vector<double>& reward, std::vector<uint8_t> failed = {},
                          bool mask = true) {
    const std::vector<int64_t> same(reward.size(), 0);
    std::vector<int64_t> turn(reward.size());
    for (size_t i = 0; i < turn.size(); ++i) turn[i] = static_cast<int64_t>(i) + 1;
    auto index = Index::Build({same, same, turn, {}, {}});
    std::vector<uint8_t> keep(reward.size());
    EXPECT_TRUE(VoidTurns(*index, reward, failed, mask, keep).ok());
    return keep;
  };
  EXPECT_THAT(keep_of({0, .9, 0, 1.2, 0}), ElementsAre(1, 1, 0, 1, 0));
  EXPECT_THAT(keep_of({0, 0, 0}), ElementsAre(1, 1, 1));
  EXPECT_THAT(keep_of({.5, 0, 0}), ElementsAre(1, 0, 0));
  EXPECT_THAT(keep_of({.5, 0, 0}, {}, false), ElementsAre(1, 1, 1));
  EXPECT_THAT(keep_of({.5, 0, 1}, {0, 0, 1}), ElementsAre(0, 0, 0));
}

TEST(Trloo, SingleMemberRules) {
  const std::vector<int64_t> group = {1, 1, 1, 2};
  const std::vector<int64_t> trajectory = {1, 1, 2, 3};
  const std::vector<int64_t> turn = {1, 2, 1, 2};
  const std::vector<double> reward = {0, 3, 1, 1};
  const Rows rows{group, trajectory, turn, reward, {}};
  auto index = Index::Build(rows);
  Estimator estimator = *FindEstimator("trloo");
  const auto advantage = [&](Estimator::Single single) {
    estimator.single = single;
    return ComputeAdvantages(*index, rows, estimator, {}, {})->advantage;
  };
  EXPECT_THAT(advantage(Estimator::Single::kRaw), ElementsAre(2, 3, -2, 1));
  EXPECT_THAT(advantage(Estimator::Single::kZero), ElementsAre(2, 0, -2, 0));
  EXPECT_THAT(advantage(Estimator::Single::kTurnMean), ElementsAre(2, 2, -2, -2));
}

TEST(Trloo, IdenticalReturnsGiveExactlyZero) {
  const std::vector<int64_t> group(7, 0);
  const std::vector<int64_t> trajectory = {0, 1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> turn(7, 1);
  const std::vector<double> reward(7, 0.1);
  const Rows rows{group, trajectory, turn, reward, {}};
  auto index = Index::Build(rows);
  for (const char* name : {"trloo", "grpo", "erloo", "erloo_norm", "rloo", "grpo_std", "dr_grpo"}) {
    const auto result = ComputeAdvantages(*index, rows, *FindEstimator(name), {}, {});
    for (const double a : result->advantage) EXPECT_EQ(a, 0.0) << name;
  }
}

TEST(Trloo, PopulationKeptLeavesRejectedRowsOut) {
  const std::vector<uint8_t> trained = {1, 1, 1, 1, 0, 0, 0, 1, 1};
  const auto result = Compute("trloo", 1.0, {.trained = trained});
  EXPECT_EQ(result.advantage[5], 0);  // b3 was rejected ...
  EXPECT_EQ(result.advantage[2], 2);  // ... so a3 is alone
  EXPECT_EQ(result.population[2], 1U);
}

TEST(ErlooNorm, IdenticalOthersDivideByEpsilonOnly) {
  const std::vector<int64_t> group(4, 0);
  const std::vector<int64_t> trajectory = {0, 1, 2, 3};
  const std::vector<int64_t> turn(4, 1);
  const std::vector<double> reward = {.1, .1, .1, 5.1};
  const Rows rows{group, trajectory, turn, reward, {}};
  auto index = Index::Build(rows);
  const auto result = ComputeAdvantages(*index, rows, *FindEstimator("erloo_norm"), {}, {});
  EXPECT_NEAR(result->advantage[3], 5.0 / 1e-8, 1e-2);
}

TEST(ErlooNorm, WithoutTwoOthersThereIsNothingToDivideBy) {
  const std::vector<int64_t> group = {0, 0, 1};
  const std::vector<int64_t> trajectory = {0, 1, 2};
  const std::vector<int64_t> turn(3, 1);
  const std::vector<double> reward = {1, 4, 2};
  const Rows rows{group, trajectory, turn, reward, {}};
  const auto result =
      ComputeAdvantages(*Index::Build(rows), rows, *FindEstimator("erloo_norm"), {}, {});
  EXPECT_NEAR(result->advantage[0], -3 / (1 + 1e-8), 1e-12);
  EXPECT_NEAR(result->advantage[1], 3 / (1 + 1e-8), 1e-12);
  EXPECT_NEAR(result->advantage[2], 2 / (1 + 1e-8), 1e-12);
}

TEST(Rloo, PopulationKeptLeavesOutTrajectoriesWithNothingLeft) {
  const std::vector<int64_t> group(4, 0);
  const std::vector<int64_t> trajectory = {0, 0, 1, 2};
  const std::vector<int64_t> turn = {1, 2, 1, 1};
  const std::vector<double> reward = {0, 1, 2, 6};
  const Rows rows{group, trajectory, turn, reward, {}};
  const Index index = *Index::Build(rows);
  const std::vector<uint8_t> trained = {1, 0, 1, 0};  // one turn left is enough
  const auto result =
      ComputeAdvantages(index, rows, *FindEstimator("rloo"), {}, {.trained = trained});
  EXPECT_THAT(result->advantage, ElementsAre(-1, -1, 1, 0));
  EXPECT_THAT(result->population, ElementsAre(2, 2, 2, 0));
}

TEST(Estimators, RejectWhatTheyDoNotTake) {
  const Rows rows = Example();
  auto index = Index::Build(rows);
  const auto error = [&](const char* name, const ReturnOptions& options) {
    auto result = ComputeAdvantages(*index, rows, *FindEstimator(name), options, {});
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(error("trloo", {.shaping = true}), HasSubstr("not defined for trloo"));
  EXPECT_THAT(error("trloo", {.gamma = 1.5}), HasSubstr("gamma is 1.5"));
  EXPECT_THAT(error("optimal_baseline", {}), HasSubstr("weight has 0 entries, expected 9"));
  EXPECT_THAT(error("remax", {}), HasSubstr("baseline has 0 entries"));
  EXPECT_THAT(FindEstimator("trlo").error().message, HasSubstr("there are trloo, grpo"));
  const std::vector<uint8_t> none(9, 0);
  const Rows void_rows{kGroup, kTrajectory, kTurn, kReward, none};
  EXPECT_THAT(
      ComputeAdvantages(*index, void_rows, *FindEstimator("reinforce"), {}, {}).error().message,
      HasSubstr("no row is kept"));
}

TEST(Index, RejectsContradictions) {
  const auto error = [](std::vector<int64_t> group, std::vector<int64_t> trajectory,
                        std::vector<int64_t> turn, std::vector<double> reward) {
    auto result = Index::Build({group, trajectory, turn, reward, {}});
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(error({1, 2}, {5, 5}, {1, 2}, {0, 0}),
              HasSubstr("trajectory 5 is in groups 1 and 2"));
  EXPECT_THAT(error({1, 1}, {5, 5}, {2, 2}, {0, 0}), HasSubstr("has turn 2 twice (rows 0 and 1)"));
  EXPECT_THAT(error({1, 1}, {5}, {1, 2}, {0, 0}),
              HasSubstr("trajectory has 1 entries, expected 2"));
  EXPECT_THAT(error({1}, {5}, {1}, {NAN}), HasSubstr("row 0: reward is nan"));
  EXPECT_EQ(error({1}, {5}, {-1}, {NAN}), "");
}

// log rho rows [.01, -.02 | pad], [.001, .0005 | pad], and a padding row.
struct RatioExample {
  std::vector<int64_t> group = {0, 0, 0};
  std::vector<int64_t> trajectory = {0, 0, 0};
  std::vector<int64_t> turn = {1, 2, -1};
  std::vector<int64_t> offsets = {0, 3, 6, 9};
  std::vector<double> train = {-.99, -1.02, 5, -.999, -.9995, 5, 5, 5, 5};
  std::vector<double> rollout = {-1, -1, 0, -1, -1, 0, 0, 0, 0};
  std::vector<TokenState> state = {1, 1, 0, 1, 1, 0, 0, 0, 0};

  [[nodiscard]] Index MakeIndex() const { return *Index::Build({group, trajectory, turn, {}, {}}); }
  [[nodiscard]] Tokens<double> MakeTokens() const { return {offsets, train, rollout}; }
};

TEST(GoldenMismatch, Levels) {
  const RatioExample example;
  const auto ratio = [&](Level level, size_t row) {
    return std::exp(
        (*LogRatios(example.MakeIndex(), example.MakeTokens(), example.state, level))[row]);
  };
  EXPECT_NEAR(ratio(Level::kTurn, 0), .99005, 5e-6);
  EXPECT_NEAR(ratio(Level::kTurn, 1), 1.00150, 5e-6);
  EXPECT_EQ(ratio(Level::kTurn, 2), 1.0);
  EXPECT_NEAR(ratio(Level::kSequence, 0), .991536, 5e-7);
  EXPECT_NEAR(ratio(Level::kGeometric, 1), .997877, 5e-7);
}

TEST(GoldenMismatch, TokenWeights) {
  RatioExample example;
  std::vector<double> weights(9);
  MismatchOptions options;
  options.importance = Importance{Level::kToken, 2.0};
  ASSERT_TRUE(CorrectMismatch<double>(example.MakeIndex(), example.MakeTokens(), options,
                                      example.state, weights)
                  .ok());
  const std::vector<double> log_rho = {.01, -.02, 0, .001, .0005, 0, 0, 0, 0};
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(weights[i], example.state[i] == 0 ? 0 : std::exp(log_rho[i]), 1e-14) << i;
  }
}

TEST(GoldenMismatch, GeometricBand) {
  RatioExample example;
  MismatchOptions options;
  options.rejection = Rejection{Level::kGeometric, .99, 1.01, {}};
  ASSERT_TRUE(
      CorrectMismatch<double>(example.MakeIndex(), example.MakeTokens(), options, example.state, {})
          .ok());
  EXPECT_THAT(example.state, ElementsAre(1, 1, 0, 1, 1, 0, 0, 0, 0));
  options.rejection = Rejection{Level::kGeometric, .999, 1.001, {}};
  ASSERT_TRUE(
      CorrectMismatch<double>(example.MakeIndex(), example.MakeTokens(), options, example.state, {})
          .ok());
  EXPECT_THAT(example.state,
              ElementsAre(kMismatch, kMismatch, 0, kMismatch, kMismatch, 0, 0, 0, 0));
}

TEST(Mismatch, VetoScopes) {
  const double bad = std::log(1e-4) - 1e-6;
  const auto after = [&](Scope scope, double log_rho) {
    RatioExample example;
    example.turn = {2, 3, 1};
    example.state = {1, 1, 0, 1, 1, 0, 1, 1, 1};
    example.train[6] = example.train[7] = example.train[8] = 0;
    example.train[1] = -1 + log_rho;
    MismatchOptions options;
    options.veto = 1e-4;
    options.veto_scope = scope;
    EXPECT_TRUE(CorrectMismatch<double>(example.MakeIndex(), example.MakeTokens(), options,
                                        example.state, {})
                    .ok());
    return example.state;
  };
  EXPECT_THAT(after(Scope::kToken, bad), ElementsAre(1, kVeto, 0, 1, 1, 0, 1, 1, 1));
  EXPECT_THAT(after(Scope::kTurn, bad), ElementsAre(kVeto, kVeto, 0, 1, 1, 0, 1, 1, 1));
  EXPECT_THAT(after(Scope::kSuffix, bad), ElementsAre(kVeto, kVeto, 0, kVeto, kVeto, 0, 1, 1, 1));
  EXPECT_THAT(after(Scope::kTrajectory, bad),
              ElementsAre(kVeto, kVeto, 0, kVeto, kVeto, 0, kVeto, kVeto, kVeto));
  EXPECT_THAT(after(Scope::kTrajectory, bad + 2e-6), ElementsAre(1, 1, 0, 1, 1, 0, 1, 1, 1));
}

TEST(Mismatch, ReasonsAddUpAndVoidTurnsStayOut) {
  RatioExample example;
  RejectVoid(example.offsets, std::vector<uint8_t>{1, 0, 1}, example.state);
  MismatchOptions options;
  options.rejection = Rejection{Level::kToken, .995, 1.005, {}};
  options.veto = .985;
  options.band_lower = .5;
  options.band_upper = 1.009;
  auto metrics = CorrectMismatch<double>(example.MakeIndex(), example.MakeTokens(), options,
                                         example.state, {});
  ASSERT_TRUE(metrics.ok());
  EXPECT_THAT(example.state, ElementsAre(kMismatch | kBand | kVeto, kMismatch | kVeto, 0, kVoid,
                                         kVoid, 0, 0, 0, 0));
}

TEST(Mismatch, RejectsBadInput) {
  RatioExample example;
  const auto error = [&](const MismatchOptions& options) {
    auto before = example.state;
    auto result = CorrectMismatch<double>(example.MakeIndex(), example.MakeTokens(), options,
                                          example.state, {});
    EXPECT_EQ(before, example.state);
    return result.ok() ? std::string() : result.error().message;
  };
  MismatchOptions options;
  options.rejection = Rejection{Level::kToken, 2.0, 1.0, {}};
  EXPECT_THAT(error(options), HasSubstr("bounds [2, 1]"));
  options.rejection = Rejection{Level::kGeometric, .9, 1.1, Scope::kToken};
  EXPECT_THAT(error(options), HasSubstr("scope token needs level token"));
  options.rejection.reset();
  options.importance = Importance{Level::kToken, 2.0};
  EXPECT_THAT(error(options), HasSubstr("weights has 0 entries, expected 9"));
  options.importance.reset();
  example.train[0] = NAN;
  EXPECT_THAT(error(options), HasSubstr("row 0: a response token's log-ratio is not a number"));
  example.train[0] = 0;
  example.trajectory = {0, 1, 2};
  options.rejection = Rejection{Level::kTurn, .9, 1.1, {}};
  EXPECT_THAT(error(options), HasSubstr("every trajectory has one turn"));
}

TEST(GoldenCoverage, KeepProbabilities) {
  const std::vector<int64_t> same(6, 0);
  const std::vector<int64_t> turn = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> offsets = {0, 1, 2, 3, 4, 5, 6};
  const std::vector<uint8_t> correct = {1, 1, 1, 1, 0, 1};
  const std::vector<double> coverage = {.30, .33, .35, .40, 0, .1};
  const std::vector<double> speedup = {1, 1, 1, 1, 0, 1.6};
  std::vector<TokenState> state(6, 1);
  const Rows rows{same, same, turn, {}, {}};
  auto result = SampleByCoverage(*Index::Build(rows), rows, offsets, {correct, speedup, coverage},
                                 {.speedup_threshold = 1.5}, state);
  ASSERT_TRUE(result.ok());
  const std::vector<double> expected = {0, .3, .5, 1, 1, 1};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(result->keep_probability[i], expected[i], 1e-12);
  EXPECT_EQ(state[0], kCoverage);
  EXPECT_EQ(state[3], kTrained);
  EXPECT_EQ(state[4], kTrained);
}

TEST(Coverage, NegativeSpeedupThresholdIsOff) {
  const std::vector<int64_t> same = {0};
  const std::vector<int64_t> turn = {1};
  const std::vector<int64_t> offsets = {0, 1};
  const std::vector<uint8_t> correct = {1};
  const std::vector<double> coverage = {.1};
  std::vector<TokenState> state = {kTrained};
  const Rows rows{same, same, turn, {}, {}};
  const Index index = *Index::Build(rows);
  const auto sample = [&](double threshold) {
    return SampleByCoverage(index, rows, offsets, {correct, {}, coverage},
                            {.speedup_threshold = threshold}, state);
  };
  EXPECT_EQ(sample(-1)->keep_probability[0], 0.0);
  EXPECT_THAT(sample(0).error().message, HasSubstr("speedup has 0 entries"));
  EXPECT_THAT(sample(NAN).error().message, HasSubstr("speedup_threshold is nan"));
}

TEST(GoldenReward, Recipe) {
  const auto reward = [](double speedup, double coverage) {
    const Evaluation e{.completed = true,
                       .compiled = true,
                       .correct = true,
                       .speedup = speedup,
                       .own_time_us = coverage,
                       .all_time_us = 1};
    return ComputeReward(RewardFunction::kSpeedup, e, {})->value;
  };
  EXPECT_NEAR(reward(1.3, .62), 1.46, 1e-12);
  EXPECT_NEAR(reward(7, 1), 2.5, 1e-12);
  EXPECT_NEAR(reward(.4, 0), .7, 1e-12);
  EXPECT_NEAR(reward(.4, .2), .8, 1e-12);
  EXPECT_NEAR(reward(1, 7), 1.5, 1e-12) << "coverage is limited to 1";
}

TEST(Reward, FailureCategories) {
  Evaluation e{.completed = true, .compiled = true, .speedup = 0};
  EXPECT_EQ(ComputeReward(RewardFunction::kSpeedup, e, {})->value, 0);
  EXPECT_EQ(ComputeReward(RewardFunction::kStaircase, e, {})->value, -.3);
  e.compiled = false;
  EXPECT_EQ(ComputeReward(RewardFunction::kStaircase, e, {})->value, -.5);
  e.correct = e.decoy = e.compiled = true;
  e.speedup = 9;
  EXPECT_EQ(ComputeReward(RewardFunction::kSpeedup, e, {.penalty = -.25})->value, -.25);
  EXPECT_EQ(ComputeReward(RewardFunction::kStaircase, e, {})->value, -1);
  e.decoy = false;
  EXPECT_EQ(ComputeReward(RewardFunction::kWeighted, e, {.coverage = false})->value, 1.0);
  e.completed = false;
  EXPECT_EQ(ComputeReward(RewardFunction::kWeighted, e, {})->value, 0);
  for (const auto& [speedup, value] : std::vector<std::pair<double, double>>{
           {.99, -.1}, {1, .2}, {1.2, .4}, {1.5, .6}, {2, .8}, {3, 1}}) {
    const Evaluation ok{.completed = true, .compiled = true, .correct = true, .speedup = speedup};
    EXPECT_EQ(ComputeReward(RewardFunction::kStaircase, ok, {})->value, value);
  }
  const Evaluation bad{.completed = true, .speedup = NAN};
  EXPECT_THAT(ComputeReward(RewardFunction::kSpeedup, bad, {}).error().message,
              HasSubstr("speedup is nan"));
}

TEST(Exp, WithinOneUnitInTheLastPlaceOfLibm) {
  for (int i = -40000; i <= 40000; ++i) {
    const double x = i * 5e-4 + 1e-7 * (i % 13);
    simd::F64 v;
    simd::Splat(v, x);
    simd::Exp(v, v);
    ASSERT_NEAR(v[0] / std::exp(x), 1.0, 2.3e-16) << x;
  }
  simd::F64 zero = {};
  simd::Exp(zero, zero);
  EXPECT_EQ(zero[0], 1.0);
}

}  // namespace
}  // namespace assay::rl
