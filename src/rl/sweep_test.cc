// Every function that walks tokens, on a batch large enough for several threads: the result must be
// the same bit for bit with one thread and with four, and buffers of exactly the right size let the
// sanitizers see a step beyond any of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "rl/filter.h"
#include "rl/loss.h"
#include "rl/mismatch.h"
#include "rl/monitor.h"
#include "rl/parallel.h"
#include "rl/precision.h"
#include "rl/random.h"
#include "rl/sampling.h"
#include "rl/token_advantage.h"

namespace assay::rl {
namespace {

using ::testing::HasSubstr;

/// Ragged rows in no order: 4 prompts, 8 samples of 1 to 4 turns, some void, some padding, token
/// counts that are no multiple of a vector's width, gaps in the masks.
template <typename T>
struct Sweep {
  std::vector<int64_t> group, trajectory, turn, offsets = {0}, length;
  std::vector<double> reward, coverage, speedup;
  std::vector<uint8_t> keep, correct;
  std::vector<T> train, rollout, extra;
  std::vector<TokenState> state;

  Sweep() {
    Random random(11);
    for (int64_t sample = 31; sample >= 0; --sample) {
      const auto turns = static_cast<int64_t>(1 + random.Below(4));
      for (int64_t t = turns; t >= 0; --t) {
        group.push_back(sample / 8);
        trajectory.push_back(sample);
        turn.push_back(t == 0 ? -1 : t);
        reward.push_back(static_cast<double>(random.Below(3)) / 2);
        keep.push_back(random.Below(8) == 0 ? 0 : 1);
        correct.push_back(reward.back() > 0 ? 1 : 0);
        coverage.push_back(random.Uniform());
        speedup.push_back(1 + random.Uniform());
        AddTokens(t == 0 ? 0 : random.Below(7000), random);
      }
    }
    RejectVoid(offsets, keep, state);
  }

  void AddTokens(uint64_t n, Random& random) {
    for (uint64_t j = 0; j < n; ++j) {
      const bool response = random.Below(10) != 0;
      state.push_back(response ? 1 : 0);
      rollout.push_back(response ? static_cast<T>(std::log(1 - random.Uniform())) : T(NAN));
      train.push_back(rollout.back() + static_cast<T>(0.2 * (random.Uniform() - 0.5)));
      extra.push_back(static_cast<T>(random.Uniform()));
    }
    length.push_back(static_cast<int64_t>(n));
    offsets.push_back(offsets.back() + static_cast<int64_t>(n));
  }

  [[nodiscard]] Rows rows() const { return {group, trajectory, turn, reward, keep}; }
  [[nodiscard]] Index index() const { return *Index::Build(rows()); }
  [[nodiscard]] Tokens<T> tokens() const { return {offsets, train, rollout}; }
};

/// All that a call produced, in one list of numbers.
struct Output {
  std::vector<double> figures;

