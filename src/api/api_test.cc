#include <cctype>
#include <functional>
#include <set>

#include "api/api_testing.h"
#include "broker/export.h"

namespace assay {
namespace {

using test::ApiTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ApiTest, WrongRequestsAreToldHowToMendThem) {
  struct Case {
    const char* body;
    int status;
    const char* says;
  };
  for (const Case& wrong : {
           Case{"", 400, "not valid JSON"},
           Case{"[]", 400, "expected a JSON object"},
           Case{"{\"source\": \"\xff\"}", 400, "not valid JSON"},
           Case{R"({"task_id": "t"})", 422, "'source' is missing"},
           Case{R"({"source": 5})", 422, "'source' must be a string"},
           Case{R"({"source": "x", "sauce": 1})", 422, "no member 'sauce'"},
           Case{R"({"source": "x"})", 422, "name a task"},
           Case{R"({"source": "x", "task_id": "a", "task_source": "b"})", 422, "not both"},
           Case{R"({"source": "x", "task_id": "a", "priority": 101})", 422, "'priority'"},
           Case{R"({"source": "x", "task_id": "a", "priority": 1.5})", 422, "'priority'"},
           Case{R"({"source": "x", "task_id": "a", "priority": -101})", 422, "'priority'"},
           Case{R"({"source": "x", "task_id": "a", "priority": -9223372036854775808})", 422,
                "'priority'"},
           Case{R"({"source": "x", "task_id": "a", "options": []})", 422, "'options'"},
           Case{R"({"source": "x", "task_id": "a", "timeout_s": "1"})", 422, "'timeout_s'"},
           Case{R"({"source": "x", "task_id": "a", "timeout_s": -1})", 422, "time limit"},
           Case{R"({"source": "x", "task_id": "none"})", 404, "no task 'none'"},
       }) {
    const Answer answer = Ask("POST", "/v1/submissions", wrong.body);
    EXPECT_EQ(answer.status, wrong.status) << wrong.body;
    EXPECT_THAT(answer.message(), HasSubstr(wrong.says)) << wrong.body;
    EXPECT_EQ(GetString(GetObject(answer.body(), "error"), "request_id"), "r-1");
  }
  for (const char* target : {"/v1/submissions?wait=-1", "/v1/submissions?wait=soon"})
    EXPECT_EQ(Ask("POST", target, kGood).status, 400);
  EXPECT_EQ(broker_->Depth().queued, 0U);
}

TEST_F(ApiTest, WithoutAWaitItIsAcceptedAndJudgedLater) {
  const Answer answer = Ask("POST", "/v1/submissions", kGood);
  EXPECT_EQ(answer.status, 202);
  const std::string id = GetString(answer.body(), "id");
  EXPECT_EQ(answer.response.headers.Find("Location"), "/v1/submissions/" + id);
  EXPECT_EQ(GetString(answer.body(), "state"), "queued");
  EXPECT_TRUE(answer.body().at("verdict").is_null());
  EXPECT_EQ(Ask("GET", "/v1/submissions/" + id).status, 200);
  JudgeOne();
  const Answer done = Ask("GET", "/v1/submissions/" + id);
  EXPECT_EQ(GetString(done.body(), "status"), "incorrect");
  EXPECT_FALSE(GetObject(done.body(), "verdict").contains("raw"));
  EXPECT_TRUE(GetObject(Ask("GET", "/v1/submissions/" + id + "?raw=true").body(), "verdict")
                  .contains("raw"));
}

TEST_F(ApiTest, AnIdempotencyKeyIsTheSameJob) {
  const auto ask = [&](const char* body) {
    return Ask("POST", "/v1/submissions", body, "alice", http::Scope::kSubmit, "k1");
  };
  const std::string id = GetString(ask(kGood).body(), "id");
  EXPECT_EQ(GetString(ask(kGood).body(), "id"), id);
  const Answer conflict = ask(R"({"task_id": "assay/relu", "source": "other"})");
  EXPECT_EQ(conflict.status, 422);
  EXPECT_THAT(conflict.message(), HasSubstr("used before"));
}

TEST_F(ApiTest, AFullQueueSaysWhenToComeAgain) {
  BrokerLimits limits;
  limits.max_queued = 1;
  limits.expected_s = 7.2;
  Start(limits);
  EXPECT_EQ(Ask("POST", "/v1/submissions", kGood).status, 202);
  const Answer busy = Ask("POST", "/v1/submissions", kGood);
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.code(), "busy");
  EXPECT_EQ(busy.response.headers.Find("Retry-After"), "8");
  broker_->Drain();
  const Answer stopping = Ask("POST", "/v1/submissions", kGood);
  EXPECT_EQ(stopping.status, 503);
  EXPECT_EQ(stopping.response.headers.Find("Retry-After"), "10");
  EXPECT_TRUE(GetBool(Ask("GET", "/v1/queue").body(), "draining"));
}

