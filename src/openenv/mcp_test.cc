#include "openenv/mcp.h"

#include <gmock/gmock.h>

#include "openenv/openenv.h"
#include "openenv/testing.h"
#include "openenv/tools.h"

namespace assay::openenv {
namespace {

using testing::CorrectVerdict;
using testing::World;

class McpTest : public ::testing::Test {
 protected:
  McpTest() {
    world_.jobs.verdict = CorrectVerdict(2, 0.5);
    service_ = Service::Make(world_.Context());
  }

  void TearDown() override { service_->Shutdown(); }

  RpcReply Send(std::string_view text, const std::shared_ptr<Environment>& environment = nullptr) {
    const Result<json::value> message = ParseJson(text);
    EXPECT_TRUE(message.ok()) << text;
    RpcOrigin origin;
    origin.service = service_;
    origin.who.key_name = "local";
    origin.environment = environment;
    origin.session_id = "own";
    origin.websocket = environment != nullptr;
    std::optional<RpcReply> got;
    HandleRpc(origin, *message, [&](RpcReply reply) {
      EXPECT_FALSE(got.has_value());
      got = std::move(reply);
    });
    EXPECT_TRUE(got.has_value());
    return got.value_or(RpcReply{});
  }
  json::object Call(const std::string& method, const json::object& params = {},
                    const std::shared_ptr<Environment>& environment = nullptr) {
    const RpcReply reply =
        Send(json::serialize(json::object{
                 {"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", params}}),
             environment);
    EXPECT_TRUE(reply.body.has_value());
    return reply.body.value_or(json::object{});
  }
  static int ErrorCode(const json::object& reply) {
    return static_cast<int>(GetInt(GetObject(reply, "error"), "code"));
  }
  int CodeOf(std::string_view text) { return ErrorCode(Send(text).body.value_or(json::object{})); }
  std::shared_ptr<Environment> Session() {
    http::Identity who;
    who.key_name = "local";
    return std::make_shared<Environment>(service_, who);
  }
  static json::object Data(const json::object& reply) {
    const json::object& result = GetObject(reply, "result");
    EXPECT_EQ(result.at("data"), result.at("structuredContent"));
    return GetObject(result, "data");
  }

  World world_;
  std::shared_ptr<Service> service_;
};

TEST_F(McpTest, WhatIsNoRequest) {
  EXPECT_EQ(CodeOf("{}"), kInvalidRequest);
  EXPECT_EQ(CodeOf("[]"), kInvalidRequest);
  EXPECT_EQ(CodeOf("3"), kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc": "1.0", "method": "ping"})"), kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc": "2.0", "method": "ping", "more": 1})"), kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc": "2.0", "method": "ping", "params": [1]})"), kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc": "2.0", "method": "ping", "id": 1.5})"), kInvalidRequest);
  EXPECT_EQ(CodeOf(R"({"jsonrpc": "2.0", "method": "dance", "id": 1})"), kMethodNotFound);
}

TEST_F(McpTest, TheHandshakeOfStandardClients) {
  const RpcReply reply = Send(R"({"jsonrpc": "2.0", "id": 0, "method": "initialize",
      "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}})");
  ASSERT_TRUE(reply.body.has_value());
  const json::object& result = GetObject(*reply.body, "result");
  EXPECT_EQ(GetString(result, "protocolVersion"), "2025-06-18");
  EXPECT_TRUE(GetObject(result, "capabilities").contains("tools"));
  EXPECT_FALSE(reply.session_id.empty());
  EXPECT_NE(service_->FindSession(reply.session_id, "local"), nullptr);
  EXPECT_FALSE(
      Send(R"({"jsonrpc": "2.0", "method": "notifications/initialized"})").body.has_value());
  EXPECT_TRUE(GetObject(Call("ping"), "result").empty());
}

TEST_F(McpTest, AnUnknownRevisionGetsOurs) {
  const json::object reply = Call("initialize", {{"protocolVersion", "1999-01-01"}});
  EXPECT_EQ(GetString(GetObject(reply, "result"), "protocolVersion"), "2025-11-25");
}

TEST_F(McpTest, ARequestWithoutAnIdIsAnswered) {
  const RpcReply reply = Send(R"({"jsonrpc": "2.0", "method": "ping"})");
  ASSERT_TRUE(reply.body.has_value());
  EXPECT_TRUE(reply.body->at("id").is_null());
}

TEST_F(McpTest, ToolsHaveSchemasAndNoReservedNames) {
  const json::array tools = GetArray(GetObject(Call("tools/list"), "result"), "tools");
  ASSERT_EQ(tools.size(), 4u);
  for (const json::value& tool : tools) {
    EXPECT_THAT(GetString(tool.as_object(), "name"),
                ::testing::Not(::testing::AnyOf("reset", "step", "state", "close")));
    EXPECT_EQ(GetString(GetObject(tool.as_object(), "inputSchema"), "type"), "object");
  }
}

