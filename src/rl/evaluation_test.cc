#include "rl/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "rl/parallel.h"
#include "rl/random.h"

namespace assay::rl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Philox, KnownAnswers) {
  // From the reference implementation's known-answer tests.
  EXPECT_THAT(Philox(0, {0, 0, 0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(Philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
}

TEST(Random, BelowCoversItsRangeEvenly) {
  Random random(3);
  std::vector<int> hits(7);
  for (int i = 0; i < 70000; ++i) ++hits[random.Below(7)];
  for (const int h : hits) EXPECT_NEAR(h, 10000, 400);
}

TEST(PassAtK, CombinatorialForm) {
  EXPECT_NEAR(*PassAtK(5, 2, 1), .4, 1e-15);
  EXPECT_NEAR(*PassAtK(5, 2, 3), 1 - 1.0 / 10, 1e-15);
  EXPECT_EQ(*PassAtK(5, 0, 5), 0);
  EXPECT_EQ(*PassAtK(5, 3, 3), 1);
  EXPECT_THAT(PassAtK(5, 2, 6).error().message, HasSubstr("pass@6 of 2 passes in 5 samples"));
  EXPECT_FALSE(PassAtK(5, 6, 1).ok());
}

TEST(BestAtK, IsTheExpectedMaximum) {
  const std::vector<double> v = {3, 1, 2};
  EXPECT_NEAR(*BestAtK(v, 1), 2, 1e-15);
  EXPECT_NEAR(*BestAtK(v, 2), (3 + 3 + 2) / 3.0, 1e-15);
  EXPECT_NEAR(*BestAtK(v, 3), 3, 1e-15);
}

TEST(Wilson, KnownIntervals) {
  const auto check = [](int64_t k, int64_t n, double low, double high) {
    const auto interval = *WilsonInterval(k, n);
    EXPECT_NEAR(interval.low, low, 5e-3) << k << "/" << n;
    EXPECT_NEAR(interval.high, high, 5e-3) << k << "/" << n;
  };
  check(5, 10, .24, .76);
  check(6, 10, .31, .83);
  check(0, 3, 0, .56);
  check(1, 3, .06, .79);
  EXPECT_EQ(WilsonInterval(3, 3)->high, 1);
  EXPECT_EQ(WilsonInterval(0, 0)->high, 1);
  EXPECT_FALSE(WilsonInterval(4, 3).ok());
}

TEST(FastP, CountsIncorrectAsSlow) {
  const std::vector<uint8_t> correct = {1, 1, 0, 1};
  const std::vector<double> speedup = {1.5, 1.0, 9, .5};
  EXPECT_EQ(FastP(correct, speedup, 1.0)->value, .25);
  EXPECT_EQ(FastP(correct, speedup, 1.0, true)->value, .5);
  EXPECT_EQ(FastP(correct, speedup, 0.0)->value, .75);
}

TEST(McNemar, PlanningFigures) {
  const auto p = [](int64_t a, int64_t b) { return McNemar(a, b)->exact; };
  EXPECT_NEAR(p(6, 0), .03125, 1e-12);
  EXPECT_NEAR(p(9, 1), .021484375, 1e-12);
  EXPECT_NEAR(p(2, 10), .03857421875, 1e-12);
  EXPECT_NEAR(p(5, 0), .0625, 1e-12);
  EXPECT_NEAR(p(7, 1), .0703125, 1e-12);
  EXPECT_NEAR(p(1, 0), 1, 1e-12);
  EXPECT_EQ(p(0, 0), 1);
  EXPECT_NEAR(McNemar(6, 0)->mid_p, .015625, 1e-12);
  EXPECT_NEAR(McNemar(1, 1)->mid_p, .75, 1e-12);
}

TEST(SignFlip, ExactAndSampled) {
  const std::vector<double> positive = {1, 2, 3, 4, 5};
  EXPECT_EQ(*SignFlip(positive), 2.0 / 32);
  const std::vector<double> none(6, 0.0);
  EXPECT_EQ(*SignFlip(none), 1.0);
  std::vector<double> many;
  many.reserve(30);
  for (int i = 0; i < 30; ++i) many.push_back(i % 2 == 0 ? .3 : -.28);
  EXPECT_GT(*SignFlip(many, 2000), .5);
  const std::vector<double> shifted(30, .1);
  EXPECT_EQ(*SignFlip(shifted, 999), 1.0 / 1000);
}

TEST(Bca, CoversTheMeanAtTheNominalRate) {
  // Skewed data (squares of normals), where the percentile interval falls short.
  Random random(11);
  int covered = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(40);
    for (double& v : values) {
      const double z = NormalQuantile(random.Uniform() * .999999 + 5e-7);
      v = z * z;
    }
    const auto interval = *BcaMean(values, 500, static_cast<uint64_t>(trial));
    covered += interval.low <= 1.0 && 1.0 <= interval.high ? 1 : 0;
  }
  EXPECT_GT(covered, kTrials * 88 / 100);
  EXPECT_LT(covered, kTrials * 98 / 100);
}

TEST(Bca, DegenerateData) {
  const std::vector<double> same(5, 2.0);
  const auto interval = *BcaMean(same);
  EXPECT_EQ(interval.low, 2.0);
  EXPECT_EQ(interval.high, 2.0);
  EXPECT_FALSE(BcaMean({}).ok());
  const std::vector<double> bad = {1, NAN};
  EXPECT_THAT(BcaMean(bad).error().message, HasSubstr("value 1 is nan"));
}

TEST(Hierarchical, FamiliesWidenTheInterval) {
  std::vector<int64_t> task;
  std::vector<double> value;
  std::vector<std::pair<int64_t, int64_t>> family;
  Random random(5);
  for (int64_t f = 0; f < 6; ++f) {
    const double base = random.Uniform();
    for (int64_t t = 0; t < 10; ++t) {
      family.emplace_back(f * 10 + t, f);
      for (int s = 0; s < 4; ++s) {
        task.push_back(f * 10 + t);
        value.push_back(base + .01 * random.Uniform());
      }
    }
  }
  const Arm arm{task, value};
  const auto flat = *HierarchicalMean(arm, {}, 1000);
  const auto nested = *HierarchicalMean(arm, family, 1000);
  EXPECT_EQ(flat.value, nested.value);
  EXPECT_GT(nested.high - nested.low, 1.5 * (flat.high - flat.low));

  std::vector<double> better = value;
  for (double& v : better) v += .1;
  const auto difference = *HierarchicalDifference({task, better}, arm, family, 1000);
  EXPECT_NEAR(difference.value, .1, 1e-12);
  EXPECT_GT(difference.low, .09);
  EXPECT_LT(difference.high, .11);
  const std::vector<int64_t> other = {99};
  const std::vector<double> one = {1};
  EXPECT_THAT(HierarchicalDifference(arm, {other, one}, {}, 10).error().message,
              HasSubstr("samples in one arm only"));
}

TEST(Holm, StepsDown) {
  const std::vector<double> p = {.01, .04, .03, .005};
  const auto adjusted = *Holm(p);
  const std::vector<double> expected = {.03, .06, .06, .02};
  for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15);
  const std::vector<double> bad = {1.1};
  EXPECT_FALSE(Holm(bad).ok());
}

TEST(Normal, QuantileInvertsCdf) {
  for (const double p : {1e-300, 1e-10, .001, .025, .5, .8, .975, 1 - 1e-10}) {
    EXPECT_NEAR(NormalCdf(NormalQuantile(p)) / p, 1, 1e-10) << p;
  }
  EXPECT_NEAR(NormalQuantile(.975), 1.959963984540054, 1e-12);
}

TEST(ForRows, CoversEachRowOnceWhateverTheThreads) {
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 0; i < 3000; ++i)
    offsets.push_back(offsets.back() + (i % 7 == 0 ? 0 : 50 * (i % 40)));
  for (const int threads : {1, 2, 5}) {
    SetThreads(threads);
    std::vector<int> seen(3000);
    ForRows(offsets, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) ++seen[row];
    });
    EXPECT_THAT(seen, ::testing::Each(1));
  }
  SetThreads(0);
  const std::vector<int64_t> empty_rows(20001, 0);
  int seen = 0;
  SetThreads(1);
  ForRows(empty_rows, [&](size_t begin, size_t end) { seen += static_cast<int>(end - begin); });
  SetThreads(0);
  EXPECT_EQ(seen, 20000);
}

}  // namespace
}  // namespace assay::rl
