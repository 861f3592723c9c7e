// Sessions: capacity, idleness, lost connections, restarts.

#include <chrono>
#include <thread>

#include "openenv/environment.h"
#include "openenv/websocket_testing.h"

namespace assay::openenv {
namespace {

using testing::CorrectVerdict;
using testing::kCode;
using testing::WebSocketTest;

TEST_F(WebSocketTest, ALostConnectionCanBeResumed) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  ASSERT_FALSE(token.empty());
  first.Step({{"code", kCode}});
  first.Drop();
  EXPECT_TRUE(world_.jobs.cancelled.empty()) << "the judgement goes on for a while";

  Client second = Connect();
  EXPECT_EQ(Code(second.Step({{"code", kCode}})), "EXECUTION_ERROR");
  const json::object resumed = second.Reset({{"resume", token}});
  EXPECT_EQ(GetString(Observation(resumed), "status"), "queued");
  EXPECT_NE(GetString(Observation(resumed), "prompt"), "");
  world_.jobs.FinishNext(CorrectVerdict(2, 0.5));
  const json::object result = second.Step({{"op", "poll"}, {"code", ""}});
  EXPECT_EQ(GetString(Observation(result), "status"), "correct");

  Client stranger = Connect("", "other");
  EXPECT_EQ(Code(stranger.Reset({{"resume", token}})), "EXECUTION_ERROR")
      << "another key's episode";
}

TEST_F(WebSocketTest, AReplyThatNeverArrivedIsInTheResumedState) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  first.Step({{"code", kCode}});
  first.Drop();
  world_.jobs.FinishNext(CorrectVerdict(2, 0.5));  // the verdict comes while nobody is there
  Client second = Connect();
  const json::object resumed = second.Reset({{"resume", token}});
  EXPECT_EQ(GetString(Observation(resumed), "status"), "correct");
  EXPECT_DOUBLE_EQ(GetDouble(Data(resumed), "reward"), 0.3 + 2.7 * 0.5);
  EXPECT_EQ(GetInt(Observation(resumed), "turn"), 1);
}

TEST_F(WebSocketTest, ResumingTakesTheEpisodeFromAHalfDeadConnection) {
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  Client second = Connect();
  second.Reset({{"resume", token}});
  EXPECT_EQ(Code(first.Step({{"code", kCode}})), "EXECUTION_ERROR");
  first.Drop();
  EXPECT_EQ(GetString(Observation(second.Step({{"code", kCode}})), "status"), "correct");
}

TEST_F(WebSocketTest, WhatTheOtherConnectionWaitedForIsAnswered) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  first.Step({{"code", kCode}});
  first.State();  // waits for the step
  EXPECT_TRUE(first.session->Busy());
  Client second = Connect();
  EXPECT_EQ(GetString(Observation(second.Reset({{"resume", token}})), "status"), "queued");
  ASSERT_EQ(first.peer->sent.size(), 3u);
  EXPECT_NE(first.peer->sent[1].find("resumed or reset elsewhere"), std::string::npos);
  EXPECT_EQ(GetString(first.peer->Last(), "type"), "state");
  EXPECT_FALSE(first.session->Busy());
  EXPECT_TRUE(world_.jobs.cancelled.empty()) << "it is still judged, for the second";
}

TEST_F(WebSocketTest, ASubmissionThatWaitsForRoomIsAnsweredToo) {
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  world_.jobs.refusals.push_back({ErrorCode::kUnavailable, "full"});
  first.Step({{"code", kCode}});
  Client second = Connect();
  second.Reset({{"resume", token}});
  world_.timers.Advance(Seconds(2));
  EXPECT_EQ(Code(first.peer->Last()), "EXECUTION_ERROR");
}

TEST_F(WebSocketTest, EpisodesSurviveARestartOfTheServer) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  const std::string token = GetString(
      Observation(first.Reset({{"task_id", "assay/relu"}, {"seed", 3}})), "episode_token");
  first.Step({{"code", kCode}});
  Kill(&first);
  Restart();

  Client second = Connect();
  EXPECT_EQ(GetString(Observation(second.Reset({{"resume", token}})), "status"), "queued");
  world_.jobs.FinishNext(CorrectVerdict(2, 0.5));
  const json::object result = second.Step({{"op", "poll"}, {"code", ""}});
  EXPECT_EQ(GetString(Observation(result), "status"), "correct");
  EXPECT_EQ(GetInt(Observation(result), "turn"), 1);
  EXPECT_EQ(world_.jobs.jobs().size(), 1u) << "judged once";
}