TEST_F(ApiTest, OnesOwnAndNobodyElses) {
  const std::string id = SubmitId("alice");
  SubmitId("bob");
  for (const char* what : {"", "/source", "/events", "/reward"}) {
    const Answer answer = Ask("GET", "/v1/submissions/" + id + what, "", "bob");
    EXPECT_EQ(answer.status, 404) << what;
    EXPECT_EQ(answer.message(), "there is no submission '" + id + "'");
  }
  EXPECT_EQ(Ask("DELETE", "/v1/submissions/" + id, "", "bob").status, 404);
  EXPECT_EQ((*broker_->Get(id)).state, JobState::kQueued);
  EXPECT_EQ(Ask("GET", "/v1/submissions/" + id, "", "root", http::Scope::kAdmin).status, 200);
  const auto listed = [&](const std::string& target, const char* owner, http::Scope scope) {
    return GetArray(Ask("GET", target, "", owner, scope).body(), "submissions").size();
  };
  EXPECT_EQ(listed("/v1/submissions", "alice", http::Scope::kRead), 1U);
  EXPECT_EQ(listed("/v1/submissions?owner=bob", "alice", http::Scope::kRead), 1U);
  EXPECT_EQ(listed("/v1/submissions", "root", http::Scope::kAdmin), 2U);
  EXPECT_EQ(listed("/v1/submissions?owner=bob", "root", http::Scope::kAdmin), 1U);
  const json::array workers = GetArray(Ask("GET", "/v1/workers").body(), "workers");
  EXPECT_FALSE(workers.at(0).get_object().contains("working_on"));
}

TEST_F(ApiTest, NamesAreTheirOwnersAndTellNothing) {
  const auto body = [](const char* source) {
    return fmt::format(R"({{"id": "step-1", "task_id": "assay/relu", "source": "{}"}})", source);
  };
  const auto id_of = [](const Answer& answer) { return GetString(answer.body(), "id"); };
  EXPECT_EQ(id_of(Ask("POST", "/v1/submissions", body("of alice"), "alice")), "step-1");
  EXPECT_EQ(Ask("GET", "/v1/submissions/step-1", "", "bob").status, 404);
  const Answer other = Ask("POST", "/v1/submissions", body("of bob"), "bob");
  EXPECT_EQ(other.status, 202) << other.response.body;
  EXPECT_EQ(other.response.headers.Find("Location"), "/v1/submissions/step-1");
  // Each has the one, again and again; others' are nobody's.
  EXPECT_EQ(Ask("POST", "/v1/submissions", body("of alice"), "alice").status, 202);
  EXPECT_EQ(Ask("POST", "/v1/submissions", body("of bob"), "alice").status, 422);
  EXPECT_EQ(broker_->Depth().queued, 2U);
  for (const std::string owner : {"alice", "bob"}) {
    EXPECT_EQ(Ask("GET", "/v1/submissions/step-1/source", "", owner).response.body, "of " + owner);
    EXPECT_EQ(id_of(Ask("GET", "/v1/submissions/step-1", "", owner)), "step-1");
  }
  EXPECT_EQ(Ask("GET", "/v1/submissions/step-1@alice", "", "bob").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/submissions/step-1@alice", "", "alice").status, 200);
  // An admin has names of its own, and sees whose the others are.
  EXPECT_EQ(Ask("GET", "/v1/submissions/step-1", "", "root", http::Scope::kAdmin).status, 404);
  const json::object listed =
      Ask("GET", "/v1/submissions?owner=bob", "", "root", http::Scope::kAdmin).body();
  const std::string id = GetString(GetArray(listed, "submissions").at(0).get_object(), "id");
  EXPECT_EQ(id, "step-1@bob");
  EXPECT_EQ(Ask("DELETE", "/v1/submissions/" + id, "", "root", http::Scope::kAdmin).status, 200);
  // Nobody can set another's name behind one's own, and where there are no keys names are ids.
  const char* forged = R"({"id": "x@alice", "task_id": "assay/relu", "source": "x"})";
  EXPECT_EQ(Ask("POST", "/v1/submissions", forged, "bob").status, 422);
  EXPECT_EQ(Ask("POST", "/v1/submissions", body("x"), "local").status, 202);
  EXPECT_TRUE(broker_->Get("step-1").ok());
}

TEST_F(ApiTest, PagesGoThroughEverythingOnce) {
  std::set<std::string> all;
  for (int i = 0; i < 7; ++i) all.insert(SubmitId());
  std::set<std::string> seen;
  std::string cursor;
  for (int page = 0; page < 4; ++page) {
    const json::object body = Ask("GET", "/v1/submissions?limit=2" + cursor).body();
    for (const json::value& job : GetArray(body, "submissions"))
      EXPECT_TRUE(seen.insert(GetString(job.get_object(), "id")).second);
    EXPECT_EQ(body.at("next").is_null(), page == 3);
    cursor = "&cursor=" + GetString(body, "next");
  }
  EXPECT_EQ(seen, all);
  EXPECT_EQ(Ask("GET", "/v1/submissions?limit=0").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/submissions?limit=1000").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/submissions?cursor=x").status, 400);
  EXPECT_EQ(Ask("GET", "/v1/submissions?state=dead").status, 400);
}

