// Who waits for a session: in which order, at what cost, and what becomes of those who go.

#include <chrono>
#include <thread>

#include "openenv/websocket_testing.h"

namespace assay::openenv {
namespace {

using testing::kCode;
using testing::WebSocketTest;

Settings SmallServer(size_t sessions) {
  Settings settings;
  settings.max_sessions = sessions;
  settings.max_bytes_waiting = 3000;
  return settings;
}

class WaitingTest : public WebSocketTest {
 protected:
  explicit WaitingTest(size_t sessions = 1) : WebSocketTest(SmallServer(sessions)) {}
  static std::string Text(size_t bytes) {
    return R"({"type": "state", "x": ")" + std::string(bytes, 'x') + "\"}";
  }
};

// Clients give up a while after they have asked, whatever they waited for.
TEST_F(WaitingTest, TheReplyIsDueFromTheArrival) {
  world_.settings.reply_deadline = Seconds(2);
  Restart();
  world_.jobs.verdict.reset();
  Client first = Connect();
  first.State();
  Client second = Connect();
  second.Send({{"type", "mcp"},
               {"data",
                {{"jsonrpc", "2.0"},
                 {"id", 1},
                 {"method", "tools/call"},
                 {"params",
                  {{"name", "submit_kernel"},
                   {"arguments", {{"task_id", "assay/relu"}, {"code", kCode}}}}}}}});
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  first.Drop();
  ASSERT_EQ(world_.jobs.jobs().size(), 1u);
  EXPECT_TRUE(second.peer->sent.empty());
  world_.timers.Advance(Seconds(1));
  ASSERT_EQ(second.peer->sent.size(), 1u);
  EXPECT_NE(second.peer->sent[0].find("Status: queued"), std::string::npos);
}

TEST_F(WaitingTest, SessionsAndRefusalsAreCounted) {
  Client first = Connect();
  first.State();
  Client second = Connect();
  second.session->OnMessage(R"({"type":"state"})");
  EXPECT_GE(service_->retry_after_s(), 1);
  world_.timers.Advance(Seconds(30));
  EXPECT_EQ(Code(second.peer->Last()), "CAPACITY_REACHED");
  const std::string counted = world_.metrics.ToPrometheus();
  EXPECT_NE(counted.find("assay_openenv_sessions{kind=\"websocket\"} 1\n"), std::string::npos)
      << counted;
  EXPECT_NE(counted.find("assay_openenv_sessions{kind=\"mcp\"} 0\n"), std::string::npos);
  EXPECT_NE(counted.find("assay_openenv_capacity_refusals_total 1\n"), std::string::npos);
  first.Drop();
  EXPECT_NE(world_.metrics.ToPrometheus().find("assay_openenv_sessions{kind=\"websocket\"} 0\n"),
            std::string::npos);
}

// They were handed the slot one within the other, which took a frame of the stack for each.
TEST_F(WaitingTest, ManyWhoHaveGoneTakeNoStack) {
  Client first = Connect();
  first.State();
  for (int i = 0; i < 60'000; ++i) {
    Client gone = Connect();
    gone.session->OnMessage(R"({"type":"state"})");
    gone.Drop();
  }
  first.Drop();
  EXPECT_EQ(service_->active_sessions(), 0u);
}

TEST_F(WaitingTest, WhoGoesLeavesNothing) {
  Client first = Connect();
  first.State();
  Client second = Connect();
  second.session->OnMessage(Text(2000));
  second.Drop();
  EXPECT_EQ(second.peer.use_count(), 1) << "nothing holds its connection";
}

TEST_F(WaitingTest, WhatWaitsIsCounted) {
  Client first = Connect();
  first.State();
  Client second = Connect();
  second.session->OnMessage(Text(2000));
  Client third = Connect();
  third.session->OnMessage(Text(2000));
  EXPECT_EQ(third.peer->close_code, 1013);
  second.Drop();
  Client fourth = Connect();
  fourth.session->OnMessage(Text(2000));
  EXPECT_EQ(fourth.peer->close_code, 0);
  first.Drop();
  EXPECT_EQ(fourth.peer->sent.size(), 1u) << "its message was kept";
  Client fifth = Connect();
  fifth.session->OnMessage(Text(2000));
  EXPECT_EQ(fifth.peer->close_code, 0) << "and counts no more";
}

class LargeMessageTest : public WaitingTest {
 protected:
  LargeMessageTest() { world_.settings.max_bytes_waiting = 1u << 20, Restart(); }
};

TEST_F(LargeMessageTest, WaitsForNoSession) {
  Client first = Connect();
  first.session->OnMessage(Text(100'000));
  EXPECT_EQ(first.peer->sent.size(), 1u) << "where one is free its size does not matter";
  Client second = Connect();
  second.session->OnMessage(Text(100'000));
  EXPECT_EQ(Code(second.peer->Last()), "CAPACITY_REACHED");
  EXPECT_EQ(second.peer->close_code, 1013);
}

class FairTest : public WaitingTest {
 protected:
  FairTest() : WaitingTest(8) {}
};

TEST_F(FairTest, OneKeyCannotHaveAllSessions) {
  std::vector<Client> greedy;
  for (int i = 0; i < 9; ++i) {
    greedy.push_back(Connect("", "greedy"));
    greedy.back().session->OnMessage(R"({"type":"state"})");
  }
  EXPECT_EQ(service_->active_sessions(), 7u) << "three times what is free, and one";
  Client other = Connect("", "other");
  EXPECT_EQ(GetString(other.State(), "type"), "state");
  Client waits = Connect("", "other");
  waits.session->OnMessage(R"({"type":"state"})");
  EXPECT_TRUE(waits.peer->sent.empty());
  greedy[0].Drop();
  EXPECT_EQ(waits.peer->sent.size(), 1u) << "before those who came first, of a key that has most";
  EXPECT_TRUE(greedy[7].peer->sent.empty());
  world_.timers.Advance(Seconds(20));
  EXPECT_EQ(Code(greedy[7].peer->Last()), "CAPACITY_REACHED");
}

TEST_F(FairTest, WithoutKeysAllAreForEverybody) {
  std::vector<Client> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(Connect());
    clients.back().State();
  }
  EXPECT_EQ(service_->active_sessions(), 8u);
}

TEST_F(FairTest, OrAsManyAsTheOperatorSays) {
  world_.settings.max_sessions_per_key = 2;
  Restart();
  std::vector<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(Connect("", "key"));
    clients.back().session->OnMessage(R"({"type":"state"})");
  }
  EXPECT_EQ(service_->active_sessions(), 2u);
  clients[0].Drop();
  EXPECT_EQ(clients[2].peer->sent.size(), 1u);
}

TEST_F(WaitingTest, SlotsThatNobodyTakesAreHandedOnInALoop) {
  http::Identity who;
  Slot slot;
  service_->Acquire(who, SessionKind::kHttp, true, [&](Slot given) { slot = std::move(given); });
  int granted = 0;
  for (int i = 0; i < 60'000; ++i)
    service_->Acquire(who, SessionKind::kHttp, true,
                      [&](const Slot& given) { granted += given != nullptr ? 1 : 0; });
  slot.reset();
  EXPECT_EQ(granted, 60'000);
  EXPECT_EQ(service_->active_sessions(), 0u);
}

}  // namespace
}  // namespace assay::openenv
