// What travels over /ws, message by message.

#include "openenv/websocket_testing.h"

namespace assay::openenv {
namespace {

using testing::CorrectVerdict;
using testing::FailedVerdict;
using testing::kCode;
using testing::WebSocketTest;

TEST_F(WebSocketTest, PlaysAnEpisode) {
  Client client = Connect();
  const json::object ready = client.Reset(
      {{"task_id", "assay/relu"}, {"seed", 7}, {"episode_id", "ep-42"}, {"max_turns", 2}});
  EXPECT_EQ(GetString(Observation(ready), "status"), "ready");
  EXPECT_TRUE(Data(ready).at("reward").is_null());
  EXPECT_FALSE(GetBool(Data(ready), "done", true));
  EXPECT_NE(GetString(Observation(ready), "prompt").find("class Model:"), std::string::npos);

  world_.jobs.verdict = FailedVerdict("incorrect", "mismatch");
  const json::object wrong = client.Step({{"code", kCode}});
  EXPECT_EQ(GetString(Observation(wrong), "status"), "incorrect");
  EXPECT_EQ(Data(wrong).at("reward"), json::value(0.0));

  world_.jobs.verdict = CorrectVerdict(2, 0.5);
  const json::object right = client.Step({{"source", kCode}});
  EXPECT_EQ(GetString(Observation(right), "status"), "correct");
  EXPECT_DOUBLE_EQ(GetDouble(Data(right), "reward"), 0.3 + 2.7 * 0.5);
  EXPECT_TRUE(GetBool(Data(right), "done"));

  const json::object state = client.State();
  EXPECT_EQ(GetString(state, "type"), "state");
  EXPECT_EQ(GetString(Data(state), "episode_id"), "ep-42");
  EXPECT_EQ(GetInt(Data(state), "step_count"), 2);
  EXPECT_EQ(GetInt(Data(state), "seed"), 7);

  const json::object over = client.Step({{"code", kCode}});
  EXPECT_EQ(GetString(Observation(over), "status"), "episode_over");
  EXPECT_EQ(Data(over).at("reward"), json::value(0.0));
  EXPECT_TRUE(GetBool(Data(over), "done"));
  EXPECT_EQ(GetInt(Data(client.State()), "step_count"), 2) << "unchanged";
}

TEST_F(WebSocketTest, AMissingBoundIsNoReward) {
  Client client = Connect();
  client.Reset();
  const json::object reply = client.Step({{"code", kCode}});
  const json::object observation = Observation(reply);
  EXPECT_EQ(GetString(observation, "status"), "correct");
  EXPECT_TRUE(GetBool(observation, "masked"));
  EXPECT_EQ(Data(reply).at("reward"), json::value(0.0));
  EXPECT_NE(GetString(observation, "reward_note").find("No reward"), std::string::npos);
  EXPECT_THAT(json::serialize(observation.at("flags")), ::testing::HasSubstr("reward_unavailable"));
}

TEST_F(WebSocketTest, StateBeforeResetIsAFreshOne) {
  Client client = Connect();
  const json::object state = Data(client.State());
  EXPECT_TRUE(state.at("episode_id").is_null());
  EXPECT_EQ(GetInt(state, "step_count"), 0);
}

TEST_F(WebSocketTest, StepBeforeResetSaysWhatToDo) {
  Client client = Connect();
  const json::object reply = client.Step({{"code", kCode}});
  EXPECT_EQ(Code(reply), "EXECUTION_ERROR");
  EXPECT_NE(GetString(Data(reply), "message").find("reset"), std::string::npos);
  EXPECT_EQ(client.peer->close_code, 0);
}

TEST_F(WebSocketTest, MistakesAreToldAndTheConnectionStays) {
  Client client = Connect();
  EXPECT_EQ(Code(client.SendText("{")), "INVALID_JSON");
  EXPECT_EQ(Code(client.SendText("[1, 2]")), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.SendText("\"text\"")), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.SendText("{\"type\": \"dance\"}")), "UNKNOWN_TYPE");
  EXPECT_EQ(Code(client.SendText("{}")), "UNKNOWN_TYPE");
  EXPECT_EQ(Code(client.SendText("{\"type\": \"reset\", \"data\": null}")), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.SendText("{\"type\": \"reset\", \"extra\": 1}")), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.SendText("{\"type\": \"step\"}")), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.SendText("{\"type\": \"state\", \"data\": {}}")), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.Reset({{"task_id", "assay/rleu"}})), "EXECUTION_ERROR");
  EXPECT_NE(GetString(Data(client.peer->Last()), "message").find("assay/relu"), std::string::npos);
  EXPECT_EQ(client.peer->close_code, 0);
  EXPECT_EQ(Code(client.Reset({{"seed", -1}})), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.SendText(R"({"type": "reset", "data": {"seed": 1e400}})")),
            "VALIDATION_ERROR");
  client.Reset();
  EXPECT_EQ(Code(client.Step(
                {{"type", "call_tool"}, {"tool_name", "get_task"}, {"arguments", json::array{}}})),
            "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.Step({{"lang", "triton"}})), "VALIDATION_ERROR");
  EXPECT_EQ(GetArray(Data(client.peer->Last()), "errors").size(), 2u)
      << "missing code, unknown lang";
  EXPECT_EQ(Code(client.Step({{"code", kCode}, {"task_id", "kb/l1/019"}})), "VALIDATION_ERROR");
  EXPECT_EQ(GetString(Observation(client.Step({{"code", kCode}})), "status"), "correct");
}