TEST_F(ApiTest, CancelEndsWhatWaitsAndAsksWhatRuns) {
  const std::string running = SubmitId();
  const std::string waiting = SubmitId();
  const Delivery delivery = LeaseOne();
  EXPECT_EQ(Ask("DELETE", "/v1/submissions/" + waiting).status, 200);
  EXPECT_EQ(Ask("DELETE", "/v1/submissions/" + running).status, 202);
  EXPECT_TRUE(*delivery.cancelled);
  EXPECT_EQ(Ask("DELETE", "/v1/submissions/none").status, 404);
}

TEST_F(ApiTest, TheSourceComesBackAsItWas) {
  const std::string id = SubmitId();
  const Answer answer = Ask("GET", "/v1/submissions/" + id + "/source");
  EXPECT_EQ(answer.response.body, "class ModelNew: 1");
  EXPECT_EQ(answer.response.headers.Find("X-Content-Type-Options"), "nosniff");
}

TEST_F(ApiTest, ATraceIsTheRowOfAnExport) {
  const std::string id = SubmitId();
  JudgeOne("incorrect");
  const Answer brief = Ask("GET", "/v1/traces/" + id);
  EXPECT_EQ(brief.status, 200);
  EXPECT_EQ(brief.response.body, json::serialize(ExportRow(*broker_->Get(id), /*raw=*/false)));
  EXPECT_EQ(Ask("GET", "/v1/traces/" + id + "?raw=true").response.body,
            json::serialize(ExportRow(*broker_->Get(id), /*raw=*/true)));
  EXPECT_EQ(Ask("GET", "/v1/traces/" + id, "", "bob").status, 404);
}

TEST_F(ApiTest, EpisodesAreTheirOwners) {
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(broker_->documents()
                    ->Put("test.episode", "token-" + std::to_string(i),
                          {{"owner", i % 2 == 0 ? "alice" : "bob"},
                           {"updated_at", 100 + i},
                           {"last", {{"status", "correct"}}},
                           {"episode",
                            {{"episode_id", "ep-" + std::to_string(i)},
                             {"task_id", "assay/relu"},
                             {"turn", 1},
                             {"done_reason", i == 4 ? "turn_limit" : ""},
                             {"tickets", {{{"id", "sub-1"}, {"turn", 1}}}}}}})
                    .ok());
  const auto page = [&](const std::string& query, const std::string& owner = "alice",
                        http::Scope scope = http::Scope::kRead) {
    return Ask("GET", "/v1/episodes" + query, "", owner, scope).body();
  };
  const auto tokens = [](const json::object& body) {
    std::vector<std::string> found;
    for (const json::value& episode : GetArray(body, "episodes"))
      found.push_back(GetString(episode.as_object(), "token"));
    return found;
  };
  EXPECT_THAT(tokens(page("")), ElementsAre("token-4", "token-2", "token-0"));
  EXPECT_EQ(tokens(page("", "root", http::Scope::kAdmin)).size(), 6U);
  EXPECT_THAT(tokens(page("?task_id=none")), IsEmpty());
  EXPECT_TRUE(GetBool(GetArray(page(""), "episodes").at(0).as_object(), "done"));

  const json::object first = page("?limit=2");
  EXPECT_THAT(tokens(first), ElementsAre("token-4", "token-2"));
  const json::object second = page("?limit=2&cursor=" + GetString(first, "next"));
  EXPECT_THAT(tokens(second), ElementsAre("token-0"));
  EXPECT_TRUE(second.at("next").is_null());

  for (const char* name : {"token-2", "ep-2"}) {
    const json::object one = Ask("GET", std::string("/v1/episodes/") + name).body();
    EXPECT_EQ(GetString(one, "token"), "token-2");
    EXPECT_EQ(GetString(GetObject(one, "last"), "status"), "correct");
    EXPECT_EQ(GetArray(one, "submissions").size(), 1U);
    EXPECT_EQ(Ask("GET", std::string("/v1/episodes/") + name, "", "bob").status, 404);
  }
}

