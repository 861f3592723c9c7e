#include "openenv/routes.h"

#include <gmock/gmock.h>

#include <atomic>

#include "openenv/openenv.h"
#include "openenv/schema.h"
#include "openenv/testing.h"

namespace assay::openenv {
namespace {

using testing::CorrectVerdict;
using testing::World;

/// The HTTP surface, without a network.
class RoutesTest : public ::testing::Test {
 protected:
  explicit RoutesTest(Settings settings = {}) : world_(std::move(settings)) {
    world_.jobs.verdict = CorrectVerdict(2, 0.5);
    AddOpenEnv(&router_, world_.Context());
  }

  http::Response Send(const std::string& method, const std::string& path,
                      const std::string& body = "",
                      const std::vector<std::pair<std::string, std::string>>& headers = {}) {
    http::Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.who.key_name = "local";
    request.who.scope = http::Scope::kAdmin;
    for (auto& [name, value] : headers) request.headers.Add(name, value);
    std::optional<http::Response> got;
    router_.Dispatch(std::move(request), [&](http::Response response) {
      EXPECT_FALSE(got.has_value()) << "answered twice";
      got = std::move(response);
    });
    answered_ = got.has_value();
    return got.value_or(http::Response{});
  }
  http::Response Get(const std::string& path) { return Send("GET", path); }
  http::Response Post(const std::string& path, const std::string& body) {
    return Send("POST", path, body);
  }

  static json::object Body(const http::Response& response) {
    const Result<json::object> body = ParseJsonObject(response.body);
    EXPECT_TRUE(body.ok()) << response.status << " " << response.body;
    return body.ok() ? *body : json::object{};
  }
  static json::object Observation(const http::Response& response) {
    EXPECT_EQ(response.status, 200) << response.body;
    return GetObject(Body(response), "observation");
  }
  /// The first error's location, joined by dots.
  static std::string Where(const http::Response& response) {
    EXPECT_EQ(response.status, 422) << response.body;
    const json::array detail = GetArray(Body(response), "detail");
    if (detail.empty()) return "";
    EXPECT_FALSE(GetString(detail[0].as_object(), "type").empty());
    EXPECT_FALSE(GetString(detail[0].as_object(), "msg").empty());
    return json::serialize(detail[0].as_object().at("loc"));
  }

