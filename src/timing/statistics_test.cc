#include "timing/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "timing/random_cases.h"

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kCases = 300;

class Cases : public test::RandomCases {
 public:
  std::vector<double> Times(size_t n) {
    std::vector<double> times(n);
    const double scale = LogUniform(0.5, 1e6);
    for (double& time : times) time = scale * Uniform(0.8, 1.5);
    return times;
  }
};

TEST(Quantile, InterpolatesLikeType7) {
  const std::vector<double> samples = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(Quantile(samples, 0), 10);
  EXPECT_DOUBLE_EQ(Quantile(samples, 0.2), 16);
  EXPECT_DOUBLE_EQ(Quantile(samples, 0.5), 25);
  EXPECT_DOUBLE_EQ(Quantile(samples, 0.8), 34);
  EXPECT_DOUBLE_EQ(Quantile(samples, 1), 40);
  EXPECT_DOUBLE_EQ(Quantile(std::vector<double>{7}, 0.3), 7);
}

TEST(QuantileDeathTest, RefusesNoSamplesAndBadQ) {
  const std::vector<double> one = {1};
  EXPECT_DEATH(Quantile({}, 0.5), "check failed");
  EXPECT_DEATH(Quantile(one, 1.5), "check failed");
  EXPECT_DEATH(Quantile(one, kNaN), "check failed");
  EXPECT_DEATH(Summarize({}), "check failed");
}

TEST(Quantile, IsMonotoneBoundedAndScaleFree) {
  Cases cases;
  for (int i = 0; i < kCases; ++i) {
    std::vector<double> samples = cases.Times(static_cast<size_t>(cases.Int(1, 60)));
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    const double low_q = cases.Uniform(0, 1);
    const double high_q = cases.Uniform(low_q, 1);
    const double low = Quantile(samples, low_q);
    const double high = Quantile(samples, high_q);
    EXPECT_LE(*least, low);
    EXPECT_LE(low, high);
    EXPECT_LE(high, *most);

    std::vector<double> nanoseconds = samples;
    for (double& sample : nanoseconds) sample *= 1000;
    EXPECT_NEAR(Quantile(nanoseconds, low_q), 1000 * low, 1e-9 * 1000 * low);

    samples[static_cast<size_t>(cases.Int(0, static_cast<int>(samples.size()) - 1))] *= 1.5;
    EXPECT_GE(Quantile(samples, low_q), low) << "a larger sample lowered the quantile";
  }
}