// Several verdicts that came while nobody was there are each paid, by their polls.
TEST_F(WebSocketTest, DeferredSubmissionsArePaidAfterAResume) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  std::vector<std::string> tickets;
  tickets.reserve(2);
  for (int i = 0; i < 2; ++i)
    tickets.push_back(
        GetString(Observation(first.Step({{"code", kCode}, {"defer", true}})), "ticket"));
  first.Drop();
  world_.jobs.FinishNext(CorrectVerdict(2, 0.5));
  Client second = Connect();
  EXPECT_EQ(GetString(Observation(second.Reset({{"resume", token}})), "ticket"), tickets[1]);
  world_.jobs.FinishNext(CorrectVerdict(2, 1));
  const double rewards[] = {0.3 + 2.7 * 0.5, 3.0};
  for (size_t i = 0; i < 2; ++i) {
    const json::object poll{{"op", "poll"}, {"ticket", tickets[i]}, {"code", ""}};
    EXPECT_DOUBLE_EQ(GetDouble(Data(second.Step(poll)), "reward"), rewards[i]);
    EXPECT_DOUBLE_EQ(GetDouble(Data(second.Step(poll)), "reward"), 0) << "once";
  }
}

TEST_F(WebSocketTest, TheServersJudgingIsEverySubmissions) {
  world_.settings.judging = {{"baselines", json::array{"compile"}}};
  world_.settings.eval_timeout_s = 300;
  Restart();
  Client client = Connect();
  client.Reset({{"task_id", "assay/relu"}, {"judging", {{"cache", "warm"}}}});
  client.Step({{"code", kCode}});
  const JobRequest request = world_.jobs.jobs().at(0).request;
  EXPECT_EQ(request.timeout_s, 300);
  EXPECT_EQ(request.options.at("baselines"), json::array{"compile"});
  EXPECT_EQ(request.options.at("cache"), "warm");
}

TEST_F(WebSocketTest, ARefusedTicketKeepsItsOwnAnswer) {
  Client client = Connect();
  const std::string token = GetString(Observation(client.Reset()), "episode_token");
  const json::object refused = Observation(client.Step({{"code", "```python"}}));
  const std::string ticket = GetString(refused, "ticket");
  ASSERT_NE(ticket, "");
  EXPECT_EQ(GetString(Observation(client.Step({{"code", kCode}})), "status"), "correct");
  const json::object poll{{"op", "poll"}, {"ticket", ticket}, {"code", ""}};
  const auto same = [&](const json::object& again) {
    EXPECT_DOUBLE_EQ(GetDouble(Data(again), "reward"), 0);
    EXPECT_EQ(GetString(Observation(again), "ticket"), ticket);
    EXPECT_EQ(GetString(Observation(again), "status"), "invalid_submission");
    EXPECT_EQ(GetString(Observation(again), "feedback"), GetString(refused, "feedback"));
  };
  same(client.Step(poll));
  Kill(&client);
  Restart();
  Client second = Connect();
  second.Reset({{"resume", token}});
  same(second.Step(poll));
}

// A crash may follow the first job at once: what has no document cannot be resumed.
TEST_F(WebSocketTest, TheDocumentIsStoredBeforeTheFirstJob) {
  bool stored = false;
  std::string token;
  world_.jobs.submitting = [&] { stored = world_.documents.Get(kEpisodeDocuments, token).ok(); };
  Client client = Connect();
  token = GetString(Observation(client.Reset()), "episode_token");
  client.Step({{"code", kCode}});
  EXPECT_TRUE(stored);
}

