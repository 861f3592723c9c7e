#include "openenv/episode.h"

#include <gmock/gmock.h>

namespace assay::openenv {
namespace {

using Kind = Outcome::Kind;
using Admission = Episode::Admission;
using Phase = Episode::Phase;

EpisodeConfig Config(int max_turns = 2, int max_checks = 1) {
  EpisodeConfig config;
  config.episode_id = "ep";
  config.task_id = "assay/relu";
  config.max_turns = max_turns;
  config.max_checks = max_checks;
  return config;
}

Outcome Judged(double reward, bool correct = true) {
  Outcome outcome;
  outcome.reward = reward;
  outcome.correct = correct;
  return outcome;
}

double Submit(Episode& episode, const std::string& id, const Outcome& outcome) {
  episode.Begin(id, false);
  return episode.Settle(id, outcome).reward;
}

TEST(Episode, EndsAtTheTurnLimitOnlyWhenNothingIsOpen) {
  Episode episode(Config(2));
  EXPECT_EQ(episode.phase(), Phase::kActive);
  episode.Begin("a", false);
  episode.Begin("b", false);
  EXPECT_EQ(episode.phase(), Phase::kJudging);
  EXPECT_EQ(episode.Admit(false), Admission::kWait);
  episode.Settle("b", Judged(1));
  EXPECT_FALSE(episode.done()) << "a is still being judged";
  episode.Settle("a", Judged(0, false));
  EXPECT_EQ(episode.done_reason(), "turn_limit");
  EXPECT_EQ(episode.Admit(false), Admission::kOver);
  EXPECT_EQ(episode.Admit(true), Admission::kOver);
  EXPECT_EQ(episode.best_turn(), 2);
  EXPECT_EQ(episode.best_ticket(), "b");
}

TEST(Episode, AnInfrastructureFaultGivesTheTurnBack) {
  Episode episode(Config(1));
  episode.Begin("a", false);
  const Episode::Settlement settled = episode.Settle("a", Outcome{.kind = Kind::kInfra});
  EXPECT_TRUE(settled.masked);
  EXPECT_EQ(settled.reward, 0);
  EXPECT_EQ(episode.turn(), 0);
  EXPECT_EQ(episode.phase(), Phase::kActive);
  EXPECT_EQ(Submit(episode, "b", Judged(3)), 3);
  EXPECT_TRUE(episode.done());
}

TEST(Episode, TooManyInfrastructureFaultsInARowEndIt) {
  Episode episode(Config(4));
  Submit(episode, "a", Outcome{.kind = Kind::kInfra});
  Submit(episode, "b", Outcome{.kind = Kind::kInfra});
  Submit(episode, "c", Judged(0, false));  // the machine works again
  Submit(episode, "d", Outcome{.kind = Kind::kInfra});
  Submit(episode, "e", Outcome{.kind = Kind::kInfra});
  EXPECT_FALSE(episode.done());
  Submit(episode, "f", Outcome{.kind = Kind::kInfra});
  EXPECT_EQ(episode.done_reason(), "infra_abort");
}

TEST(Episode, WhatWasNeverAcceptedIsForgotten) {
  Episode episode(Config(1));
  for (int i = 0; i < 10; ++i)
    Submit(episode, "n" + std::to_string(i), Outcome{.kind = Kind::kNever});
  EXPECT_FALSE(episode.done());
  EXPECT_EQ(episode.turn(), 0);
}

TEST(Episode, ChecksAreFreeUpToALimitAndNeverPaid) {
  Episode episode(Config(1, 1));
  EXPECT_EQ(episode.Admit(true), Admission::kFreeCheck);
  episode.Begin("check", true);
  EXPECT_EQ(episode.Settle("check", Judged(3)).reward, 0);
  EXPECT_EQ(episode.turn(), 0);
  EXPECT_FALSE(episode.best_reward().has_value());
  EXPECT_EQ(episode.Admit(true), Admission::kTurn) << "further checks cost a turn";
  episode.Begin("second", true);
  episode.Settle("second", Judged(3));
  EXPECT_EQ(episode.done_reason(), "turn_limit");
}

TEST(Episode, ACancelledSubmissionCostsItsTurnAndIsMasked) {
  Episode episode(Config(1));
  episode.Begin("a", false);
  EXPECT_TRUE(episode.Settle("a", Outcome{.kind = Kind::kCancelled}).masked);
  EXPECT_EQ(episode.done_reason(), "turn_limit");
}

TEST(Episode, IsPaidOnce) {
  Episode episode(Config(4));
  episode.Begin("a", false);
  EXPECT_TRUE(episode.Settle("a", Judged(2)).first);
  const Episode::Settlement again = episode.Settle("a", Judged(3));
  EXPECT_FALSE(again.first);
  EXPECT_EQ(again.reward, 0);
  EXPECT_EQ(episode.best_reward(), 2);
  EXPECT_FALSE(episode.Settle("unknown", Judged(3)).first);
}

// With `delta` the sum of the rewards is the best reward, whatever the order; also below zero.
TEST(Episode, Emission) {
  const std::vector<double> rewards = {0.5, 2, 1, -1, 2.5};
  const auto emitted = [&](Emission emission) {
    EpisodeConfig config = Config(10);
    config.emission = emission;
    Episode episode(config);
    std::vector<double> out;
    out.reserve(rewards.size());
    int n = 0;
    for (const double reward : rewards)
      out.push_back(Submit(episode, "s" + std::to_string(n++), Judged(reward)));
    return out;
  };
  EXPECT_THAT(emitted(Emission::kAbsolute), ::testing::ElementsAreArray(rewards));
  EXPECT_THAT(emitted(Emission::kDelta), ::testing::ElementsAre(0.5, 1.5, 0, 0, 0.5));
  EXPECT_THAT(emitted(Emission::kBest), ::testing::ElementsAre(0.5, 2, 2, 2, 2.5));

  EpisodeConfig config = Config(10);
  config.emission = Emission::kDelta;
  Episode negative(config);
  EXPECT_EQ(Submit(negative, "a", Judged(-0.5)), -0.5);
  EXPECT_EQ(Submit(negative, "b", Judged(-0.25)), 0.25);
}

TEST(Episode, AMaskedRewardMovesNothing) {
  EpisodeConfig config = Config(10);
  config.emission = Emission::kBest;
  config.stop_on = {StopRule::Kind::kReward, 0};
  Episode episode(config);
  Outcome masked = Judged(0);
  masked.masked = true;
  episode.Begin("a", false);
  const Episode::Settlement settled = episode.Settle("a", masked);
  EXPECT_TRUE(settled.masked);
  EXPECT_FALSE(episode.best_reward().has_value());
  EXPECT_TRUE(episode.solved()) << "it was correct all the same";
  EXPECT_FALSE(episode.done()) << "no reward, no stop rule on it";
}

TEST(Episode, StopRules) {
  struct Case {
    const char* rule;
    Outcome outcome;
    bool stops;
  };
  Outcome fast = Judged(2);
  fast.speedup = 1.5;
  fast.roofline = 0.8;
  Outcome slow = Judged(0.4);
  slow.speedup = 0.9;
  slow.roofline = 0.2;
  for (const Case& each : {Case{"never", fast, false}, Case{"correct", slow, true},
                           Case{"correct", Judged(0, false), false},
                           Case{"speedup>=1.5", fast, true}, Case{"speedup>=1.5", slow, false},
                           Case{"sol>=0.8", fast, true}, Case{"sol>=0.8", slow, false},
                           Case{"reward>=1", fast, true}, Case{"reward>=1", slow, false}}) {
    EpisodeConfig config = Config(4);
    config.stop_on = *ParseStopRule(each.rule);
    Episode episode(config);
    Submit(episode, "a", each.outcome);
    EXPECT_EQ(episode.done(), each.stops) << each.rule;
    EXPECT_EQ(episode.done_reason(), each.stops ? "stop_rule" : "") << each.rule;
  }
}

TEST(Episode, CheatsEndItWhereAskedFor) {
  EpisodeConfig config = Config(10);
  config.max_integrity_violations = 2;
  Episode episode(config);
  Outcome cheat = Judged(0, false);
  cheat.cheat = true;
  Submit(episode, "a", cheat);
  EXPECT_FALSE(episode.done());
  Submit(episode, "b", cheat);
  EXPECT_EQ(episode.done_reason(), "integrity_limit");
}

TEST(Episode, WhatIsOpenWhenItEndsIsSettledWithoutPay) {
  EpisodeConfig config = Config(4);
  config.stop_on = {StopRule::Kind::kCorrect, 0};
  Episode episode(config);
  episode.Begin("a", false);
  episode.Begin("b", false);
  episode.Settle("a", Judged(1));
  ASSERT_TRUE(episode.done());
  const Episode::Settlement late = episode.Settle("b", Judged(3));
  EXPECT_TRUE(late.first);
  EXPECT_EQ(late.reward, 0);
  EXPECT_EQ(episode.best_reward(), 1);
}

/// Every sequence of up to four events: the invariants hold in every state, and an episode that is
/// written down and read back at any point goes on in the same way.
class EpisodeEnumeration : public ::testing::Test {
 protected:
  static constexpr int kEvents = 7;