  World world_;
  http::Router router_;
  bool answered_ = false;
};

// What `openenv validate --url` asks, and what it must see.
TEST_F(RoutesTest, TheSixCriteriaOfValidation) {
  const json::object api = Body(Get("/openapi.json"));
  EXPECT_TRUE(GetString(GetObject(api, "info"), "version").starts_with("1."));
  for (const char* path : {"/reset", "/step", "/state", "/health", "/schema", "/metadata", "/mcp"})
    EXPECT_TRUE(GetObject(api, "paths").contains(path)) << path;
  EXPECT_EQ(GetString(Body(Get("/health")), "status"), "healthy");
  EXPECT_EQ(GetString(Body(Get("/metadata")), "name"), "kernel_env");
  EXPECT_FALSE(GetString(Body(Get("/metadata")), "description").empty());
  EXPECT_EQ(GetString(Body(Get("/metadata")), "task_set_sha256").size(), 64u);
  for (const char* part : {"action", "observation", "state"})
    EXPECT_TRUE(Body(Get("/schema")).at(part).is_object());
  const http::Response rpc = Post("/mcp", "{}");
  EXPECT_EQ(rpc.status, 200);
  EXPECT_EQ(GetString(Body(rpc), "jsonrpc"), "2.0");
  EXPECT_EQ(GetInt(GetObject(Body(rpc), "error"), "code"), -32600);
}

TEST_F(RoutesTest, OneFieldIsRequiredAndTheTitleIsOurs) {
  const json::object action = GetObject(Body(Get("/schema")), "action");
  EXPECT_EQ(json::serialize(action.at("required")), "[\"code\"]");
  EXPECT_EQ(GetString(action, "title"), "KernelAction");
}

TEST_F(RoutesTest, StatelessResetStepAndState) {
  EXPECT_EQ(GetString(Observation(Post("/reset", "")), "status"), "ready");
  EXPECT_EQ(GetString(Observation(Post("/reset", R"({"task_id": "kb/l1/019"})")), "task_id"),
            "kb/l1/019");
  const http::Response step =
      Post("/step", R"({"action": {"task_id": "assay/relu", "code": "class ModelNew: pass"}})");
  EXPECT_EQ(GetString(Observation(step), "status"), "correct");
  EXPECT_TRUE(GetBool(Body(step), "done"));
  EXPECT_DOUBLE_EQ(GetDouble(Body(step), "reward"), 0.3 + 2.7 * 0.5);
  const json::object state = Body(Get("/state"));
  EXPECT_TRUE(state.at("episode_id").is_null());
  EXPECT_EQ(GetInt(state, "step_count"), 0);
  EXPECT_EQ(world_.jobs.jobs().size(), 1u);
}

TEST_F(RoutesTest, WrongBodiesAre422) {
  EXPECT_EQ(Where(Post("/reset", R"({"seed": -1})")), R"(["body","seed"])");
  EXPECT_EQ(Where(Post("/reset", R"({"seed": 1.5})")), R"(["body","seed"])");
  EXPECT_EQ(Where(Post("/reset", R"({"episode_id": ")" + std::string(256, 'e') + "\"}")),
            R"(["body","episode_id"])");
  EXPECT_EQ(Where(Post("/reset", "{")), R"(["body",1])");
  EXPECT_EQ(Where(Post("/reset", R"({"seed": 1, x})")), R"(["body",12])");
  EXPECT_EQ(Where(Post("/step", "")), R"(["body"])");
  EXPECT_EQ(Where(Post("/step", "[]")), R"(["body"])");
  EXPECT_EQ(Where(Post("/step", "{}")), R"(["body","action"])");
  EXPECT_EQ(Where(Post("/step", R"({"action": 1})")), R"(["body","action"])");
  EXPECT_EQ(Where(Post("/step", R"({"action": {"code": "x"}, "timeout_s": 0})")),
            R"(["body","timeout_s"])");
  EXPECT_EQ(Where(Post("/step", R"({"action": {"task_id": "assay/relu"}})")), R"(["code"])")
      << "relative to the action";
  EXPECT_EQ(Where(Post("/step", R"({"action": {"code": "x"}})")), R"(["task_id"])");
  EXPECT_EQ(Where(Post("/step", R"({"action": {"code": "x", "task_id": "no/such"}})")),
            R"(["task_id"])");
}

TEST_F(RoutesTest, RefusalsHaveADetail) {
  const http::Response unknown = Get("/nope");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.body, R"({"detail":"Not Found"})");
  const http::Response method = Get("/reset");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(GetString(Body(method), "detail"), "Method Not Allowed");
  EXPECT_EQ(Post("/reset", R"({"task_id": "no/such"})").status, 400);
}

TEST_F(RoutesTest, ALongJudgementOverHttpIsATicket) {
  world_.jobs.verdict.reset();
  std::optional<http::Response> got;
  http::Request request;
  request.method = "POST";
  request.path = "/step";
  request.body = R"({"action": {"task_id": "assay/relu", "code": "x = 1"}, "timeout_s": 10})";
  request.who.key_name = "local";
  request.who.scope = http::Scope::kAdmin;
  router_.Dispatch(request, [&](http::Response response) { got = std::move(response); });
  EXPECT_FALSE(got.has_value());
  world_.timers.Advance(Seconds(10));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(GetString(Observation(*got), "status"), "queued");
  const std::string ticket = GetString(Observation(*got), "ticket");
  world_.jobs.FinishNext(CorrectVerdict(2, 0.5));
  const std::string poll =
      R"({"action": {"op": "poll", "code": "", "ticket": ")" + ticket + R"("}})";
  const http::Response result = Post("/step", poll);
  EXPECT_EQ(GetString(Observation(result), "status"), "correct");
  EXPECT_DOUBLE_EQ(GetDouble(Body(result), "reward"), 0.3 + 2.7 * 0.5);

  request.body = poll;
  request.who.key_name = "somebody else";
  router_.Dispatch(request, [&](http::Response response) { got = std::move(response); });
  EXPECT_EQ(got->status, 422) << "tickets belong to their owner";
}