  void Add(const Metrics& metrics) {
    for (const auto& metric : metrics) figures.push_back(metric.second);
  }
  template <typename V>
  void Add(const std::vector<V>& values) {
    figures.insert(figures.end(), values.begin(), values.end());
  }
};

/// `call` with one thread and with four; returns the figures, which must be the same and finite.
std::vector<double> SameForAllThreads(const std::function<Output()>& call) {
  SetThreads(1);
  std::vector<double> alone = call().figures;
  SetThreads(4);
  const std::vector<double> together = call().figures;
  SetThreads(0);
  EXPECT_EQ(alone, together);
  for (const double figure : alone) EXPECT_TRUE(std::isfinite(figure));
  return alone;
}

template <typename T>
class Sweeps : public ::testing::Test {
 protected:
  const Sweep<T> sweep_;
};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Sweeps, Types);

TYPED_TEST(Sweeps, Mismatch) {
  const auto& sweep = this->sweep_;
  const Index index = sweep.index();
  for (const Level level :
       {Level::kToken, Level::kTurn, Level::kTurnGeometric, Level::kSequence, Level::kGeometric}) {
    SameForAllThreads([&] {
      MismatchOptions options;
      options.rejection = Rejection{level, .97, 1.03, {}};
      if (level != Level::kTurnGeometric && level != Level::kGeometric)
        options.importance = Importance{level, 2.0};
      options.veto = .95;
      options.veto_scope = Scope::kToken;
      options.band_lower = .93;
      options.band_upper = 1.07;
      auto state = sweep.state;
      std::vector<TypeParam> weights(options.importance ? state.size() : 0);
      Output out;
      out.Add(*CorrectMismatch<TypeParam>(index, sweep.tokens(), options, state, weights));
      out.Add(state);
      out.Add(weights);
      return out;
    });
  }
}

TYPED_TEST(Sweeps, FiguresOfTheBatch) {
  const auto& sweep = this->sweep_;
  const Index index = sweep.index();
  const std::vector<double> figures = SameForAllThreads([&] {
    auto state = sweep.state;
    Output out;
    const Outcomes outcomes{sweep.correct, sweep.speedup, sweep.coverage};
    out.Add(SampleByCoverage(index, sweep.rows(), sweep.offsets, outcomes, {}, state)->metrics);
    out.Add(state);
    out.Add(FilterByPrecision<TypeParam>(index, sweep.tokens(), sweep.rollout, {}, state)->metrics);
    out.Add(FilterGroups(index, sweep.rows(), sweep.length,
                         {.samples_per_group = 3,
                          .strategy = FilterOptions::Strategy::kEfficiencyStochastic})
                ->keep);
    const auto advantages =
        *ComputeAdvantages(index, sweep.rows(), *FindEstimator("trloo"), {}, {});
    out.Add(advantages.advantage);
    out.Add(*SignalMetrics(sweep.offsets, state, advantages));
    out.Add(*RejectionQuality(sweep.offsets, state, outcomes, 0xFE, std::vector<double>{1.5}));
    const auto counts = CountTokens(sweep.offsets, state);
    out.Add(counts.trained);
    out.Add(counts.response);
    const auto bounds =
        *RejectionForRate<TypeParam>(index, sweep.tokens(), sweep.state, Level::kGeometric, .25);
    out.figures.push_back(bounds.upper);
    return out;
  });
  EXPECT_GT(figures.back(), 1.0);
}

TYPED_TEST(Sweeps, TokenEstimators) {
  const auto& sweep = this->sweep_;
  const Index index = sweep.index();
  const size_t n = sweep.state.size();
  SameForAllThreads([&] {
    std::vector<TypeParam> a(n);
    std::vector<TypeParam> b(n);
    const TokenRewards<TypeParam> rewards{sweep.reward, sweep.extra};
    Output out;
    EXPECT_TRUE(GeneralizedAdvantages<TypeParam>(sweep.offsets, sweep.state, rewards, sweep.extra,
                                                 .99, .95, true, a, b)
                    .ok());
    out.Add(a);
    out.Add(b);
    EXPECT_TRUE(ReinforcePlusPlus<TypeParam>(sweep.offsets, sweep.state, rewards, .99, a, b).ok());
    out.Add(a);
    EXPECT_TRUE(ScoreNorms<TypeParam>(sweep.offsets, sweep.state, sweep.rollout, sweep.extra,
                                      sweep.extra, {}, a)
                    .ok());
    EXPECT_TRUE(TokenOptimalBaseline<TypeParam>(index, sweep.keep, sweep.reward, sweep.offsets,
                                                sweep.state, a, b)
                    .ok());
    out.Add(b);
    out.Add(SumPerRow<TypeParam>(sweep.offsets, a));
    return out;
  });
}

TYPED_TEST(Sweeps, Losses) {
  const auto& sweep = this->sweep_;
  const std::vector<TypeParam> entropy = sweep.extra;
  for (const LossKind kind : {LossKind::kPpo, LossKind::kGspo, LossKind::kReinforce}) {
    for (const Aggregation aggregation :
         {Aggregation::kTokenMean, Aggregation::kSeqMeanTokenSum, Aggregation::kSeqMeanTokenMean,
          Aggregation::kSeqMeanTokenSumNorm, Aggregation::kSeqSumNoNorm}) {
      const std::vector<double> figures = SameForAllThreads([&] {
        LossInputs<TypeParam> inputs{sweep.offsets, sweep.state, sweep.train, sweep.rollout};
        inputs.row_advantage = sweep.coverage;
        inputs.weights = sweep.extra;
        inputs.entropy = entropy;
        inputs.logp_reference = sweep.rollout;
        std::vector<TypeParam> gradient(sweep.state.size());
        std::vector<TypeParam> entropy_gradient(sweep.state.size());
        const Loss loss = *PolicyLoss<TypeParam>(inputs,
                                                 {.kind = kind,
                                                  .aggregation = aggregation,
                                                  .entropy_quantile = .2,
                                                  .risk_probability = .01,
                                                  .kl_coefficient = .1,
                                                  .entropy_coefficient = .01},
                                                 gradient, entropy_gradient);
        Output out;
        out.figures.push_back(loss.value);
        out.Add(loss.metrics);
        out.Add(gradient);
        out.Add(entropy_gradient);
        out.Add(*KlPerRow<TypeParam>(sweep.offsets, sweep.state, sweep.train, sweep.rollout,
                                     KlKind::kLowVar));
        return out;
      });
      EXPECT_NE(figures.front(), 0.0);
    }
  }
}

TEST(RejectionForRate, VoidTurnsAreNoTrajectory) {
  // The void turn's trajectory has no ratio of its own; it must not stand in for a perfect one.
  const std::vector<int64_t> same = {0, 0};
  const std::vector<int64_t> trajectory = {1, 2};
  const std::vector<int64_t> turn = {1, 1};
  const std::vector<int64_t> offsets = {0, 1, 2};
  const std::vector<double> train = {-1.0, -1.5};
  const std::vector<double> rollout = {-1.0, -1.0};
  const std::vector<TokenState> state = {kVoid, kTrained};
  const Index index = *Index::Build({same, trajectory, turn, {}, {}});
  const auto bounds = [&](std::span<const TokenState> states) {
    return RejectionForRate<double>(index, {offsets, train, rollout}, states, Level::kGeometric,
                                    .5);
  };
  EXPECT_NEAR(bounds(state)->upper, std::exp(.5), 1e-9);
  const std::vector<TokenState> nothing = {kVoid, kVoid};
  EXPECT_THAT(bounds(nothing).error().message, HasSubstr("no response token"));
}

TEST(Options, ThatAreNoNumbersAreRefused) {
  const Sweep<double> sweep;
  const auto filter = [&](const FilterOptions& options) {
    return FilterGroups(sweep.index(), sweep.rows(), sweep.length, options).error().message;
  };
  EXPECT_THAT(filter({.smallest_std = NAN}), HasSubstr("smallest_std is nan"));
  EXPECT_THAT(filter({.reward_threshold = NAN}), HasSubstr("reward_threshold is nan"));
  const auto loss = [&](const LossOptions& options) {
    LossInputs<double> inputs{sweep.offsets, sweep.state, sweep.train, sweep.rollout};
    inputs.row_advantage = sweep.reward;
    return PolicyLoss<double>(inputs, options, {}).error().message;
  };
  EXPECT_THAT(loss({.risk_probability = -.1}), HasSubstr("risk_probability is -0.1"));
  EXPECT_THAT(loss({.norm_length = NAN}), HasSubstr("norm_length is nan"));
}

TEST(Loss, IsNotANumberWhereATrainedTokenIsNot) {
  const std::vector<int64_t> offsets = {0, 2};
  const std::vector<TokenState> state = {kTrained, 0};
  const std::vector<double> old = {-1, NAN};
  const std::vector<double> advantage = {1};
  const auto value = [&](const std::vector<double>& logp) {
    LossInputs<double> inputs{offsets, state, logp, old};
    inputs.row_advantage = advantage;
    return PolicyLoss<double>(inputs, {}, {})->value;
  };
  EXPECT_TRUE(std::isnan(value({NAN, -1})));
  EXPECT_EQ(value({-1, NAN}), -1);  // what is not trained is not read
}

}  // namespace
}  // namespace assay::rl