TEST_F(WebSocketTest, WhatAModelWritesIsNeverAnError) {
  Client client = Connect();
  client.Reset({{"task_id", "assay/relu"}, {"max_turns", 8}});
  for (const std::string& code :
       {std::string(), std::string("   \n"), std::string("```python\nclass ModelNew:"),
        std::string("I cannot do that."), std::string((1u << 20) + 1, 'x'),
        std::string("Here:\n```json\n{}\n```\n")}) {
    world_.jobs.verdict = FailedVerdict("invalid_submission", "lint_invalid");
    const json::object reply = client.Step({{"code", code}});
    EXPECT_EQ(GetString(Observation(reply), "status"), "invalid_submission");
    EXPECT_EQ(Data(reply).at("reward"), json::value(0.0));
    EXPECT_FALSE(GetBool(Observation(reply), "masked"));
  }
}

TEST_F(WebSocketTest, CodeIsTakenOutOfAReply) {
  Client client = Connect();
  client.Reset();
  client.Step({{"code", "Sure!\n```python\nclass ModelNew: pass\n```\nDone."}});
  EXPECT_EQ(world_.jobs.jobs().back().request->source, "class ModelNew: pass\n");
}

TEST_F(WebSocketTest, TwoRequestsAtOnceAreAnsweredInOrder) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}});
  client.State();
  ASSERT_EQ(client.peer->sent.size(), 1u) << "state waits for the step";
  world_.jobs.FinishNext(CorrectVerdict(2));
  ASSERT_EQ(client.peer->sent.size(), 3u);
  EXPECT_NE(client.peer->sent[1].find("observation"), std::string::npos);
  EXPECT_EQ(GetInt(Data(client.peer->Last()), "step_count"), 1);
}

// A server that drains asks for this before it closes.
TEST_F(WebSocketTest, IsBusyWhileAnAnswerIsOwed) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  EXPECT_FALSE(client.session->Busy());
  client.Step({{"code", kCode}});
  EXPECT_TRUE(client.session->Busy());
  world_.jobs.FinishNext(CorrectVerdict(2));
  EXPECT_FALSE(client.session->Busy());
}

TEST_F(WebSocketTest, ALongJudgementBecomesATicket) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}});
  EXPECT_EQ(client.peer->sent.size(), 1u);
  world_.timers.Advance(Seconds(45));
  const json::object queued = client.peer->Last();
  const std::string ticket = GetString(Observation(queued), "ticket");
  EXPECT_EQ(GetString(Observation(queued), "status"), "queued");
  EXPECT_EQ(Data(queued).at("reward"), json::value(0.0));
  ASSERT_FALSE(ticket.empty());

  client.Step({{"op", "poll"}, {"ticket", ticket}, {"code", ""}});
  EXPECT_EQ(client.peer->sent.size(), 2u) << "a poll waits";
  world_.timers.Advance(Seconds(20));
  EXPECT_EQ(GetString(Observation(client.peer->Last()), "status"), "queued");
  client.Step({{"op", "poll"}, {"code", ""}});
  world_.jobs.FinishNext(CorrectVerdict(2, 1));
  EXPECT_EQ(GetString(Observation(client.peer->Last()), "status"), "correct");
  EXPECT_DOUBLE_EQ(GetDouble(Data(client.peer->Last()), "reward"), 3.0);
  // Asked again, it is told again but not paid again.
  const json::object again = client.Step({{"op", "poll"}, {"ticket", ticket}, {"code", ""}});
  EXPECT_EQ(GetString(Observation(again), "status"), "correct");
  EXPECT_EQ(Data(again).at("reward"), json::value(0.0));
}