TEST_F(RoutesTest, NothingIsJudgedForAClientThatLeft) {
  world_.jobs.verdict.reset();
  const auto gone = std::make_shared<std::atomic<bool>>(false);
  std::optional<http::Response> got;
  http::Request request;
  request.method = "POST";
  request.path = "/step";
  request.body = R"({"action": {"task_id": "assay/relu", "code": "x = 1"}})";
  request.who.key_name = "local";
  request.who.scope = http::Scope::kAdmin;
  request.gone = gone;
  router_.Dispatch(request, [&](http::Response response) { got = std::move(response); });
  world_.timers.Advance(Seconds(3));
  EXPECT_TRUE(world_.jobs.cancelled.empty());
  gone->store(true);
  world_.timers.Advance(Seconds(2));
  EXPECT_EQ(world_.jobs.cancelled.size(), 1u);
  EXPECT_TRUE(got.has_value());

  // One that was told its ticket may come back for it.
  gone->store(false);
  request.body = R"({"action": {"task_id": "assay/relu", "code": "x = 1", "defer": true}})";
  router_.Dispatch(request, [&](http::Response response) { got = std::move(response); });
  EXPECT_EQ(GetString(Observation(*got), "status"), "queued");
  gone->store(true);
  world_.timers.Advance(Seconds(3));
  EXPECT_EQ(world_.jobs.cancelled.size(), 1u);
}

TEST_F(RoutesTest, ToLookAtANewSessionMakesNone) {
  const http::Response state = Send("GET", "/state", "", {{"X-OpenEnv-Session", "new"}});
  EXPECT_EQ(state.status, 200);
  EXPECT_TRUE(Body(state).at("episode_id").is_null());
  EXPECT_FALSE(state.headers.Find("X-OpenEnv-Session").has_value());
  EXPECT_EQ(GetInt(Body(Get("/health")), "sessions"), 0);
}

TEST_F(RoutesTest, ASessionByHeader) {
  const http::Response begun =
      Send("POST", "/reset", R"({"task_id": "assay/relu"})", {{"X-OpenEnv-Session", "new"}});
  const std::string session(begun.headers.Find("X-OpenEnv-Session").value_or(""));
  ASSERT_FALSE(session.empty());
  Send("POST", "/step", R"({"action": {"code": "x = 1"}})", {{"X-OpenEnv-Session", session}});
  const http::Response state = Send("GET", "/state", "", {{"X-OpenEnv-Session", session}});
  EXPECT_EQ(GetInt(Body(state), "step_count"), 1);
  EXPECT_EQ(Send("GET", "/state", "", {{"X-OpenEnv-Session", "ses_none"}}).status, 404);
}

TEST_F(RoutesTest, ANewSessionWhoseFirstRequestFailsIsNotKept) {
  const std::vector<std::pair<std::string, std::string>> fresh{{"X-OpenEnv-Session", "new"}};
  const http::Response reset = Send("POST", "/reset", R"({"task_id": "no/such"})", fresh);
  EXPECT_EQ(reset.status, 400);
  EXPECT_FALSE(reset.headers.Find("X-OpenEnv-Session").has_value());
  EXPECT_EQ(Send("POST", "/step", R"({"action": {"code": "x = 1"}})", fresh).status, 400);
  EXPECT_EQ(GetInt(Body(Get("/health")), "sessions"), 0);
  EXPECT_EQ(Send("POST", "/reset", "", fresh).status, 200);
  EXPECT_EQ(GetInt(Body(Get("/health")), "sessions"), 1);
}

TEST_F(RoutesTest, AStepWhoseEpisodeIsResetElsewhereIsAConflict) {
  world_.jobs.verdict.reset();
  const http::Response begun = Send("POST", "/reset", "", {{"X-OpenEnv-Session", "new"}});
  const std::string session(begun.headers.Find("X-OpenEnv-Session").value_or(""));
  std::optional<http::Response> got;
  http::Request step;
  step.method = "POST";
  step.path = "/step";
  step.body = R"({"action": {"code": "x = 1"}})";
  step.headers.Add("X-OpenEnv-Session", session);
  step.who.key_name = "local";
  step.who.scope = http::Scope::kAdmin;
  router_.Dispatch(step, [&](http::Response response) { got = std::move(response); });
  EXPECT_FALSE(got.has_value());
  Send("POST", "/reset", "", {{"X-OpenEnv-Session", session}});
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->status, 409);
  EXPECT_EQ(world_.jobs.cancelled.size(), 1u);
}

