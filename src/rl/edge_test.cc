// What must not pass in silence: figures that are no numbers where they would spread, sums that
// overflow, bounds that cross.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "rl/advantage.h"
#include "rl/evaluation.h"
#include "rl/loss.h"
#include "rl/mismatch.h"
#include "rl/monitor.h"
#include "rl/precision.h"
#include "rl/remeasure.h"
#include "rl/reward.h"
#include "rl/sampling.h"
#include "rl/scaling.h"
#include "rl/token_advantage.h"

namespace assay::rl {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename T>
std::string ErrorOf(const Result<T>& result) {
  return result.ok() ? "" : result.error().message;
}

/// One prompt, two conversations of three turns; the second turn of the first is void.
struct Prompt {
  std::vector<int64_t> group = {5, 5, 5, 5, 5, 5};
  std::vector<int64_t> trajectory = {1, 1, 1, 2, 2, 2};
  std::vector<int64_t> turn = {1, 2, 3, 1, 2, 3};
  std::vector<double> reward = {1, 9, 2, 0, 1, 0};
  std::vector<uint8_t> keep = {1, 0, 1, 1, 1, 1};

  [[nodiscard]] Rows rows() const { return {group, trajectory, turn, reward, keep}; }
  [[nodiscard]] Result<Advantages> Compute(const char* name, const AdvantageInputs& inputs) const {
    return ComputeAdvantages(*Index::Build(rows()), rows(), *FindEstimator(name), {}, inputs);
  }
};

TEST(OptimalBaseline, VoidTurnsHaveNoWeight) {
  const Prompt prompt;
  const std::vector<double> zero = {1, 0, 3, 4, 5, 6};
  for (const double of_the_void : {7.0, double{NAN}}) {
    std::vector<double> weight = zero;
    weight[1] = of_the_void;
    for (const char* name : {"turn_optimal_baseline", "optimal_baseline"}) {
      EXPECT_EQ(prompt.Compute(name, {.weight = weight})->advantage,
                prompt.Compute(name, {.weight = zero})->advantage)
          << name;
    }
  }
  // Turn 3: W = 1 + 3 for the first, 4 + 5 + 6 for the second.
  const double baseline = (2.0 * 4 + 0.0 * 15) / (19 + 1e-8);
  EXPECT_THAT(prompt.Compute("turn_optimal_baseline", {.weight = zero})->advantage[2],
              DoubleEq(2 - baseline));
}

TEST(OptimalBaseline, WeightsThatRoundingMadeNegativeAreZero) {
  const Prompt prompt;
  const std::vector<double> weight = {-1e-8, 0, 0, 0, 0, 0};  // their sum would cancel the epsilon
  EXPECT_EQ(prompt.Compute("turn_optimal_baseline", {.weight = weight})->advantage[0], 3);
}

TEST(Remax, BaselineOfAVoidLastTurnIsRead) {
  Prompt prompt;
  prompt.keep[5] = 0;
  std::vector<double> baseline(6, 1.0);
  EXPECT_EQ(prompt.Compute("remax", {.baseline = baseline})->advantage[5], -1);
  baseline[5] = NAN;
  EXPECT_THAT(ErrorOf(prompt.Compute("remax", {.baseline = baseline})),
              HasSubstr("row 5: baseline is nan"));
}

TEST(Advantages, ThatOverflowAreNamed) {
  Prompt prompt;
  prompt.reward[0] = prompt.reward[2] = std::numeric_limits<double>::max();
  EXPECT_THAT(ErrorOf(prompt.Compute("trloo", {})), HasSubstr("row 0: the advantage comes out as"));
}

TEST(Single, TheMeanOfEqualOthersIsExact) {
  const std::vector<int64_t> id = {1, 2, 3, 4};
  const std::vector<int64_t> turn(4, 1);
  const std::vector<double> reward(4, 0.1);
  const Rows rows{id, id, turn, reward, {}};
  Estimator estimator = *FindEstimator("trloo");
  estimator.single = Estimator::Single::kTurnMean;
  EXPECT_THAT(ComputeAdvantages(*Index::Build(rows), rows, estimator, {}, {})->advantage,
              ElementsAre(0, 0, 0, 0));
}

TEST(Postprocessing, RefusesWhatIsNoNumber) {
  const Prompt prompt;
  const Index index = *Index::Build(prompt.rows());
  std::vector<double> weight(6, 1.0);
  std::vector<double> advantage = {1, NAN, 2, 3, 4, 5};  // row 1 is void and may hold anything
  EXPECT_TRUE(WeighPromptsByVariance(index, prompt.keep, weight, advantage).ok());
  EXPECT_TRUE(std::isfinite(advantage[0]));
  advantage[4] = kInfinity;
  EXPECT_THAT(WeighPromptsByVariance(index, prompt.keep, weight, advantage).error().message,
              HasSubstr("row 4: advantage inf"));
  advantage[4] = 4;
  weight[3] = NAN;
  EXPECT_THAT(WeighPromptsByVariance(index, prompt.keep, weight, advantage).error().message,
              HasSubstr("row 3: advantage"));

  const std::vector<uint8_t> member = {1, 0, 1, 1, 1, 1};
  advantage = {1, NAN, 2, 3, 4, 5};
  ASSERT_TRUE(StandardizeAdvantages(member, advantage).ok());
  EXPECT_EQ(advantage[1], 0);
  EXPECT_EQ(advantage[3], 0);  // the mean
  advantage[2] = NAN;
  EXPECT_THAT(StandardizeAdvantages(member, advantage).error().message,
              HasSubstr("row 2: advantage is nan"));
}

TEST(Postprocessing, EqualAdvantagesHaveNoVarianceWhateverTheirSize) {
  // E[A^2 W] - E[A sqrt(W)]^2 is a difference of numbers near 1e20 here; it comes out as -4096.
  const std::vector<int64_t> group = {1, 1, 1, 2, 2, 2};
  const std::vector<int64_t> trajectory = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> turn(6, 1);
  const Index index = *Index::Build({group, trajectory, turn, {}, {}});
  std::vector<double> advantage = {1e12 / 79, 1e12 / 79, 1e12 / 79, 1, 2, 3};
  const std::vector<double> weight(6, 0.1);
  ASSERT_TRUE(WeighPromptsByVariance(index, {}, weight, advantage).ok());
  for (const double a : advantage) EXPECT_GE(a, 0) << "a weight is no negative number";
}

/// Two turns of one conversation, one token each.
struct Pair {
  std::vector<int64_t> same = {0, 0};
  std::vector<int64_t> turn = {1, 2};
  std::vector<int64_t> offsets = {0, 1, 2};
  std::vector<double> train = {-1, -1};
  std::vector<double> rollout = {-1, -1};
  std::vector<TokenState> state = {1, 1};