TEST_F(WebSocketTest, DeferredSubmissionsAreJudgedSideBySide) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset({{"task_id", "assay/relu"}, {"max_turns", 3}});
  std::vector<std::string> tickets;
  tickets.reserve(3);
  for (int i = 0; i < 3; ++i)
    tickets.push_back(
        GetString(Observation(client.Step({{"code", kCode}, {"defer", true}})), "ticket"));
  EXPECT_EQ(world_.jobs.jobs().size(), 3u);
  const json::object full = client.Step({{"code", kCode}});
  EXPECT_EQ(GetString(Observation(full), "status"), "queued")
      << "no turn is left, nothing was taken";
  EXPECT_EQ(world_.jobs.jobs().size(), 3u);
  for (const std::string& ticket : tickets) {
    world_.jobs.Finish(ticket, CorrectVerdict(2, 0.5));
    const json::object reply = client.Step({{"op", "poll"}, {"ticket", ticket}, {"code", ""}});
    EXPECT_EQ(GetString(Observation(reply), "status"), "correct");
    EXPECT_EQ(GetBool(Data(reply), "done"), ticket == tickets.back());
  }
}

TEST_F(WebSocketTest, CancelEndsTheJudgement) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}, {"defer", true}});
  const json::object reply = client.Step({{"op", "cancel"}, {"code", ""}});
  EXPECT_EQ(GetString(Observation(reply), "status"), "cancelled");
  EXPECT_TRUE(GetBool(Observation(reply), "masked"));
  EXPECT_EQ(Code(client.Step({{"op", "cancel"}, {"code", ""}})), "VALIDATION_ERROR");
  EXPECT_EQ(Code(client.Step({{"op", "poll"}, {"ticket", "nonsense"}, {"code", ""}})),
            "VALIDATION_ERROR");
}

TEST_F(WebSocketTest, AFullQueueIsWaitedForAndThenToldWithoutCostingATurn) {
  Client client = Connect();
  client.Reset();
  world_.jobs.refusals.push_back({ErrorCode::kUnavailable, "the queue is full"});
  client.Step({{"code", kCode}});
  EXPECT_EQ(client.peer->sent.size(), 1u) << "it is tried again";
  world_.timers.Advance(Seconds(2));
  EXPECT_EQ(GetString(Observation(client.peer->Last()), "status"), "correct");
  EXPECT_EQ(GetInt(Observation(client.peer->Last()), "turn"), 1);
}

TEST_F(WebSocketTest, AnInfrastructureFaultCostsNoTurn) {
  Client client = Connect();
  client.Reset();
  world_.jobs.verdict = FailedVerdict("infra_error", "infrastructure");
  for (int i = 0; i < 2; ++i) {
    const json::object reply = client.Step({{"code", kCode}});
    EXPECT_EQ(GetString(Observation(reply), "status"), "infra_error");
    EXPECT_TRUE(GetBool(Observation(reply), "masked"));
    EXPECT_EQ(GetInt(Observation(reply), "turn"), 0);
    EXPECT_EQ(Data(reply).at("reward"), json::value(0.0));
    EXPECT_FALSE(GetBool(Data(reply), "done"));
  }
  EXPECT_TRUE(GetBool(Data(client.Step({{"code", kCode}})), "done")) << "three in a row";
}

TEST_F(WebSocketTest, ASecondResetBeginsAnew) {
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}});
  client.Reset({{"task_id", "kb/l1/019"}});
  const json::object state = Data(client.State());
  EXPECT_EQ(GetInt(state, "step_count"), 0);
  EXPECT_EQ(GetString(state, "task_id"), "kb/l1/019");
  EXPECT_EQ(GetString(state, "suite"), "kb/l1");
}