TEST(Summarize, OrdersItsFigures) {
  const Summary summary = Summarize(std::vector<double>{5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(summary.median, 3);
  EXPECT_DOUBLE_EQ(summary.p20, 1.8);
  EXPECT_DOUBLE_EQ(summary.p80, 4.2);
  EXPECT_DOUBLE_EQ(summary.min, 1);
  EXPECT_EQ(summary.n, 5);
}

TEST(PairedRatio, OneRoundIsItsOwnInterval) {
  const Ratio ratio = PairedRatio(std::vector<double>{10}, std::vector<double>{4});
  EXPECT_DOUBLE_EQ(ratio.value, 2.5);
  EXPECT_DOUBLE_EQ(ratio.low, 2.5);
  EXPECT_DOUBLE_EQ(ratio.high, 2.5);
}

TEST(PairedRatio, PairsRoundsSoThatDriftCancels) {
  // The card slows down threefold while the rounds run; every round still has the ratio 2.
  std::vector<double> reference;
  std::vector<double> candidate;
  for (int i = 0; i < 30; ++i) {
    candidate.push_back(50 * (1 + i / 15.0));
    reference.push_back(2 * candidate.back());
  }
  const Ratio ratio = PairedRatio(reference, candidate);
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_DOUBLE_EQ(ratio.low, 2);
  EXPECT_DOUBLE_EQ(ratio.high, 2);
}

TEST(PairedRatio, ContainsItsValueAndIsDeterministicAndScaleFree) {
  Cases cases;
  for (int i = 0; i < kCases; ++i) {
    const size_t n = static_cast<size_t>(cases.Int(1, 50));
    std::vector<double> reference = cases.Times(n);
    std::vector<double> candidate = cases.Times(n);
    const Ratio ratio = PairedRatio(reference, candidate);
    EXPECT_LE(ratio.low, ratio.value);
    EXPECT_LE(ratio.value, ratio.high);
    EXPECT_GT(ratio.low, 0);
    const Ratio again = PairedRatio(reference, candidate);
    EXPECT_EQ(again.low, ratio.low);
    EXPECT_EQ(again.high, ratio.high);

    for (double& time : reference) time *= 1024;  // A power of two: exact.
    for (double& time : candidate) time *= 1024;
    const Ratio scaled = PairedRatio(reference, candidate);
    EXPECT_EQ(scaled.value, ratio.value);
    EXPECT_EQ(scaled.low, ratio.low);
    EXPECT_EQ(scaled.high, ratio.high);

    for (double& time : candidate) time *= 2;
    const Ratio slower = PairedRatio(reference, candidate);
    EXPECT_EQ(slower.value, ratio.value / 2);
    EXPECT_EQ(slower.high, ratio.high / 2);
  }
}

TEST(PairedRatio, OfTimesThatAreWorldsApartHasFiniteEnds) {
  const std::vector<double> reference(2, 100);
  const Ratio ratio = PairedRatio(reference, std::vector<double>{1e-200, 1e200});
  EXPECT_GT(ratio.low, 0);
  EXPECT_LE(ratio.low, ratio.value);
  EXPECT_LE(ratio.value, ratio.high);
  EXPECT_TRUE(std::isfinite(ratio.high));
}

TEST(PairedRatio, CoversTheTruthAboutAsOftenAsItSays) {
  Cases cases;
  int covered = 0;
  constexpr int kExperiments = 400;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> reference(30, 100);
    std::vector<double> candidate(30);
    for (double& time : candidate) time = 50 * std::exp(cases.Uniform(-0.1, 0.1));
    const Ratio ratio = PairedRatio(reference, candidate);
    if (ratio.low <= 2 && 2 <= ratio.high) ++covered;
  }
  EXPECT_GE(covered, kExperiments * 90 / 100);
  EXPECT_LT(covered, kExperiments) << "an interval that always covers is too wide to mean anything";
}

// Sessions mostly end with four rounds. Resamples of so few are too much alike.
TEST(PairedRatio, CoversTheTruthWithFewRounds) {
  for (const int rounds : {4, 8, 16}) {
    std::mt19937 generator(static_cast<uint32_t>(rounds));
    std::normal_distribution<double> noise(0, 0.003);
    int covered = 0;
    constexpr int kExperiments = 400;
    for (int i = 0; i < kExperiments; ++i) {
      const std::vector<double> reference(static_cast<size_t>(rounds), 100);
      std::vector<double> candidate(reference.size());
      for (double& time : candidate) time = 50 * std::exp(noise(generator));
      const Ratio ratio = PairedRatio(reference, candidate);
      if (ratio.low <= 2 && 2 <= ratio.high) ++covered;
    }
    EXPECT_GE(covered, kExperiments * 93 / 100) << rounds << " rounds";
    EXPECT_LT(covered, kExperiments) << rounds << " rounds";
  }
}

TEST(RatioOverPairs, IsTheGeometricMeanWithStudentsInterval) {
  EXPECT_EQ(RatioOverPairs(std::vector{12.0}, std::vector{5.0}, std::vector{1}).high, 12.0 / 5);
  // Pairs with the ratios 1, 2 and 4: logs 0, 1 and 2 to the base of 2, deviation 1, t of 4.303.
  const std::vector<double> reference{3, 3, 8, 8, 8, 20};
  const std::vector<double> candidate{3, 3, 4, 4, 4, 5};
  const Ratio ratio = RatioOverPairs(reference, candidate, std::vector<int>{2, 3, 1});
  EXPECT_NEAR(ratio.value, 2, 1e-12);
  EXPECT_NEAR(ratio.high, std::exp2(1 + 4.303 / std::sqrt(3)), 1e-9);
  EXPECT_NEAR(ratio.low, std::exp2(1 - 4.303 / std::sqrt(3)), 1e-9);
}

// Rounds of a pair agree to a thousandth while pairs are percents apart: what one pair calls its
// interval says nothing of the next pair, and the interval over pairs holds.
TEST(RatioOverPairs, CoversTheTruthWhereOnePairDoesNot) {
  Cases cases;
  int covered = 0;
  int covered_by_one = 0;
  constexpr int kExperiments = 400;
  constexpr int kPairs = 5;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> reference(size_t{kPairs} * 8, 100);
    std::vector<double> candidate;
    for (int pair = 0; pair < kPairs; ++pair) {
      const double own = std::exp(cases.Uniform(-0.02, 0.02));
      for (int round = 0; round < 8; ++round)
        candidate.push_back(50 * own * std::exp(cases.Uniform(-0.001, 0.001)));
    }
    const Ratio ratio = RatioOverPairs(reference, candidate, std::vector<int>(kPairs, 8));
    if (ratio.low <= 2 && 2 <= ratio.high) ++covered;
    const Ratio one = PairedRatio(std::span(reference).first(8), std::span(candidate).first(8));
    if (one.low <= 2 && 2 <= one.high) ++covered_by_one;
  }
  EXPECT_GE(covered, kExperiments * 90 / 100);
  EXPECT_LT(covered, kExperiments);
  EXPECT_LT(covered_by_one, kExperiments * 20 / 100);
}

TEST(PairedRatio, TakesUnderFiveMilliseconds) {
  Cases cases;
  const std::vector<double> reference = cases.Times(200);
  const std::vector<double> candidate = cases.Times(200);
  auto best = std::chrono::nanoseconds::max();
  for (int i = 0; i < 5; ++i) {  // The best of five, because test machines are busy.
    const auto start = std::chrono::steady_clock::now();
    EXPECT_GT(PairedRatio(reference, candidate).value, 0);
    best = std::min<std::chrono::nanoseconds>(best, std::chrono::steady_clock::now() - start);
  }
#ifdef NDEBUG
  EXPECT_LT(best, std::chrono::milliseconds(5));
#endif
  RecordProperty("best_us", std::to_string(static_cast<double>(best.count()) / 1000));
}

TEST(PairedRatioDeathTest, RefusesTimesThatCannotBe) {
  const std::vector<double> one = {1};
  for (const double bad : {0.0, -1.0, kNaN, kInf}) {
    EXPECT_DEATH(PairedRatio(one, std::vector<double>{bad}), "check failed");
    EXPECT_DEATH(PairedRatio(std::vector<double>{bad}, one), "check failed");
  }
  EXPECT_DEATH(PairedRatio({}, {}), "check failed");
  EXPECT_DEATH(PairedRatio(one, std::vector<double>{1, 2}), "check failed");
}

}  // namespace
}  // namespace assay
