#include "timing/clocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "timing/random_cases.h"
#include "timing/statistics.h"

namespace assay {
namespace {

using ::testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = std::numeric_limits<double>::max();
constexpr int kCases = 300;

class Cases : public test::RandomCases {
 public:
  /// What a hostile process might write as one time.
  double HostileTime(double honest) {
    const double values[] = {
        kNaN,        -kNaN, kInf,   -kInf,   0.0,
        -0.0,        -1.0,  kMax,   -kMax,   5e-324,
        1e-9,        1e12,  honest, -honest, std::numeric_limits<double>::min(),
        honest * 0.9};
    return values[Int(0, static_cast<int>(std::size(values)) - 1)];
  }
};

RoundClock Round(int calls, double outside, double overhead, double inside) {
  return {.calls = calls,
          .outside_us = outside,
          .overhead_us = overhead,
          .inside_us = std::vector<double>(static_cast<size_t>(calls), inside)};
}

double Paid(const RoundClock& round) { return Reconcile({&round, 1}).paid_us.at(0); }

/// outside_i of the contract, written down again.
double OutsidePerCall(const RoundClock& round) {
  return std::max(round.outside_us - round.overhead_us, 0.05 * round.outside_us) / round.calls;
}

TEST(IsValid, ChecksOnlyTheWorkersFigures) {
  EXPECT_TRUE(IsValid({.calls = 1, .outside_us = 1, .overhead_us = 0, .inside_us = {kNaN, -1}}));
  EXPECT_TRUE(IsValid({.calls = 1, .outside_us = 1, .overhead_us = 2, .inside_us = {}}));
  EXPECT_FALSE(IsValid({.calls = 0, .outside_us = 1, .overhead_us = 0, .inside_us = {}}));
  EXPECT_FALSE(IsValid({.calls = -3, .outside_us = 1, .overhead_us = 0, .inside_us = {}}));
  for (const double bad : {0.0, 1e-4, -1.0, kNaN, kInf})
    EXPECT_FALSE(IsValid({.calls = 1, .outside_us = bad, .overhead_us = 0, .inside_us = {}}));
  for (const double bad : {-1.0, kNaN, kInf})
    EXPECT_FALSE(IsValid({.calls = 1, .outside_us = 1, .overhead_us = bad, .inside_us = {}}));
}

TEST(ReconcileDeathTest, RefusesInvalidRounds) {
  const RoundClock round = {.calls = 0, .outside_us = 1, .overhead_us = 0, .inside_us = {}};
  EXPECT_DEATH(Reconcile({&round, 1}), "check failed");
}

TEST(Reconcile, NoRoundsGiveNothing) {
  const Reconciled result = Reconcile({});
  EXPECT_TRUE(result.paid_us.empty());
  EXPECT_FALSE(result.agree);
}

TEST(Reconcile, PaysTheInsideClockWhileTheOutsideAllowsIt) {
  // 64 calls: outside 52.75 us each, inside 52.125.
  const std::vector<RoundClock> rounds(4, Round(64, 64 * 52.75 + 12, 12, 52.125));
  const Reconciled result = Reconcile(rounds);
  EXPECT_THAT(result.paid_us, ElementsAre(52.125, 52.125, 52.125, 52.125));
  EXPECT_TRUE(result.agree);
  EXPECT_DOUBLE_EQ(result.inside_us, 52.125);
  EXPECT_DOUBLE_EQ(result.outside_us, 52.75);
  EXPECT_EQ(result.usable, 4);
  EXPECT_EQ(result.overruled, 0);
}

TEST(Reconcile, AnInsideClockThatClaimsTooLittlePaysTheOutsideOne) {
  const std::vector<RoundClock> rounds(4, Round(64, 64 * 50, 0, 25));
  const Reconciled result = Reconcile(rounds);
  EXPECT_THAT(result.paid_us, ElementsAre(50, 50, 50, 50));
  EXPECT_FALSE(result.agree);
  EXPECT_EQ(result.overruled, 4);
}

TEST(Reconcile, AnInsideClockThatClaimsMoreThanTheRoundPaysTheOutsideOne) {
  for (const double claim : {80.0, 1.7e308}) {
    const RoundClock round = Round(16, 16 * 50, 0, claim);
    const Reconciled result = Reconcile({&round, 1});
    EXPECT_THAT(result.paid_us, ElementsAre(50));
    EXPECT_FALSE(result.agree);
    EXPECT_EQ(result.overruled, 1);
    EXPECT_EQ(result.usable, 0);
  }
}

TEST(Reconcile, NoInsideSamplesPayTheOutsideClock) {
  const RoundClock round = {.calls = 4, .outside_us = 220, .overhead_us = 20, .inside_us = {}};
  const Reconciled result = Reconcile({&round, 1});
  EXPECT_THAT(result.paid_us, ElementsAre(50));
  EXPECT_FALSE(result.agree);
  EXPECT_EQ(result.usable, 0);
  EXPECT_EQ(result.overruled, 0);
}

TEST(Reconcile, ShortKernelsGainNoMoreThanFivePercentByLying) {
  // 2 us a call, where the tolerance (1 + 0.1 + 5/64 us) is more than half of the time.
  for (const double claim : {1e-300, 0.001, 0.5, 1.0, 1.5, 1.89})
    EXPECT_GE(Paid(Round(64, 128, 0, claim)), 0.95 * 2) << claim;
  // 0.5 us a call: zero is within tolerance, yet never pays zero.
  EXPECT_DOUBLE_EQ(Paid(Round(64, 32, 0, 1e-9)), 0.95 * 0.5);
}

TEST(Reconcile, OverheadNeverExplainsAWholeRound) {
  EXPECT_DOUBLE_EQ(Paid({.calls = 10, .outside_us = 100, .overhead_us = 100, .inside_us = {}}),
                   0.5);
  EXPECT_DOUBLE_EQ(Paid({.calls = 10, .outside_us = 100, .overhead_us = kMax, .inside_us = {}}),
                   0.5);
  EXPECT_DOUBLE_EQ(Paid({.calls = 10, .outside_us = 100, .overhead_us = 20, .inside_us = {}}), 8);
}

TEST(Reconcile, EachKindOfMalformedClockPaysTheOutsideOne) {
  const std::vector<std::vector<double>> clocks = {
      {50, 50, 50},                 // One too few.
      {50, 50, 50, 50, 50},         // One too many.
      {50, 50, 50, kNaN},           // Not a number.
      {50, 50, 50, kInf},           //
      {50, 50, 50, -kInf},          //
      {50, 50, 50, 0},              // No call takes no time.
      {50, 50, 50, -0.0},           //
      {250, -50, -50, 50},          // Sums to an honest total.
      {5e-324, 5e-324, 5e-324, 0},  //
  };
  for (const std::vector<double>& inside : clocks) {
    const RoundClock round = {
        .calls = 4, .outside_us = 210, .overhead_us = 10, .inside_us = inside};
    const Reconciled result = Reconcile({&round, 1});
    EXPECT_THAT(result.paid_us, ElementsAre(50)) << testing::PrintToString(inside);
    EXPECT_EQ(result.usable, 0);
    EXPECT_EQ(result.overruled, 1);
    EXPECT_FALSE(result.agree);
  }
}

TEST(Reconcile, AgreesWhenThreeQuartersOfTheRoundsDo) {
  std::vector<RoundClock> rounds(8, Round(16, 800, 0, 50));
  rounds[0] = Round(16, 800, 0, 25);
  rounds[1] = Round(16, 800, 0, 80);
  EXPECT_TRUE(Reconcile(rounds).agree);
  rounds[2].inside_us.pop_back();
  EXPECT_FALSE(Reconcile(rounds).agree);
}

TEST(Reconcile, RoundsThatTheMachineDisturbedDoNotRaiseTheLevel) {
  std::vector<RoundClock> rounds(10, Round(16, 800, 0, 50));
  for (int i = 0; i < 6; ++i) rounds[i] = Round(16, 8000, 0, 50);
  const Reconciled result = Reconcile(rounds);
  EXPECT_DOUBLE_EQ(result.outside_us, 50);
  EXPECT_TRUE(result.agree);
  EXPECT_THAT(result.paid_us, testing::Each(50));
  // What lengthened both clocks is paid, and is no disagreement.
  rounds[0] = Round(16, 8000, 0, 500);
  EXPECT_TRUE(Reconcile(rounds).agree);
  EXPECT_DOUBLE_EQ(Reconcile(rounds).paid_us[0], 500);
}

TEST(Reconcile, TwoShortRoundsInTenDoNotLowerTheLevel) {
  std::vector<RoundClock> rounds(10, Round(16, 800, 0, 1));
  rounds[3] = rounds[7] = Round(16, 80, 0, 1);
  EXPECT_DOUBLE_EQ(Reconcile(rounds).outside_us, 50);
}

TEST(Reconcile, TheFirstCallsOfARoundMayWaitForTheHost) {
  RoundClock round = Round(16, 16 * 50 + 24, 0, 50);
  round.inside_us[0] = 70;
  round.inside_us[1] = 54;
  EXPECT_THAT(Reconcile({&round, 1}).paid_us, ElementsAre(50));
}

TEST(Reconcile, HostileClocksNeverPayLessThanTheOutsideClockAllows) {
  Cases cases;
  for (int i = 0; i < 20 * kCases; ++i) {
    std::vector<RoundClock> rounds(static_cast<size_t>(cases.Int(1, 6)));
    for (RoundClock& round : rounds) {
      round.calls = cases.Int(1, 128);
      round.outside_us = cases.LogUniform(1e-3, 1e9);
      round.overhead_us = cases.Int(0, 3) == 0 ? 0 : round.outside_us * cases.Uniform(0, 1.5);
      const double honest = OutsidePerCall(round);
      const int size = cases.Int(0, 3) == 0 ? cases.Int(0, 200) : round.calls;
      const bool all_hostile = cases.Int(0, 1) == 0;
      for (int call = 0; call < size; ++call)
        round.inside_us.push_back(all_hostile || call == size - 1
                                      ? cases.HostileTime(honest)
                                      : honest * cases.Uniform(0.001, 2));
    }
    const Reconciled result = Reconcile(rounds);
    ASSERT_EQ(result.paid_us.size(), rounds.size());
    std::vector<double> outsides;
    outsides.reserve(rounds.size());
    for (const RoundClock& round : rounds) outsides.push_back(OutsidePerCall(round));
    const double level = Quantile(outsides, 0.3);
    for (size_t r = 0; r < rounds.size(); ++r) {
      ASSERT_TRUE(std::isfinite(result.paid_us[r]));
      ASSERT_GT(result.paid_us[r], 0);
      ASSERT_GE(result.paid_us[r], 0.95 * std::min(level, outsides[r]) * (1 - 1e-12));
      if (rounds[r].inside_us.size() == static_cast<size_t>(rounds[r].calls) && result.usable > 0 &&
          result.paid_us[r] != outsides[r]) {
        ASSERT_GE(result.paid_us[r], 0.95 * level * (1 - 1e-12));
      }
    }
    ASSERT_TRUE(std::isfinite(result.inside_us));
    ASSERT_TRUE(std::isfinite(result.outside_us));
    ASSERT_GT(Summarize(result.paid_us).min, 0);
  }
}

TEST(Reconcile, ALongerBracketNeverPaysLess) {
  Cases cases;
  for (int i = 0; i < 10 * kCases; ++i) {
    RoundClock round = Round(cases.Int(1, 128), cases.LogUniform(1, 1e6), 0, 1);
    round.overhead_us = round.outside_us * cases.Uniform(0, 1.2);
    round.inside_us.assign(round.inside_us.size(),
                           OutsidePerCall(round) * cases.LogUniform(0.1, 10));
    const double paid = Paid(round);
    round.outside_us *= cases.Uniform(1, 3);
    EXPECT_GE(Paid(round), paid * (1 - 1e-12));
    round.overhead_us *= cases.Uniform(0, 1);
    EXPECT_GE(Paid(round), paid * (1 - 1e-12)) << "a smaller overhead lowered the paid time";
  }
}

TEST(Reconcile, IsScaleFreeApartFromTheAbsoluteTolerances) {
  // Long enough that 1 us + 5 us/calls decide nothing: milliseconds against seconds.
  Cases cases;
  for (int i = 0; i < kCases; ++i) {
    const int calls = cases.Int(1, 64);
    const double time = cases.LogUniform(1e5, 1e6);
    double share = cases.Uniform(0.5, 1.5);
    if (std::abs(std::abs(share - 1) - 0.05) < 0.001) share = 1;  // On the edge they do decide.
    const double paid = Paid(Round(calls, time * calls, time, time * share));
    const double scaled = Paid(Round(calls, 1000 * time * calls, 1000 * time, 1000 * time * share));
    EXPECT_NEAR(scaled, 1000 * paid, 1e-6 * scaled);
  }
}

TEST(TrustedTimes, AreTheInsideClockWhereItIsUsable) {
  const std::vector<RoundClock> rounds = {
      Round(10, 900, 0, 50), {.calls = 10, .outside_us = 900, .overhead_us = 100, .inside_us = {}}};
  EXPECT_THAT(TrustedTimes(rounds), ElementsAre(50, 80));
}

TEST(LearnBracket, SeparatesEmptyRoundsFromTheRest) {
  const std::vector<double> empty = {120, 130, 100, 500, 110, 140};
  std::vector<RoundClock> rounds;
  for (int i = 0; i < 11; ++i) {
    rounds.push_back(Round(10, 10 * 50 + 110 + 40 + 10 * i + 300, 0, 50));
    rounds.back().taking_us = 300;
  }
  const Bracket bracket = LearnBracket(empty, rounds);
  EXPECT_DOUBLE_EQ(bracket.empty_us, 110);
  EXPECT_DOUBLE_EQ(bracket.rest_us, 60);
  EXPECT_DOUBLE_EQ(bracket.slack_us, 70);
  EXPECT_DOUBLE_EQ(bracket.Of(10'000), 170);
  EXPECT_DOUBLE_EQ(bracket.Of(500), 110 + 40) << "at most 8 % of a round for the rest";
}

TEST(LearnBracket, NothingTrustedTeachesNothing) {
  EXPECT_EQ(LearnBracket({}, {}).Of(1000), 0);
  EXPECT_EQ(LearnBracket({}, {}).slack_us, 5);
  const RoundClock mute = {.calls = 1, .outside_us = 100, .overhead_us = 0, .inside_us = {}};
  EXPECT_EQ(LearnBracket({}, {&mute, 1}).slack_us, 5);
  const RoundClock longer = Round(10, 100, 0, 50);
  EXPECT_EQ(LearnBracket({}, {&longer, 1}).slack_us, 5);
  EXPECT_EQ(LearnBracket({}, {&longer, 1}).rest_us, 0);
}

TEST(Reconcile, SlackWidensTheToleranceOfARound) {
  RoundClock round = Round(10, 10 * 50, 0, 45);
  EXPECT_EQ(Reconcile({&round, 1}).overruled, 1);
  round.slack_us = 50;
  EXPECT_EQ(Reconcile({&round, 1}).overruled, 0);
  EXPECT_THAT(Reconcile({&round, 1}).paid_us, ElementsAre(0.95 * 50));
}

}  // namespace
}  // namespace assay