TEST_F(McpTest, PlaysAnEpisodeByTools) {
  const std::shared_ptr<Environment> session = Session();
  const auto tool = [&](const char* name, json::object arguments) {
    return Data(Call("tools/call", {{"name", name}, {"arguments", std::move(arguments)}}, session));
  };
  EXPECT_TRUE(tool("submit_kernel", {{"code", "x"}}).contains("error")) << "no episode yet";
  EXPECT_EQ(GetString(tool("get_task", {{"task_id", "assay/relu"}}), "status"), "ready");
  EXPECT_EQ(GetString(tool("get_task", {}), "task_id"), "assay/relu") << "the same episode";
  EXPECT_EQ(GetString(tool("check_kernel", {{"code", "x = 1"}}), "op"), "check");
  EXPECT_FALSE(GetBool(world_.jobs.jobs().back().request->options, "time", true));
  const json::object submitted = tool("submit_kernel", {{"code", "x = 1"}});
  EXPECT_EQ(GetString(submitted, "status"), "correct");
  EXPECT_DOUBLE_EQ(GetDouble(submitted, "reward"), 0.3 + 2.7 * 0.5);
  const json::object best = tool("get_best", {});
  EXPECT_EQ(GetString(GetObject(best, "best"), "status"), "correct");
  EXPECT_EQ(GetInt(GetObject(best, "state"), "turn"), 1);
}

TEST_F(McpTest, WithoutASessionATaskMustBeNamed) {
  const auto call = [&](json::object arguments) {
    return GetObject(
        Call("tools/call", {{"name", "submit_kernel"}, {"arguments", std::move(arguments)}}),
        "result");
  };
  EXPECT_TRUE(GetBool(call({{"code", "x = 1"}}), "isError"));
  const json::object result = call({{"code", "x = 1"}, {"task_id", "assay/relu"}});
  EXPECT_FALSE(GetBool(result, "isError", true));
  EXPECT_EQ(GetString(GetObject(result, "data"), "status"), "correct");
}

TEST_F(McpTest, WrongCalls) {
  EXPECT_EQ(ErrorCode(Call("tools/call")), kInvalidParams);
  EXPECT_EQ(ErrorCode(Call("tools/call", {{"name", "dance"}})), kInvalidParams);
  EXPECT_EQ(ErrorCode(Call("tools/call", {{"name", "get_task"}, {"arguments", 5}})),
            kInvalidParams);
  EXPECT_EQ(ErrorCode(Call("tools/list", {{"session_id", "ses_none"}})), kInvalidParams);
  const json::object wrong = GetObject(
      Call("tools/call", {{"name", "submit_kernel"}, {"arguments", {{"kode", "x"}}}}), "result");
  EXPECT_TRUE(GetBool(wrong, "isError")) << "the model's mistake, told to the model";
}

TEST_F(McpTest, NamedSessions) {
  const std::string id =
      GetString(GetObject(Call("openenv/session/create"), "result"), "session_id");
  ASSERT_FALSE(id.empty());
  Call("tools/call",
       {{"name", "get_task"}, {"arguments", {{"task_id", "assay/relu"}}}, {"session_id", id}});
  const json::object best = Data(Call("tools/call", {{"name", "get_best"}, {"session_id", id}}));
  EXPECT_EQ(GetString(GetObject(best, "state"), "task_id"), "assay/relu");
  const json::object closed = Call("openenv/session/close", {{"session_id", id}});
  EXPECT_TRUE(GetBool(GetObject(closed, "result"), "closed"));
  EXPECT_EQ(ErrorCode(Call("openenv/session/close", {{"session_id", id}})), kInvalidParams);
  EXPECT_EQ(ErrorCode(Call("openenv/session/close")), kInvalidParams);
  EXPECT_EQ(
      GetString(GetObject(Call("openenv/session/create", {}, Session()), "result"), "session_id"),
      "own");
  EXPECT_EQ(ErrorCode(Call("openenv/session/close", {{"session_id", "own"}}, Session())),
            kInvalidRequest);
}

TEST_F(McpTest, CapacityIsAServerError) {
  world_.settings.max_sessions = 0;
  service_ = Service::Make(world_.Context());
  const Result<json::value> message =
      ParseJson(R"({"jsonrpc": "2.0", "id": 9, "method": "openenv/session/create"})");
  RpcOrigin origin;
  origin.service = service_;
  std::optional<json::object> got;
  HandleRpc(origin, *message, [&](RpcReply reply) { got = reply.body; });
  EXPECT_FALSE(got.has_value());
  world_.timers.Advance(Seconds(20));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(ErrorCode(*got), kServerError);
}

}  // namespace
}  // namespace assay::openenv
