// Who is paid for a verdict, and that it happens once.

#include "openenv/websocket_testing.h"

namespace assay::openenv {
namespace {

using testing::CorrectVerdict;
using testing::kCode;
using testing::WebSocketTest;

constexpr double kReward = 0.3 + 2.7 * 0.5;

class PayingTest : public WebSocketTest {
 protected:
  PayingTest() { world_.jobs.verdict = CorrectVerdict(2, 0.5); }

  /// A client that was paid for its first step.
  Client Paid() {
    Client client = Connect();
    token_ = GetString(Observation(client.Reset()), "episode_token");
    EXPECT_DOUBLE_EQ(Reward(client.Step({{"code", kCode}})), kReward);
    return client;
  }
  json::object Resume(Client* client) { return client->Reset({{"resume", token_}}); }
  static double Reward(const json::object& reply) { return GetDouble(Data(reply), "reward", -1); }
  static bool Again(const json::object& reply) {
    return json::serialize(Observation(reply).at("flags")).find("already_reported") !=
           std::string::npos;
  }

  std::string token_;
};

TEST_F(PayingTest, GetTaskOnlyLooks) {
  Client client = Paid();
  for (int i = 0; i < 2; ++i) {
    const json::object reply = client.Step(
        {{"type", "call_tool"}, {"tool_name", "get_task"}, {"arguments", json::object{}}});
    EXPECT_TRUE(Data(reply).at("reward").is_null());
  }
}

TEST_F(PayingTest, AResumeOnTheSameConnectionIsNotPaidAgain) {
  Client client = Paid();
  for (int i = 0; i < 2; ++i) {
    const json::object reply = Resume(&client);
    EXPECT_EQ(GetString(Observation(reply), "status"), "correct");
    EXPECT_DOUBLE_EQ(Reward(reply), 0);
    EXPECT_TRUE(Again(reply));
  }
}

TEST_F(PayingTest, AReplyThatMayBeLostIsPaidToWhoResumes) {
  Client first = Paid();
  first.Drop();
  Client second = Connect();
  const json::object reply = Resume(&second);
  EXPECT_DOUBLE_EQ(Reward(reply), kReward);
  EXPECT_FALSE(Again(reply));
  EXPECT_DOUBLE_EQ(Reward(Resume(&second)), 0) << "it asks, so it has the reply";
  Client third = Connect();
  EXPECT_DOUBLE_EQ(Reward(Resume(&third)), 0);
}

TEST_F(PayingTest, AReplyThatArrivedIsNot) {
  Client first = Paid();
  first.State();  // so it has the reply before
  first.Drop();
  Client second = Connect();
  const json::object reply = Resume(&second);
  EXPECT_DOUBLE_EQ(Reward(reply), 0);
  EXPECT_TRUE(Again(reply));
}

TEST_F(PayingTest, BothHoldAfterARestart) {
  Client first = Paid();
  Kill(&first);
  Restart();
  Client second = Connect();
  EXPECT_DOUBLE_EQ(Reward(Resume(&second)), kReward);
  second.State();
  Kill(&second);
  Restart();
  Client third = Connect();
  EXPECT_DOUBLE_EQ(Reward(Resume(&third)), 0);
}

// The lost reply was of another verdict than the last one.
TEST_F(PayingTest, WhatWasLostCanBePolled) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  token_ = GetString(Observation(first.Reset()), "episode_token");
  std::vector<std::string> tickets;
  tickets.reserve(2);
  for (int i = 0; i < 2; ++i)
    tickets.push_back(
        GetString(Observation(first.Step({{"code", kCode}, {"defer", true}})), "ticket"));
  world_.jobs.FinishNext(CorrectVerdict(2, 0.5));
  const json::object poll{{"op", "poll"}, {"ticket", tickets[0]}, {"code", ""}};
  EXPECT_DOUBLE_EQ(Reward(first.Step(poll)), kReward);
  first.Drop();
  world_.jobs.FinishNext(CorrectVerdict(2, 1));
  Client second = Connect();
  EXPECT_DOUBLE_EQ(Reward(Resume(&second)), 3.0);
  EXPECT_DOUBLE_EQ(Reward(second.Step(poll)), kReward);
  EXPECT_DOUBLE_EQ(Reward(second.Step(poll)), 0);
}

}  // namespace
}  // namespace assay::openenv