TEST_F(RoutesTest, TaskApi) {
  EXPECT_EQ(Get("/list_environments").body, R"(["kernel_env"])");
  EXPECT_EQ(Get("/kernel_env/splits").body,
            R"([{"name":"train","type":"train"},{"name":"assay","type":"validation"},)"
            R"({"name":"kb/l1","type":"validation"}])");
  EXPECT_EQ(Get("/Kernel_Env/splits").status, 200) << "the name's case does not matter";
  EXPECT_EQ(Get("/other_env/splits").status, 404);
  EXPECT_EQ(GetInt(Body(Post("/kernel_env/num_tasks", R"({"split": "train"})")), "num_tasks"), 2);
  const json::object task =
      GetObject(Body(Post("/kernel_env/task", R"({"split": "train", "index": 1})")), "task");
  EXPECT_EQ(GetString(task, "task_id"), "kb/l1/019");
  EXPECT_EQ(GetString(task, "suite"), "kb/l1");
  EXPECT_FALSE(GetString(task, "reference_code").empty());
  EXPECT_EQ(Post("/kernel_env/task", R"({"split": "train", "index": 2})").status, 400);
  EXPECT_EQ(Post("/kernel_env/task", R"({"split": "train", "index": -1})").status, 400);
  EXPECT_EQ(Where(Post("/kernel_env/task", R"({"split": "train"})")), R"(["body","index"])");
  EXPECT_EQ(Where(Post("/kernel_env/num_tasks", "{}")), R"(["body","split"])");
  EXPECT_EQ(Post("/kernel_env/num_tasks", R"({"split": "moon"})").status, 400);
  const auto range = [&](const std::string& bounds) {
    return GetArray(Body(Post("/kernel_env/task_range", R"({"split": "train")" + bounds + "}")),
                    "tasks")
        .size();
  };
  EXPECT_EQ(range(""), 2u);
  EXPECT_EQ(range(R"(, "start": 1)"), 1u);
  EXPECT_EQ(range(R"(, "start": 0, "stop": 99)"), 2u);
  EXPECT_EQ(range(R"(, "start": -1)"), 1u);
  EXPECT_EQ(GetArray(Body(Post("/kernel_env/tasks", R"({"split": "assay"})")), "tasks").size(), 1u);
}

TEST_F(RoutesTest, ThePagesOfTheApi) {
  for (const char* path : {"/docs", "/redoc"}) {
    const http::Response page = Get(path);
    EXPECT_EQ(page.status, 200);
    EXPECT_THAT(page.body, ::testing::HasSubstr("<td>POST</td><td><code>/reset</code></td>"));
    EXPECT_TRUE(page.body.ends_with("</html>\n"));
  }
}