TEST_F(WebSocketTest, UnknownResetMembersAreReportedNotObeyed) {
  Client client = Connect();
  const json::object reply =
      client.Reset({{"task_id", "assay/relu"}, {"tsk", 1}, {"prompt", json::array{1, 2}}});
  EXPECT_THAT(json::serialize(Data(reply).at("metadata")),
              ::testing::AllOf(::testing::HasSubstr("tsk"), ::testing::HasSubstr("prompt")));
}

TEST_F(WebSocketTest, MetadataComesBack) {
  Client client = Connect();
  client.Reset();
  const json::object reply = client.Step({{"code", kCode}, {"metadata", {{"sample", 17}}}});
  EXPECT_EQ(GetInt(GetObject(Observation(reply), "metadata"), "sample"), 17);
  EXPECT_EQ(GetInt(GetObject(Data(reply), "metadata"), "sample"), 17);
}

TEST_F(WebSocketTest, TheDeterministicProfileIsTheSameEveryTime) {
  std::vector<std::string> transcripts;
  for (int replay = 0; replay < 3; ++replay) {
    Restart();
    Client client = Connect();
    client.Reset({{"seed", 11}, {"episode_id", "ep"}, {"options", {{"timing", "off"}}}});
    client.State();
    for (const json::object& verdict :
         {FailedVerdict("incorrect", "mismatch"), CorrectVerdict(2.0 + replay, 0.5)}) {
      world_.jobs.verdict = verdict;
      client.Step({{"code", kCode}});
      client.State();
    }
    transcripts.push_back(json::serialize(json::value_from(client.peer->sent)));
  }
  EXPECT_EQ(transcripts[0], transcripts[1]);
  EXPECT_EQ(transcripts[0], transcripts[2]);
  EXPECT_EQ(transcripts[0].find("median"), std::string::npos);
  EXPECT_EQ(transcripts[0].find("0.123"), std::string::npos) << "values of hidden inputs";
}

TEST_F(WebSocketTest, ToolsByStepAndByMessage) {
  Client client = Connect();
  const json::object tools = client.Step({{"type", "list_tools"}});
  EXPECT_EQ(GetArray(Observation(tools), "tools").size(), 4u);
  EXPECT_TRUE(Data(tools).at("reward").is_null());
  json::object called = client.Step({{"type", "call_tool"},
                                     {"tool_name", "get_task"},
                                     {"arguments", {{"task_id", "assay/relu"}}}});
  EXPECT_TRUE(Observation(called).at("error").is_null());
  called = client.Step(
      {{"type", "call_tool"}, {"tool_name", "submit_kernel"}, {"arguments", {{"code", kCode}}}});
  EXPECT_EQ(GetString(GetObject(GetObject(Observation(called), "result"), "data"), "status"),
            "correct");
  called =
      client.Step({{"type", "call_tool"}, {"tool_name", "dance"}, {"arguments", json::object{}}});
  EXPECT_EQ(GetString(GetObject(Observation(called), "error"), "error_type"), "tool_not_found");
  const json::object rpc = client.Send(
      {{"type", "mcp"}, {"data", {{"jsonrpc", "2.0"}, {"id", 5}, {"method", "tools/list"}}}});
  EXPECT_EQ(GetString(rpc, "type"), "mcp");
  EXPECT_EQ(GetInt(Data(rpc), "id"), 5);
}

TEST_F(WebSocketTest, ManyRequestsWithoutWaitingEndTheConnection) {
  world_.jobs.verdict.reset();
  Client client = Connect();
  client.Reset();
  client.Step({{"code", kCode}});
  for (int i = 0; i < 40; ++i) client.State();
  EXPECT_EQ(client.peer->close_code, 1008);
}

TEST_F(WebSocketTest, AModeThatNeedsAProfileAsksForOne) {
  const auto asked = [&](const json::object& reset) {
    Client client = Connect();
    client.Reset(reset);
    client.Step({{"code", kCode}});
    return GetBool(world_.jobs.jobs().back().request->options, "profile");
  };
  EXPECT_FALSE(asked({}));
  EXPECT_TRUE(asked({{"reward_mode", "coverage"}}));
  EXPECT_TRUE(asked({{"reward_mode", "drkernel"}}));
  EXPECT_FALSE(asked({{"reward_mode", "drkernel"}, {"reward_parameters", {{"coverage", false}}}}));
}

}  // namespace
}  // namespace assay::openenv
