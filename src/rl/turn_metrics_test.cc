#include "rl/turn_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "rl/evaluation.h"
#include "rl/loss.h"
#include "rl/precision.h"
#include "rl/remeasure.h"
#include "rl/returns.h"
#include "rl/reward.h"
#include "rl/scaling.h"

namespace assay::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double At(const Metrics& metrics, const std::string& name) {
  const auto found = std::ranges::find(metrics, name, &Metrics::value_type::first);
  EXPECT_NE(found, metrics.end()) << name;
  return found == metrics.end() ? std::nan("") : found->second;
}

bool Has(const Metrics& metrics, const std::string& name) {
  return std::ranges::find(metrics, name, &Metrics::value_type::first) != metrics.end();
}

// Three samples of one prompt: a has 3 turns, b 2 and an abnormal one, c 1; and a padding row.
//   a: wrong, right 1.5, right 0.9     b: right 2.0, wrong, (no room)     c: right 1.0
struct Example {
  std::vector<int64_t> group = {0, 0, 0, 0, 0, 0, 0, 0};
  std::vector<int64_t> trajectory = {1, 1, 1, 2, 2, 2, 3, 3};
  std::vector<int64_t> turn = {1, 2, 3, 1, 2, 3, 1, -1};
  std::vector<double> reward = {0, 1.25, .95, 1.5, 0, 0, 1.0, 0};
  std::vector<uint8_t> keep = {1, 1, 1, 1, 0, 0, 1, 0};
  std::vector<uint8_t> correct = {0, 1, 1, 1, 0, 0, 1, 0};
  std::vector<double> speedup = {7, 1.5, .9, 2, 0, 0, 1, 0};  // a wrong turn's speed is not read
  std::vector<uint8_t> compiled = {1, 1, 1, 1, 0, 0, 1, 0};
  std::vector<uint8_t> abnormal = {0, 0, 0, 0, 0, 1, 0, 0};
  std::vector<uint8_t> flagged = {1, 0, 0, 0, 0, 0, 0, 0};
  std::vector<double> thresholds = {1.0, 1.5};
  Rows rows() const { return {group, trajectory, turn, reward, keep}; }
  Index index() const { return *Index::Build(rows()); }
  TurnOutcomes outcomes() const {
    return {.correct = correct, .speedup = speedup, .compiled = compiled, .abnormal = abnormal};
  }
  Metrics Run(const TurnOutcomes& outcomes, bool count_abnormal = true) const {
    return *TurnMetrics(index(), rows(), outcomes, {thresholds, count_abnormal});
  }
};