  static bool Apply(int event, int number, Episode* episode) {
    const std::string id = "t" + std::to_string(number);
    if (event < 2) {
      const bool check = event == 1;
      const Admission admission = episode->Admit(check);
      if (admission != Admission::kTurn && admission != Admission::kFreeCheck) return false;
      episode->Begin(id, check);
      return true;
    }
    const Ticket* open = episode->Open();
    if (open == nullptr) return false;
    const Outcome outcomes[] = {Judged(1.5), Judged(0, false), Outcome{.kind = Kind::kInfra},
                                Outcome{.kind = Kind::kCancelled}, Outcome{.kind = Kind::kNever}};
    episode->Settle(open->id, outcomes[event - 2]);
    return true;
  }

  static void Check(const Episode& episode) {
    int open = 0;
    int turns = 0;
    for (const Ticket& ticket : episode.tickets()) open += ticket.settled ? 0 : 1;
    for (const Ticket& ticket : episode.tickets()) turns = std::max(turns, ticket.turn);
    ASSERT_GE(episode.turn(), 0);
    ASSERT_LE(episode.turn(), episode.config().max_turns);
    ASSERT_LE(turns, episode.config().max_turns);
    ASSERT_GE(episode.checks_left(), 0);
    ASSERT_EQ(episode.Open() == nullptr, open == 0);
    ASSERT_EQ(episode.phase() == Phase::kDone, episode.done());
    ASSERT_TRUE(episode.phase() != Phase::kJudging || open > 0);
    ASSERT_TRUE(episode.done() || open > 0 || episode.turn() < episode.config().max_turns);
    ASSERT_TRUE(!episode.done() || episode.Admit(false) == Admission::kOver);
    const Result<Episode> copy = Episode::FromJson(episode.ToJson());
    ASSERT_TRUE(copy.ok());
    ASSERT_EQ(copy->ToJson(), episode.ToJson());
  }

  static void Explore(const Episode& from, int depth, int* states) {
    ++*states;
    Check(from);
    if (depth == 0) return;
    for (int event = 0; event < kEvents; ++event) {
      Result<Episode> next = Episode::FromJson(from.ToJson());
      ASSERT_TRUE(next.ok());
      if (Apply(event, depth, &*next)) Explore(*next, depth - 1, states);
    }
  }
};

TEST_F(EpisodeEnumeration, InvariantsHoldInEveryReachableState) {
  int states = 0;
  Explore(Episode(Config(2, 1)), 6, &states);
  EXPECT_GT(states, 500);
}

TEST(Episode, ADamagedDocumentIsRefused) {
  EXPECT_FALSE(Episode::FromJson({}).ok());
  json::object document = Episode(Config()).ToJson();
  document["emission"] = "sometimes";
  EXPECT_FALSE(Episode::FromJson(document).ok());
}

}  // namespace
}  // namespace assay::openenv