TEST_F(RoutesTest, ThePageAndItsRoutes) {
  const http::Response home = Get("/web");
  EXPECT_EQ(home.status, 307);
  EXPECT_EQ(home.headers.Find("Location"), "/web/");
  const http::Response page = Get("/web/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.body.find("<title>Kernel Env</title>"), std::string::npos);
  EXPECT_TRUE(page.body.ends_with("</html>\n")) << "embedded whole";
  EXPECT_EQ(page.body.find("src=\"http"), std::string::npos) << "no assets from elsewhere";

  EXPECT_EQ(Get("/web/state").status, 409);
  const http::Response begun = Post("/web/reset", R"({"task_id": "assay/relu"})");
  const std::string cookie(begun.headers.Find("Set-Cookie").value_or(""));
  EXPECT_THAT(cookie, ::testing::HasSubstr("SameSite=Strict"));
  const std::string value = cookie.substr(0, cookie.find(';'));
  const http::Response step =
      Send("POST", "/web/step", R"({"action": {"code": "x = 1"}})", {{"Cookie", "a=b; " + value}});
  EXPECT_EQ(GetString(Observation(step), "status"), "correct");
  EXPECT_EQ(GetInt(Body(Send("GET", "/web/state", "", {{"Cookie", value}})), "step_count"), 1);
  const http::Response other = Post("/web/step", R"({"action": {"code": "x = 1"}})");
  EXPECT_EQ(other.status, 400) << "another visitor has no episode";
}

class VisitorsTest : public RoutesTest {
 protected:
  VisitorsTest()
      : RoutesTest([] {
          Settings settings;
          settings.max_web_sessions = 2;
          return settings;
        }()) {}

  /// The cookie of a new visitor with an episode; empty when there is no place for one.
  std::string Visit() {
    const http::Response begun = Post("/web/reset", R"({"task_id": "assay/relu"})");
    const std::string cookie(begun.headers.Find("Set-Cookie").value_or(""));
    return cookie.substr(0, cookie.find(';'));
  }
  int State(const std::string& cookie) {
    return Send("GET", "/web/state", "", {{"Cookie", cookie}}).status;
  }
  void Step(const std::string& cookie) {
    Send("POST", "/web/step", R"({"action": {"code": "x = 1"}})", {{"Cookie", cookie}});
  }
  void Watch(const std::string& key) {
    http::Request request;
    request.path = "/ws/ui";
    request.who.key_name = key;
    request.who.scope = http::Scope::kRead;
    http::Response refusal;
    const http::WebSocketFactory* factory = router_.FindWebSocket(&request, &refusal);
    ASSERT_NE(factory, nullptr);
    auto peer = std::make_shared<testing::FakePeer>();
    const std::unique_ptr<http::WebSocketSession> session = (*factory)(request, peer);
    session->OnOpen();
    EXPECT_EQ(GetString(peer->Last(), "type"), "state_update");
    session->OnClose();
  }
};

TEST_F(VisitorsTest, WhoOnlyLooksPushesNobodyOut) {
  const std::string first = Visit();
  for (int i = 0; i < 5; ++i) Watch(i % 2 == 0 ? "local" : "reader");
  EXPECT_EQ(State(first), 200);
}

TEST_F(VisitorsTest, AFullHouseTakesTheOldestThatJudgesNothing) {
  world_.jobs.verdict.reset();
  const std::string first = Visit();
  Step(first);
  const std::string second = Visit();
  const std::string third = Visit();
  EXPECT_EQ(State(first), 200) << "its submission is being judged";
  EXPECT_EQ(State(second), 409);
  EXPECT_EQ(State(third), 200);
  EXPECT_TRUE(world_.jobs.cancelled.empty());
  Step(third);
  EXPECT_EQ(Visit(), "");
  EXPECT_EQ(Post("/web/reset", "").status, 503);
}

class FullRoutesTest : public RoutesTest {
 protected:
  FullRoutesTest() : RoutesTest(One()) {}
  static Settings One() {
    Settings settings;
    settings.max_sessions = 1;
    return settings;
  }
  /// Waits for a session; what it says when one is free.
  std::shared_ptr<std::optional<http::Response>> Wait(http::Request request) {
    auto got = std::make_shared<std::optional<http::Response>>();
    request.method = "POST";
    request.who.key_name = "local";
    request.who.scope = http::Scope::kAdmin;
    request.gone = gone_;
    router_.Dispatch(std::move(request),
                     [got](http::Response response) { *got = std::move(response); });
    return got;
  }

  std::shared_ptr<std::atomic<bool>> gone_ = std::make_shared<std::atomic<bool>>(false);
};

// It would be there for nobody until it had been idle for long.
TEST_F(FullRoutesTest, AClientThatLeftWhileItWaitedGetsNoSession) {
  const http::Response held = Send("POST", "/reset", "{}", {{"X-OpenEnv-Session", "new"}});
  const std::string id(held.headers.Find("X-OpenEnv-Session").value_or(""));
  ASSERT_FALSE(id.empty());
  http::Request reset;
  reset.path = "/reset";
  reset.headers.Add("X-OpenEnv-Session", "new");
  const auto first = Wait(reset);
  http::Request initialize;
  initialize.path = "/mcp";
  initialize.body = R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})";
  const auto second = Wait(initialize);
  EXPECT_FALSE(first->has_value() || second->has_value()) << "both wait";
  gone_->store(true);
  Post("/mcp", R"({"jsonrpc": "2.0", "id": 2, "method": "openenv/session/close",
                   "params": {"session_id": ")" +
                   id + "\"}}");
  EXPECT_TRUE(first->has_value() && second->has_value());
  EXPECT_EQ(GetInt(Body(Get("/health")), "sessions"), 0);
}

class ProductionRoutesTest : public RoutesTest {
 protected:
  ProductionRoutesTest()
      : RoutesTest([] {
          Settings settings;
          settings.production = true;
          settings.web = false;
          return settings;
        }()) {}
};

TEST_F(ProductionRoutesTest, HasNoControlRoutes) {
  EXPECT_EQ(Post("/reset", "{}").status, 404);
  EXPECT_EQ(Post("/step", "{}").status, 404);
  EXPECT_EQ(Get("/state").status, 404);
  EXPECT_EQ(Get("/web/").status, 404);
  const json::object paths = GetObject(Body(Get("/openapi.json")), "paths");
  for (const char* path : {"/reset", "/step", "/state"}) EXPECT_FALSE(paths.contains(path)) << path;
  EXPECT_FALSE(paths.empty());
}

}  // namespace
}  // namespace assay::openenv