TEST(TurnMetrics, ByTurn) {
  const Example example;
  const Metrics m = example.Run(example.outcomes());
  EXPECT_EQ(At(m, "turn_1/count"), 3);
  EXPECT_DOUBLE_EQ(At(m, "turn_1/correctness_rate"), 2.0 / 3);
  EXPECT_EQ(At(m, "turn_1/compilation_rate"), 1);
  EXPECT_EQ(At(m, "turn_1/mean_performance"), 1.5);
  EXPECT_EQ(At(m, "turn_1/max_performance"), 2);
  EXPECT_EQ(At(m, "turn_1/min_performance"), 1);
  EXPECT_EQ(At(m, "turn_1/mean_performance_in_all"), 1);
  EXPECT_EQ(At(m, "turn_1/fast@1"), 1);
  EXPECT_EQ(At(m, "turn_1/fast@1.5"), .5);
  EXPECT_DOUBLE_EQ(At(m, "turn_1/fast@1.5_in_all"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(At(m, "turn_1/mean_reward"), 2.5 / 3);
  EXPECT_EQ(At(m, "turn_2/correctness_rate"), .5);
  EXPECT_EQ(At(m, "turn_3/correctness_rate"), .5);  // the turn without a verdict is a failure
  EXPECT_FALSE(Has(m, "turn_-1/count"));
  EXPECT_FALSE(Has(m, "turn_1/mean_time_coverage"));
}

TEST(TurnMetrics, LeavingAbnormalTurnsOutFlattersLateOnes) {
  const Example example;
  const Metrics m = example.Run(example.outcomes(), false);
  EXPECT_EQ(At(m, "turn_3/count"), 1);
  EXPECT_EQ(At(m, "turn_3/correctness_rate"), 1);
  EXPECT_EQ(At(m, "data/filtered_abnormal_turns"), 1);
  EXPECT_EQ(At(example.Run(example.outcomes()), "data/filtered_abnormal_turns"), 0);
}

TEST(TurnMetrics, BestSoFarAndLast) {
  const Example example;
  const Metrics m = example.Run(example.outcomes());
  EXPECT_DOUBLE_EQ(At(m, "best_by_turn_1/correctness_rate"), 2.0 / 3);
  EXPECT_EQ(At(m, "best_by_turn_2/correctness_rate"), 1);
  EXPECT_EQ(At(m, "best_by_turn_3/mean_performance"), 1.5);  // 1.5, 2, 1
  EXPECT_DOUBLE_EQ(At(m, "best_by_turn_3/fast@1.5_in_all"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(At(m, "final/correctness_rate"), 2.0 / 3);  // b ends without a verdict
  EXPECT_EQ(At(m, "final/mean_performance"), .95);
  EXPECT_EQ(At(m, "improvement/improved_samples"), 1);
  EXPECT_EQ(At(m, "improvement/regressed_samples"), 1);
  EXPECT_EQ(At(m, "improvement/net_improvement"), 0);
  EXPECT_DOUBLE_EQ(At(m, "improvement/first_turn_correct_rate"), 2.0 / 3);
}

TEST(TurnMetrics, SelectedByWhatTheModelWasTold) {
  const Example example;
  TurnOutcomes outcomes = example.outcomes();
  EXPECT_FALSE(Has(example.Run(outcomes), "selected/count"));
  // a was told the most of its wrong turn: the choice is scored by what was measured anew.
  const std::vector<double> told = {3, 1.4, .9, 2, 0, 0, 1, 0};
  outcomes.told_speedup = told;
  const Metrics m = example.Run(outcomes);
  EXPECT_DOUBLE_EQ(At(m, "selected/correctness_rate"), 2.0 / 3);
  EXPECT_EQ(At(m, "selected/mean_performance"), 1.5);  // 2 and 1
}

TEST(TurnMetrics, CountsAndHacking) {
  const Example example;
  TurnOutcomes outcomes = example.outcomes();
  outcomes.flagged = example.flagged;
  outcomes.time_coverage = example.reward;  // any figures will do
  const Metrics m = example.Run(outcomes);
  EXPECT_EQ(At(m, "data/total_actual_turns"), 7);
  EXPECT_EQ(At(m, "data/valid_turns"), 6);
  EXPECT_EQ(At(m, "data/padding_turns"), 1);
  EXPECT_EQ(At(m, "data/unique_samples"), 3);
  EXPECT_DOUBLE_EQ(At(m, "hacking/rate"), 1.0 / 7);
  EXPECT_DOUBLE_EQ(At(m, "hacking/rate_among_correct_looking"), 1.0 / 5);
  EXPECT_EQ(At(m, "multiturn/num_turns_max"), 3);
  EXPECT_DOUBLE_EQ(At(m, "multiturn/num_turns_mean"), 7.0 / 3);
  EXPECT_DOUBLE_EQ(At(m, "multiturn/void_turn_rate"), 2.0 / 7);
  EXPECT_EQ(At(m, "turn_1/mean_time_coverage"), 1.25);
  EXPECT_DOUBLE_EQ(At(m, "turn_1/mean_time_coverage_in_all"), 2.5 / 3);
}

TEST(TurnMetrics, QuartersAreDescending) {
  Example example;
  example.group.assign(8, 0);
  example.trajectory = {1, 2, 3, 4, 5, 6, 7, 8};
  example.turn.assign(8, 1);
  example.correct.assign(8, 1);
  example.abnormal.assign(8, 0);
  example.speedup = {1, 2, 3, 4, 5, 6, 7, 8};
  const Metrics m = example.Run(example.outcomes());
  EXPECT_EQ(At(m, "turn_1/performance_percentile/top_25"), 7.5);
  EXPECT_EQ(At(m, "turn_1/performance_percentile/p75_100"), 1.5);
}

TEST(TurnMetrics, RejectsBadInput) {
  Example example;
  const auto fails = [&](const TurnOutcomes& outcomes) {
    return TurnMetrics(example.index(), example.rows(), outcomes, {example.thresholds, true})
        .error()
        .message;
  };
  TurnOutcomes outcomes = example.outcomes();
  outcomes.speedup = std::span<const double>(example.speedup).first(3);
  EXPECT_THAT(fails(outcomes), HasSubstr("speedup has 3 entries, expected 8"));
  example.speedup[1] = std::nan("");
  EXPECT_THAT(fails(example.outcomes()), HasSubstr("row 1: speedup is nan"));
  example.speedup[1] = 1;
  example.speedup[0] = std::nan("");  // wrong: not read
  EXPECT_TRUE(TurnMetrics(example.index(), example.rows(), example.outcomes(), {}).ok());
}

TEST(TurnSignal, GroupSizesFollowTheTurn) {
  const Example example;
  const Advantages a =
      *ComputeAdvantages(example.index(), example.rows(), *FindEstimator("trloo"), {}, {});
  const Metrics m = *TurnSignal(example.index(), example.rows(), a);
  EXPECT_EQ(At(m, "turn_1/group_size_mean"), 3);
  EXPECT_EQ(At(m, "turn_2/rows"), 2);
  EXPECT_EQ(At(m, "turn_2/kept_rows"), 1);
  EXPECT_EQ(At(m, "turn_2/single_fraction"), 1);
  EXPECT_EQ(At(m, "turn_2/mean_reward"), 1.25);
  EXPECT_DOUBLE_EQ(At(m, "turn_2/mean_return"), 2.2);
  EXPECT_NEAR(At(m, "turn_1/mean_advantage"), 0, 1e-15);
}

TEST(Scaling, PublishedTotalsAndWindow) {
  EXPECT_EQ(*TotalTurns({5, 10, 4}), 14);
  EXPECT_EQ(*TotalTurns({3, 1, 2}), 3);
  EXPECT_THAT(TotalTurns({4, 2, 4}).error().message, HasSubstr("fewer turns must remain"));
  const std::vector<double> reward = {1, 2, 0, 2, 1};
  const auto best =
      *SelectWindow(5, 2, WindowMethod::kBest, WindowMetric::kReward, {reward, {}, {}});
  EXPECT_EQ(best.begin, 0);
  EXPECT_EQ(best.end, 2);
  const auto last = *SelectWindow(5, 2, WindowMethod::kLast, WindowMetric::kReward, {});
  EXPECT_EQ(last.begin, 3);
  EXPECT_EQ(SelectWindow(2, 4, WindowMethod::kBest, WindowMetric::kReward, {})->end, 2);
}

TEST(Scaling, MetricsAndBadInput) {
  const std::vector<double> reward = {0, 1, 3, 1};
  const std::vector<double> coverage = {.5, .5, .5, .5};
  const std::vector<double> speedup = {9, 0, 0, 1};
  const History history{reward, speedup, coverage};
  const auto begin = [&](WindowMetric metric) {
    return SelectWindow(4, 2, WindowMethod::kBest, metric, history)->begin;
  };
  EXPECT_EQ(begin(WindowMetric::kReward), 1);  // 1 + 3 before the equal 3 + 1
  EXPECT_EQ(begin(WindowMetric::kPerformance), 0);
  EXPECT_EQ(begin(WindowMetric::kCoverage), 0);
  EXPECT_EQ(begin(WindowMetric::kCoverageThenReward), 1);
  EXPECT_THAT(SelectWindow(4, 2, WindowMethod::kBest, WindowMetric::kCoverage, {}).error().message,
              HasSubstr("coverage has 0 entries, expected 4"));
  const std::vector<double> bad = {0, std::nan(""), 0, 0};
  EXPECT_FALSE(SelectWindow(4, 2, WindowMethod::kBest, WindowMetric::kReward, {bad, {}, {}}).ok());
  EXPECT_FALSE(SelectWindow(4, -1, WindowMethod::kLast, WindowMetric::kReward, {}).ok());
}

TEST(Remeasure, OutliersAreMeasuredAgain) {
  const auto join = [](std::vector<Measurement> runs, RemeasurePolicy policy) {
    return *JoinMeasurements(runs, {.policy = policy});
  };
  const Measurement fast{true, true, 8.0};
  EXPECT_EQ(join({{true, true, 2.0}}, RemeasurePolicy::kMedian).still_wanted, 0);
  EXPECT_EQ(join({fast}, RemeasurePolicy::kMedian).still_wanted, 2);
  EXPECT_EQ(join({fast}, RemeasurePolicy::kReplace).still_wanted, 1);
  // As published, one failure of the second run ends a good kernel; the others outvote it.
  const std::vector<Measurement> failed = {fast, {true, false, {}}};
  EXPECT_FALSE(join(failed, RemeasurePolicy::kReplace).result.correct);
  const Remeasured median =
      join({fast, {true, false, {}}, {true, true, 8.2}}, RemeasurePolicy::kMedian);
  EXPECT_TRUE(median.result.correct);
  EXPECT_FALSE(median.agreed);
  EXPECT_EQ(*median.result.speedup, 8.0);
  EXPECT_EQ(median.still_wanted, 0);
}

TEST(Remeasure, SpreadPaysTheSmallest) {
  const std::vector<Measurement> close = {{true, true, 4.0}, {true, true, 4.1}, {true, true, 4.2}};
  EXPECT_EQ(*JoinMeasurements(close, {})->result.speedup, 4.1);
  EXPECT_TRUE(JoinMeasurements(close, {})->agreed);
  EXPECT_EQ(*JoinMeasurements(close, {.policy = RemeasurePolicy::kMinimum})->result.speedup, 4.0);
  const std::vector<Measurement> apart = {{true, true, 9.0}, {true, true, 1.1}, {true, true, 1.0}};
  EXPECT_EQ(*JoinMeasurements(apart, {})->result.speedup, 1.0);
  EXPECT_FALSE(JoinMeasurements(apart, {})->agreed);
}

TEST(Remeasure, InfrastructureCountsForNothing) {
  const Measurement gone{false, false, {}};
  const std::vector<Measurement> runs = {{true, true, 5.0}, gone, {true, true, 5.0}};
  const Remeasured joined = *JoinMeasurements(runs, {});
  EXPECT_EQ(joined.used, 2);
  EXPECT_EQ(joined.still_wanted, 1);
  EXPECT_TRUE(joined.result.correct && joined.agreed);
  const Remeasured none = *JoinMeasurements(std::vector<Measurement>{gone}, {});
  EXPECT_FALSE(none.result.valid);
  EXPECT_EQ(none.still_wanted, 1);
  EXPECT_FALSE(JoinMeasurements({}, {}).ok());
  EXPECT_FALSE(JoinMeasurements(std::vector<Measurement>{{true, true, -1.0}}, {}).ok());
  EXPECT_FALSE(JoinMeasurements(std::vector<Measurement>{{true, true, 1.0}}, {.runs = 0}).ok());
}

TEST(Precision, TwoGates) {
  const std::vector<int64_t> group = {0, 0, 0, 0};
  const std::vector<int64_t> trajectory = {0, 0, 1, 2};
  const std::vector<int64_t> turn = {1, 2, 1, 1};
  const Index index = *Index::Build({group, trajectory, turn, {}, {}});
  const std::vector<int64_t> offsets = {0, 2, 4, 6, 8};
  const std::vector<double> train = {-1, -1, -1.05, -1, -1, -1, -1, -1};
  const std::vector<double> rollout = {-1, -1, -1, -1, -1, -16.5, -1, -1};
  const std::vector<double> top(8, -.5);
  std::vector<TokenState> state(8, kTrained);
  state[5] = kVoid;  // the impossible token is of a void turn: it takes no part
  const auto result = *FilterByPrecision<double>(index, {offsets, train, rollout}, top, {}, state);
  EXPECT_THAT(result.gates, ElementsAre(1, 1, 0, 0));
  EXPECT_EQ(state[0], kGroup);
  EXPECT_EQ(state[4], kTrained);
  EXPECT_NEAR(At(result.metrics, "precision_max_mean_gap"), .0125, 1e-12);
  state.assign(8, kTrained);
  const auto second =
      *FilterByPrecision<double>(index, {offsets, train, rollout}, top, {.mean_limit = 10}, state);
  EXPECT_THAT(second.gates, ElementsAre(0, 0, 2, 2 * 0));
  EXPECT_DOUBLE_EQ(At(second.metrics, "precision_gate2_fraction"), 1.0 / 3);
  const auto open =
      *FilterByPrecision<double>(index, {offsets, train, rollout}, {}, {.mean_limit = 10}, state);
  EXPECT_THAT(open.gates, ElementsAre(0, 0, 0, 0));
}

TEST(Precision, RejectsBadInput) {
  const std::vector<int64_t> one = {0};
  const Index index = *Index::Build({one, one, one, {}, {}});
  const std::vector<int64_t> offsets = {0, 1};
  const std::vector<float> nan = {std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> fine = {-1};
  std::vector<TokenState> state = {kTrained};
  EXPECT_FALSE(FilterByPrecision<float>(index, {offsets, nan, fine}, {}, {}, state).ok());
  EXPECT_FALSE(FilterByPrecision<float>(index, {offsets, fine, fine}, nan, {}, state).ok());
  EXPECT_FALSE(
      FilterByPrecision<float>(index, {offsets, fine, fine}, {}, {.mean_limit = -1}, state).ok());
  EXPECT_EQ(state[0], kTrained);
}

TEST(Returns, CreditUpToTheFirstSuccess) {
  const std::vector<int64_t> group(5, 0);
  const std::vector<int64_t> trajectory = {0, 0, 0, 0, 1};
  const std::vector<int64_t> turn = {1, 2, 3, 4, 1};
  const std::vector<double> reward = {0, -.5, 2, 3, 0};
  const Rows rows{group, trajectory, turn, reward, {}};
  std::vector<double> g(5);
  ASSERT_TRUE(Returns(*Index::Build(rows), rows, {*FindReturnKind("first"), .5}, g).ok());
  EXPECT_THAT(g, ElementsAre(.5, 1, 2, 0, 0));
}

TEST(Estimators, NormalisationAndPooling) {
  const std::vector<int64_t> group = {0, 0, 0, 1};
  const std::vector<int64_t> trajectory = {0, 0, 1, 2};
  const std::vector<int64_t> turn = {1, 2, 1, 1};
  const std::vector<double> reward = {1, 4, 2, 5};
  const Rows rows{group, trajectory, turn, reward, {}};
  const Index index = *Index::Build(rows);
  Estimator pooled = *FindEstimator("trloo");
  pooled.value = Estimator::Value::kReward;
  pooled.single = *FindSingle("group_mean");
  const Advantages a = *ComputeAdvantages(index, rows, pooled, {}, {});
  EXPECT_THAT(a.advantage, ElementsAre(-1, 4 - 1.5, 1, 5));  // the last one's group has no other
  const Estimator scaled = *WithScale(pooled, "std");
  const Advantages s = *ComputeAdvantages(index, rows, scaled, {}, {});
  EXPECT_NEAR(s.advantage[0], -1 / std::sqrt(.5), 1e-6);
  const std::vector<double> same(4, 2.0);
  const Rows equal{group, trajectory, turn, same, {}};
  EXPECT_EQ(ComputeAdvantages(index, equal, scaled, {}, {})->advantage[0], 0);
  EXPECT_FALSE(WithScale(pooled, "range").ok());
  EXPECT_FALSE(FindSingle("none").ok());
}

TEST(GradedReward, TellsFailuresApartAndPaysSpeedOnlyWhenCorrect) {
  const auto value = [](const Evaluation& evaluation) {
    return ComputeReward(*FindRewardFunction("graded"), evaluation, {})->value;
  };
  EXPECT_EQ(value({}), 0);
  Evaluation failed;
  failed.completed = true;
  EXPECT_EQ(value(failed), -.5);
  failed.compiled = true;
  failed.speedup = 9.0;
  EXPECT_EQ(value(failed), -.3);
  Evaluation decoy = failed;
  decoy.correct = decoy.decoy = true;
  EXPECT_EQ(value(decoy), 0);
  const Evaluation good{.completed = true,
                        .compiled = true,
                        .correct = true,
                        .speedup = 1.3,
                        .own_time_us = 62,
                        .all_time_us = 100};
  EXPECT_DOUBLE_EQ(value(good), ComputeReward(*FindRewardFunction("speedup"), good, {})->value);
}

TEST(Loss, EntropyBonusUsesTheAggregate) {
  const std::vector<int64_t> offsets = {0, 2, 3};
  const std::vector<TokenState> state = {kTrained, kTrained, kTrained};
  const std::vector<double> logp = {-1, -1, -1};
  const std::vector<double> advantage = {0, 0};
  const std::vector<double> entropy = {2, 4, 6};
  std::vector<double> gradient(3);
  std::vector<double> slope(3);
  LossInputs<double> in;
  in.offsets = offsets;
  in.state = state;
  in.logp = in.logp_old = logp;
  in.row_advantage = advantage;
  in.entropy = entropy;
  const Loss loss = *PolicyLoss<double>(
      in, {.aggregation = Aggregation::kTokenMean, .scale = 2, .entropy_coefficient = .5}, gradient,
      slope);
  EXPECT_DOUBLE_EQ(loss.value, -.5 * 4 / 2);
  EXPECT_DOUBLE_EQ(At(loss.metrics, "entropy_loss"), 2);
  EXPECT_DOUBLE_EQ(slope[0], -.5 / 6);
  in.entropy = {};
  EXPECT_FALSE(PolicyLoss<double>(in, {.entropy_coefficient = .5}, gradient).ok());
}

TEST(Statistics, GeometricMeanAndMedian) {
  const std::vector<double> values = {1, 2, 4, 8};
  const Interval geometric = *BcaGeometricMean(values, 2000);
  EXPECT_NEAR(geometric.value, std::sqrt(8.0), 1e-12);
  EXPECT_LT(geometric.low, geometric.value);
  EXPECT_GT(geometric.high, geometric.value);
  const Interval median = *BootstrapMedian(values, 2000);
  EXPECT_EQ(median.value, 3);
  EXPECT_GE(median.low, 1);
  EXPECT_LE(median.high, 8);
  EXPECT_FALSE(BcaGeometricMean(std::vector<double>{1, 0}).ok());
  EXPECT_FALSE(BootstrapMedian({}).ok());
  const std::vector<double> same(5, 3.0);
  EXPECT_EQ(BootstrapMedian(same)->high, 3);
}

}  // namespace
}  // namespace assay::rl