// The document lags behind the jobs: what it lost is found by the ids of the episode's jobs.
TEST_F(WebSocketTest, JobsBeyondTheDocumentAreFound) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  service_->host()->writer->Flush();
  const std::map<std::string, json::object> at_reset = world_.documents.documents;
  first.Step({{"code", kCode}});
  world_.jobs.FinishNext(CorrectVerdict(2, 0.5));
  first.Step({{"code", "```python"}});  // refused, so without a job
  first.Step({{"code", kCode}});
  Kill(&first);
  Restart();
  world_.documents.documents = at_reset;

  Client second = Connect();
  const json::object resumed = second.Reset({{"resume", token}});
  EXPECT_EQ(GetString(Observation(resumed), "status"), "queued");
  EXPECT_EQ(GetInt(Observation(resumed), "turn"), 2) << "the refused one is forgotten";
  world_.jobs.FinishNext(CorrectVerdict(2, 1));
  // Whether the first one's reply arrived is unknown, so a poll tells it again.
  EXPECT_DOUBLE_EQ(GetDouble(Data(second.Step({{"op", "poll"}, {"code", ""}})), "reward"),
                   0.3 + 2.7 * 0.5);
  const json::object result = second.Step({{"op", "poll"}, {"code", ""}});
  EXPECT_DOUBLE_EQ(GetDouble(Data(result), "reward"), 3.0);
  EXPECT_DOUBLE_EQ(GetDouble(Observation(result), "best_reward"), 3.0);
  EXPECT_EQ(world_.jobs.jobs().size(), 2u) << "nothing was judged twice";
}

TEST_F(WebSocketTest, ASubmissionThatNeverReachedTheQueueGivesItsTurnBack) {
  Client first = Connect();
  const std::string token = GetString(Observation(first.Reset()), "episode_token");
  world_.jobs.refusals.push_back({ErrorCode::kUnavailable, "full"});
  first.Step({{"code", kCode}});  // waits for room; then the server is killed
  Kill(&first);
  Restart();
  Client second = Connect();
  const json::object resumed = second.Reset({{"resume", token}});
  EXPECT_EQ(GetString(Observation(resumed), "status"), "ready");
  EXPECT_EQ(GetInt(Observation(resumed), "turn"), 0);
}

TEST_F(WebSocketTest, CloseEndsTheEpisode) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}, {"defer", true}});
  const size_t before = client.peer->sent.size();
  client.Send({{"type", "close"}});
  EXPECT_EQ(client.peer->sent.size(), before) << "close has no reply";
  EXPECT_EQ(client.peer->close_code, 0) << "the client's own close frame is on its way";
  world_.timers.Advance(Seconds(0.1));
  EXPECT_EQ(client.peer->close_code, 1000);
  EXPECT_EQ(world_.jobs.cancelled.size(), 1u);
}

class WaitingBytesTest : public WebSocketTest {
 protected:
  WaitingBytesTest()
      : WebSocketTest([] {
          Settings settings;
          settings.max_bytes_waiting = 3000;
          return settings;
        }()) {}
};

TEST_F(WaitingBytesTest, LargeRequestsOfAllConnectionsTogetherAreBounded) {
  world_.jobs.verdict.reset();
  const std::string large = R"({"type": "state", "x": ")" + std::string(1000, 'x') + "\"}";
  Client first = Connect();
  Client second = Connect();
  for (Client* client : {&first, &second}) {
    client->Reset();
    client->Step({{"code", kCode}});
  }
  for (int i = 0; i < 2; ++i) first.session->OnMessage(large);
  EXPECT_EQ(first.peer->close_code, 0);
  second.session->OnMessage(large);
  EXPECT_EQ(second.peer->close_code, 1013);
  first.session->OnClose();  // what waited there counts no more
  Client third = Connect();
  third.Reset();
  third.Step({{"code", kCode}});
  for (int i = 0; i < 2; ++i) third.session->OnMessage(large);
  EXPECT_EQ(third.peer->close_code, 0);
}

TEST_F(WaitingBytesTest, AKeyHasAQuarterOfThem) {
  world_.jobs.verdict.reset();
  const std::string large = R"({"type": "state", "x": ")" + std::string(600, 'x') + "\"}";
  Client greedy = Connect("", "greedy");
  Client other = Connect("", "other");
  for (Client* client : {&greedy, &other}) {
    client->Reset();
    client->Step({{"code", kCode}});
    client->session->OnMessage(large);
    EXPECT_EQ(client->peer->close_code, 0);
  }
  Client again = Connect("", "greedy");
  again.Reset();
  again.Step({{"code", kCode}});
  again.session->OnMessage(large);
  EXPECT_EQ(again.peer->close_code, 1013);
  EXPECT_EQ(other.peer->close_code, 0);
}

class CapacityTest : public WebSocketTest {
 protected:
  CapacityTest()
      : WebSocketTest([] {
          Settings settings;
          settings.max_sessions = 1;
          settings.idle_timeout = Seconds(0.02);
          return settings;
        }()) {}
};