TEST_F(ApiTest, Tasks) {
  const json::object page = Ask("GET", "/v1/tasks?limit=2").body();
  EXPECT_EQ(GetArray(page, "tasks").size(), 2U);
  EXPECT_EQ(GetInt(page, "total"), 3);
  EXPECT_EQ(GetString(page, "next"), "2");
  EXPECT_FALSE(GetArray(page, "tasks").at(0).get_object().contains("source"));
  EXPECT_TRUE(Ask("GET", "/v1/tasks?limit=2&cursor=2").body().at("next").is_null());
  EXPECT_EQ(GetInt(Ask("GET", "/v1/tasks?level=1").body(), "total"), 1);
  EXPECT_EQ(GetInt(Ask("GET", "/v1/tasks?family=none").body(), "total"), 0);
  EXPECT_THAT(GetString(Ask("GET", "/v1/tasks/kb/l1/19").body(), "source"), HasSubstr("kb/l1/19"));
  EXPECT_EQ(Ask("GET", "/v1/tasks/kb/l9/99").status, 404);
  EXPECT_EQ(Ask("GET", "/v1/tasks?limit=many").status, 400);
}

TEST_F(ApiTest, Rewards) {
  EXPECT_FALSE(GetArray(Ask("GET", "/v1/rewards").body(), "modes").empty());
  const std::string id = SubmitId();
  EXPECT_EQ(Ask("GET", "/v1/submissions/" + id + "/reward").status, 409);
  ASSERT_TRUE(broker_->Cancel(id).ok());
  const Answer masked = Ask("GET", "/v1/submissions/" + id + "/reward");
  EXPECT_EQ(masked.status, 200) << masked.response.body;
  EXPECT_TRUE(GetBool(masked.body(), "masked"));
  EXPECT_EQ(Ask("GET", "/v1/submissions/" + id + "/reward?mode=none").status, 404);
  const std::string verdict = json::serialize((*broker_->Get(id)).verdict);
  EXPECT_EQ(Ask("POST", "/v1/rewards", "{\"verdict\": " + verdict + "}").status, 200);
  EXPECT_EQ(Ask("POST", "/v1/rewards", "{\"verdict\": 5}").status, 400);
  EXPECT_EQ(Ask("POST", "/v1/rewards", R"({"verdict": {}, "mod": "x"})").status, 400);
  EXPECT_EQ(Ask("POST", "/v1/rewards", R"({"verdict": {}})").status, 422);
}

TEST_F(ApiTest, TheDocumentAndTheRoutesAreOne) {
  const json::object document = Ask("GET", "/v1/openapi.json").body();
  EXPECT_EQ(GetString(document, "openapi"), "3.1.0");
  std::set<std::string> ids;
  for (const auto& [path, methods] : GetObject(document, "paths"))
    for (const auto& [method, operation] : methods.get_object()) {
      EXPECT_TRUE(ids.insert(GetString(operation.get_object(), "operationId")).second);
      // Each is there: whatever it answers, it is no 405 and no unknown path.
      std::string target(path);
      if (const size_t at = target.find("{id}"); at != std::string::npos)
        target.replace(at, 4, "some-id");
      std::string upper(method);
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      const Answer answer = Ask(upper, target);
      EXPECT_NE(answer.status, 405) << upper << " " << target;
      if (answer.status == 404) {
        EXPECT_THAT(answer.message(), HasSubstr("some-id"));
      }
    }
  EXPECT_EQ(ids.size(), 22U);
}

TEST_F(ApiTest, EveryReferenceOfTheDocumentLeadsSomewhere) {
  const json::object document = Ask("GET", "/v1/openapi.json").body();
  const json::object& schemas = GetObject(GetObject(document, "components"), "schemas");
  const std::function<void(const json::value&)> check = [&](const json::value& value) {
    if (value.is_array())
      for (const json::value& item : value.get_array()) check(item);
    if (!value.is_object()) return;
    for (const auto& [key, item] : value.get_object()) {
      check(item);
      if (key != "$ref" || !item.is_string()) continue;
      const std::string_view target = item.get_string();
      EXPECT_TRUE(target.starts_with("#/components/schemas/")) << target;
      EXPECT_TRUE(schemas.contains(target.substr(target.rfind('/') + 1))) << target;
    }
  };
  check(document);
  EXPECT_TRUE(schemas.contains("Verdict"));
}

TEST_F(ApiTest, ScopesAreKept) {
  const auto as = [&](const char* method, const char* target, http::Scope scope) {
    return Ask(method, target, "", "alice", scope).status;
  };
  EXPECT_EQ(as("POST", "/v1/submissions", http::Scope::kRead), 403);
  EXPECT_EQ(as("DELETE", "/v1/submissions/x", http::Scope::kRead), 403);
  EXPECT_EQ(as("POST", "/v1/batches", http::Scope::kRead), 403);
  EXPECT_EQ(as("GET", "/v1/queue", http::Scope::kNone), 401);
  EXPECT_EQ(as("GET", "/v1/openapi.json", http::Scope::kNone), 200);
}

}  // namespace
}  // namespace assay