  [[nodiscard]] Index index() const { return *Index::Build({same, same, turn, {}, {}}); }
  [[nodiscard]] Tokens<double> tokens() const { return {offsets, train, rollout}; }
  Result<Metrics> Correct(const MismatchOptions& options, std::span<double> weights = {}) {
    return CorrectMismatch<double>(index(), tokens(), options, state, weights);
  }
};

TEST(Mismatch, AnImpossibleTokenIsRejectedAndOneThatWasNeverSampledIsRefused) {
  Pair pair;
  pair.train[0] = -kInfinity;
  MismatchOptions options;
  options.rejection = Rejection{Level::kGeometric, .5, 2, {}};
  ASSERT_TRUE(pair.Correct(options).ok());
  EXPECT_THAT(pair.state, ElementsAre(kMismatch, kMismatch));
  // -inf and +inf together: a ratio that no bound would reject.
  pair.state = {1, 1};
  pair.rollout[1] = -kInfinity;
  EXPECT_THAT(ErrorOf(pair.Correct(options)),
              HasSubstr("row 1: a response token has logp_rollout"));
  EXPECT_THAT(pair.state, ElementsAre(1, 1));
  EXPECT_THAT(ErrorOf(FilterByPrecision<double>(pair.index(), pair.tokens(), {}, {}, pair.state)),
              HasSubstr("row 1: a log-probability"));
}

TEST(Mismatch, ImportanceBoundsBelowOneStillLimit) {
  Pair pair;
  pair.train = {-.5, -1.5};
  for (const Level level : {Level::kToken, Level::kTurn, Level::kSequence}) {
    std::vector<double> weights(2);
    MismatchOptions options;
    options.importance = Importance{level, 0.5};  // its inverse, 2, is above it
    const auto metrics = pair.Correct(options, weights);
    ASSERT_TRUE(metrics.ok());
    EXPECT_LE(std::max(weights[0], weights[1]), 0.5);
    for (const auto& [name, value] : *metrics) {
      // All are limited to 0.5, so they do not differ.
      if (name == "rollout_is_eff_sample_size") {
        EXPECT_NEAR(value, 1, 1e-12);
      } else if (name == "rollout_is_std") {
        EXPECT_NEAR(value, 0, 1e-12);
      }
    }
  }
}

TEST(Mismatch, TurnLevelsNeedTurnsButNotInEveryBatch) {
  Pair pair;
  MismatchOptions options;
  options.rejection = Rejection{Level::kTurn, .5, 2, {}};
  pair.turn = {-1, 1};  // an engine that pads plays two turns; this one ended after the first
  EXPECT_TRUE(pair.Correct(options).ok());
  const Index empty = *Index::Build({});
  const std::vector<int64_t> offsets = {0};
  EXPECT_TRUE(CorrectMismatch<double>(empty, {offsets, {}, {}}, options, {}, {}).ok());
}

TEST(Coverage, TurnsThatHaveNoDrawOfTheirOwnAreRefused) {
  Pair pair;
  const std::vector<uint8_t> correct = {1, 1};
  const std::vector<double> coverage = {.35, .35};
  const auto sample = [&] {
    const Rows rows{pair.same, pair.same, pair.turn, {}, {}};
    return SampleByCoverage(*Index::Build(rows), rows, pair.offsets, {correct, {}, coverage}, {},
                            pair.state);
  };
  pair.turn[1] = 0xFFFFFFFE;
  EXPECT_TRUE(sample().ok());
  pair.turn[1] = 0xFFFFFFFF;  // the draw of whole trajectories
  EXPECT_THAT(ErrorOf(sample()), HasSubstr("row 1: turn 4294967295 is too large"));
  pair.turn[1] = (int64_t{1} << 32) + 1;  // would draw what turn 1 draws
  EXPECT_THAT(ErrorOf(sample()), HasSubstr("is too large to key a draw"));
}

TEST(Monitor, RefusesWhatIsNoNumber) {
  Pair pair;
  pair.train[1] = NAN;
  EXPECT_THAT(ErrorOf(ProfileMismatch<double>(pair.tokens(), pair.state)),
              HasSubstr("row 1: a response token's log-ratio is not a number"));
  pair.state[1] = kVoid;
  EXPECT_TRUE(ProfileMismatch<double>(pair.tokens(), pair.state).ok());
  const std::vector<uint8_t> correct = {1, 0};
  const auto quality = [&](const std::vector<double>& speedup) {
    return RejectionQuality(pair.offsets, pair.state, {correct, speedup, {}}, kMismatch, {});
  };
  EXPECT_TRUE(quality({1, NAN}).ok());
  EXPECT_THAT(ErrorOf(quality({NAN, 1})), HasSubstr("row 0: speedup is nan"));
}

TEST(TokenAdvantages, NameTheRowThatIsNoNumber) {
  Pair pair;
  std::vector<double> advantage(2);
  std::vector<double> returns(2);
  std::vector<double> values = {0, NAN};
  std::vector<double> reward = {1, 1};
  const auto gae = [&] {
    return GeneralizedAdvantages<double>(pair.offsets, pair.state, {reward, {}}, values, 1, 1, true,
                                         advantage, returns);
  };
  EXPECT_THAT(gae().error().message, HasSubstr("row 1: a response token's advantage comes out as"));
  pair.state[1] = 0;  // padding may hold anything
  EXPECT_TRUE(gae().ok());
  pair.state[1] = 1;
  reward[0] = kInfinity;
  EXPECT_THAT(
      ReinforcePlusPlus<double>(pair.offsets, pair.state, {reward, {}}, 1, advantage, returns)
          .error()
          .message,
      HasSubstr("row 0: a response token's return comes out as inf"));
  const std::vector<double> value = {1, 2};
  const std::vector<int64_t> trajectory = {0, 1};
  const std::vector<int64_t> turn = {1, 1};
  EXPECT_THAT(TokenOptimalBaseline<double>(*Index::Build({pair.same, trajectory, turn, {}, {}}), {},
                                           value, pair.offsets, pair.state, values, advantage)
                  .error()
                  .message,
              HasSubstr("a response token's advantage comes out as nan"));
}

TEST(Loss, RatiosBeyondTheSafetyLimitAreConstant) {
  const std::vector<int64_t> offsets = {0, 2};
  const std::vector<TokenState> state = {1, 1};
  const std::vector<double> logp = {-26, -20};
  const std::vector<double> old = {-1, -1};
  const std::vector<double> advantage = {1};
  std::vector<double> gradient(2);
  const auto loss = PolicyLoss<double>({.offsets = offsets,
                                        .state = state,
                                        .logp = logp,
                                        .logp_old = old,
                                        .row_advantage = advantage},
                                       {.aggregation = Aggregation::kSeqSumNoNorm}, gradient);
  ASSERT_TRUE(loss.ok());
  EXPECT_THAT(loss->value, DoubleEq(-std::exp(-20.0) - std::exp(-19.0)));
  EXPECT_THAT(gradient, ElementsAre(0.0, DoubleEq(-std::exp(-19.0))));
}

TEST(Reward, OptionsThatMakeItNoNumberAreRefused) {
  const Evaluation fast{.completed = true, .compiled = true, .correct = true, .speedup = 2};
  EXPECT_EQ(ComputeReward(RewardFunction::kSpeedup, fast, {.speedup_upper = kInfinity})->value,
            1.5);
  EXPECT_THAT(ErrorOf(ComputeReward(RewardFunction::kSpeedup, fast, {.correct_weight = NAN})),
              HasSubstr("the reward comes out as nan"));
  EXPECT_THAT(ErrorOf(ComputeReward(RewardFunction::kSpeedup, {}, {.penalty = -kInfinity})),
              HasSubstr("the value of a failure is -inf"));
}

TEST(Remeasure, AFailureMayHaveASpeedupOfNothing) {
  const std::vector<Measurement> runs = {{true, true, 5.0}, {true, false, 0.0}, {true, true, 4.9}};
  const auto joined = JoinMeasurements(runs, {});
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->result.speedup, 4.9);
  const std::vector<Measurement> wrong = {{true, true, 0.0}};
  EXPECT_THAT(ErrorOf(JoinMeasurements(wrong, {})), HasSubstr("must be positive"));
}

TEST(Scaling, CountsThatOverflowAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_THAT(ErrorOf(TotalTurns({kHuge, 3, 0})), HasSubstr("more than can be counted"));
  EXPECT_EQ(*TotalTurns({kHuge, 1, 0}), kHuge);
}

TEST(Statistics, RefuseWhatIsNoNumberAndKeepTheirBounds) {
  const std::vector<uint8_t> correct = {1, 0};
  EXPECT_TRUE(FastP(correct, std::vector<double>{1, NAN}, 1).ok());
  EXPECT_THAT(ErrorOf(FastP(correct, std::vector<double>{NAN, 1}, 1)),
              HasSubstr("task 0: speedup is nan"));
  EXPECT_THAT(ErrorOf(FastP(correct, std::vector<double>{1, 1}, NAN)), HasSubstr("p is nan"));
  // One outlier of many has the greatest skew there is; an extreme confidence reaches its pole.
  std::vector<double> outlier(400, 0.0);
  outlier[0] = 1;
  const Interval wide = *BcaMean(outlier, 4000, 1, 1 - 1e-12);
  EXPECT_LE(wide.low, wide.value);
  EXPECT_GE(wide.high, wide.value);
}

}  // namespace
}  // namespace assay::rl