TEST_F(CapacityTest, TheFirstRequestIsHeldUntilASlotIsFree) {
  Client first = Connect();
  first.Reset();
  Client second = Connect();
  second.Reset();
  EXPECT_TRUE(second.peer->sent.empty());
  first.Drop();
  EXPECT_EQ(GetString(Observation(second.peer->Last()), "status"), "ready");
}

TEST_F(CapacityTest, AndRefusedWhenNoneIs) {
  Client first = Connect();
  first.Reset();
  Client second = Connect();
  second.Reset();
  world_.timers.Advance(Seconds(20));
  EXPECT_EQ(Code(second.peer->Last()), "CAPACITY_REACHED");
  EXPECT_EQ(GetInt(Data(second.peer->Last()), "max_sessions"), 1);
  EXPECT_EQ(second.peer->close_code, 1013);
  second.Drop();
  first.Drop();
  EXPECT_EQ(service_->active_sessions(), 0u);
}

TEST_F(CapacityTest, AConnectionThatIsLostDuringAStepFreesItsSlot) {
  world_.jobs.verdict.reset();
  Client first = Connect();
  first.Reset();
  first.Step({{"code", kCode}});
  first.Drop();
  EXPECT_EQ(service_->active_sessions(), 0u);
}

TEST_F(CapacityTest, IdleConnectionsEndAndBusyOnesDoNot) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}});
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  service_->Sweep();
  EXPECT_EQ(client.peer->close_code, 0) << "a step is being judged";
  world_.jobs.FinishNext(CorrectVerdict(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  service_->Sweep();
  EXPECT_EQ(client.peer->close_code, 1001);
  EXPECT_EQ(Code(client.peer->Last()), "SESSION_ERROR");
}

TEST_F(CapacityTest, ANamedSessionWithAStepInWorkIsNotIdle) {
  world_.jobs.verdict.reset();
  http::Identity who;
  who.key_name = "local";
  const std::shared_ptr<NamedSession> session = service_->NewSession(who, nullptr);
  (void)session->environment->Reset(json::object{});
  bool answered = false;
  session->environment->Step(Action{.code = kCode}, Seconds(45), {},
                             [&](const Environment::Answer&) { answered = true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  service_->Sweep();
  EXPECT_FALSE(answered);
  world_.jobs.FinishNext(CorrectVerdict(2));
  EXPECT_TRUE(answered);
  service_->Sweep();
  EXPECT_NE(service_->FindSession(session->id, "local"), nullptr) << "idle only from now on";
}

class GraceTest : public WebSocketTest {
 protected:
  GraceTest()
      : WebSocketTest([] {
          Settings settings;
          settings.resume_grace = Seconds(0);
          return settings;
        }()) {}
};

TEST_F(GraceTest, WhatNobodyResumesIsCancelled) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}});
  client.Drop();
  service_->Sweep();
  EXPECT_EQ(world_.jobs.cancelled.size(), 1u);
}

class ProductionTest : public WebSocketTest {
 protected:
  ProductionTest()
      : WebSocketTest([] {
          Settings settings;
          settings.production = true;
          return settings;
        }()) {}
};

TEST_F(ProductionTest, OffersToolsOnly) {
  Client client = Connect();
  EXPECT_EQ(Code(client.Reset()), "EXECUTION_ERROR");
  EXPECT_EQ(Code(client.Step({{"code", kCode}})), "EXECUTION_ERROR");
  EXPECT_EQ(GetArray(Observation(client.Step({{"type", "list_tools"}})), "tools").size(), 4u);
}

TEST_F(WebSocketTest, AttachesToANamedSession) {
  http::Identity who;
  who.key_name = "local";
  const std::string id = service_->NewSession(who, nullptr)->id;
  Client first = Connect(id);
  first.Reset();
  Client second = Connect(id);
  EXPECT_EQ(Code(second.peer->Last()), "SESSION_ERROR") << "one WebSocket at a time";
  EXPECT_EQ(service_->CloseSession(id, "local"), Service::CloseResult::kClosing);
  first.Drop();
  EXPECT_EQ(service_->FindSession(id, "local"), nullptr) << "closed at the detaching";
  Client third = Connect(id);
  EXPECT_EQ(Code(third.peer->Last()), "SESSION_ERROR");
}

}  // namespace
}  // namespace assay::openenv
