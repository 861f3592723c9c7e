#include "api/api.h"

#include <atomic>
#include <cctype>
#include <mutex>

#include "api/operations.h"
#include "base/strings.h"
#include "broker/broker_testing.h"
#include "task/task_testing.h"

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Timers that fire when the test says so.
class ManualTimers final : public http::Timers {
 public:
  std::shared_ptr<void> After(Seconds delay, std::function<void()> action) override {
    const std::lock_guard guard(mutex_);
    auto entry = std::make_shared<Entry>(Entry{delay, std::move(action)});
    entries_.push_back(entry);
    return entry;
  }
  /// Fires what is armed; how many there were.
  size_t Fire() {
    std::vector<std::weak_ptr<Entry>> entries;
    {
      const std::lock_guard guard(mutex_);
      entries.swap(entries_);
    }
    size_t fired = 0;
    for (const auto& weak : entries)
      if (const std::shared_ptr<Entry> entry = weak.lock()) {
        ++fired;
        const std::function<void()> action = std::move(entry->action);
        action();
      }
    return fired;
  }
  std::vector<double> Delays() {
    const std::lock_guard guard(mutex_);
    std::vector<double> delays;
    for (const auto& weak : entries_)
      if (const std::shared_ptr<Entry> entry = weak.lock()) delays.push_back(entry->delay.count());
    return delays;
  }

 private:
  struct Entry {
    Seconds delay;
    std::function<void()> action;
  };
  std::mutex mutex_;
  std::vector<std::weak_ptr<Entry>> entries_;
};

class RecordedBody final : public http::BodyStream {
 public:
  explicit RecordedBody(size_t pieces) : left_(pieces) {}
  bool Write(std::string piece) override {
    const std::lock_guard guard(mutex_);
    if (left_ == 0) return false;
    --left_;
    text_ += piece;
    return true;
  }
  void End() override {
    const std::lock_guard guard(mutex_);
    ++ends_;
  }
  std::string text() {
    const std::lock_guard guard(mutex_);
    return text_;
  }
  int ends() {
    const std::lock_guard guard(mutex_);
    return ends_;
  }

 private:
  std::mutex mutex_;
  size_t left_;
  std::string text_;
  int ends_ = 0;
};

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    auto tasks = std::make_shared<TaskRegistry>();
    for (const char* id : {"assay/relu", "assay/gelu", "kb/l1/19"}) {
      Task task;
      task.id = id;
      task.source = TaskSource(id);
      task.level = id[0] == 'k' ? 1 : 0;
      task.family = "activation";
      Result<Task> made = MakeTask(std::move(task));
      EXPECT_TRUE(made.ok() && tasks->Add(*std::move(made)).ok());
    }
    tasks_ = tasks;
    Start({});
  }

  void Start(BrokerLimits limits, ApiLimits api_limits = {}) {
    router_ = std::make_unique<http::Router>();
    BrokerOptions options;
    options.limits = limits;
    options.check = [](const JobRequest& request) -> Status {
      if (request.task_id == "none") return Err(ErrorCode::kNotFound, "no task 'none'");
      return {};
    };
    broker_ = test::OpenBroker(options);
    ApiContext context;
    context.jobs = broker_.get();
    context.timers = &timers_;
    context.tasks = tasks_;
    context.version = "1.2.3";
    context.limits = api_limits;
    context.workers = [] {
      return json::array{json::object{{"name", "cuda:0"}, {"working_on", {"sub-1"}}}};
    };
    AddApi(router_.get(), std::move(context));
  }

  struct Answer {
    int status = 0;  ///< 0: none yet
    http::Response response;
    [[nodiscard]] json::object body() const {
      Result<json::object> parsed = ParseJsonObject(response.body);
      return parsed.ok() ? *parsed : json::object();
    }
    [[nodiscard]] std::string code() const { return GetString(GetObject(body(), "error"), "code"); }
    [[nodiscard]] std::string message() const {
      return GetString(GetObject(body(), "error"), "message");
    }
  };

  /// Sends a request; the answer comes at once or later.
  std::shared_ptr<Answer> Send(const std::string& method, const std::string& target,
                               const std::string& body = "", const std::string& owner = "alice",
                               http::Scope scope = http::Scope::kSubmit,
                               const std::string& key = "") {
    http::Request request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (const size_t at = target.find('?'); at != std::string::npos)
      for (const std::string_view pair : Split(std::string_view(target).substr(at + 1), '&'))
        request.query.emplace_back(pair.substr(0, pair.find('=')), pair.substr(pair.find('=') + 1));
    request.body = body;
    request.id = "r-1";
    request.who = {.key_name = owner, .scope = scope, .key_id = "", .problem = ""};
    if (!key.empty()) request.headers.Set("idempotency-key", key);
    auto answer = std::make_shared<Answer>();
    router_->Dispatch(std::move(request), [answer, this](http::Response response) {
      const std::lock_guard guard(mutex_);
      EXPECT_EQ(answer->status, 0) << "answered twice";
      answer->response = std::move(response);
      answer->status = answer->response.status;
    });
    return answer;
  }
  int StatusOf(const std::shared_ptr<Answer>& answer) {
    const std::lock_guard guard(mutex_);
    return answer->status;
  }
  /// Sends and waits for the answer.
  template <typename... Args>
  Answer Ask(Args&&... args) {
    const std::shared_ptr<Answer> answer = Send(std::forward<Args>(args)...);
    EXPECT_TRUE(test::Eventually([&] { return StatusOf(answer) != 0; }));
    const std::lock_guard guard(mutex_);
    return *answer;
  }

  std::string SubmitId(const std::string& owner = "alice") {
    return GetString(Ask("POST", "/v1/submissions", kGood, owner).body(), "id");
  }
  Delivery LeaseOne() {
    const Result<std::optional<Delivery>> delivery = broker_->Lease("w", Seconds(5), Seconds(0));
    if (!delivery.ok() || !*delivery) Fatal("nothing to lease", __FILE__, __LINE__);
    return **delivery;
  }
  void JudgeOne(std::string_view status = "incorrect") {
    const Delivery delivery = LeaseOne();
    json::object verdict = test::VerdictDocument(delivery.job->request, status);
    verdict["raw"] = json::object{{"candidate", json::array{}}};
    verdict["stdout"] = "out";
    ASSERT_TRUE(broker_->Complete(delivery, std::move(verdict)).ok());
  }

  static constexpr const char* kGood =
      R"({"task_id": "assay/relu", "source": "class ModelNew: 1"})";

  std::mutex mutex_;
  ManualTimers timers_;
  std::shared_ptr<const TaskRegistry> tasks_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<http::Router> router_;
};

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

TEST_F(ApiTest, ALongPollEndsWithTheVerdict) {
  const auto posted = Send("POST", "/v1/submissions?wait=20", kGood);
  ASSERT_TRUE(test::Eventually([&] { return timers_.Delays() == std::vector<double>{20}; }));
  EXPECT_EQ(StatusOf(posted), 0);
  JudgeOne();
  EXPECT_TRUE(test::Eventually([&] { return StatusOf(posted) == 200; }));
  EXPECT_THAT(timers_.Delays(), IsEmpty());  // nothing is left behind
}

TEST_F(ApiTest, ALongPollEndsWithItsTimeAndIsBounded) {
  const auto posted = Send("POST", "/v1/submissions?wait=9999", kGood);
  ASSERT_TRUE(test::Eventually([&] { return timers_.Delays() == std::vector<double>{60}; }));
  EXPECT_EQ(timers_.Fire(), 1U);
  ASSERT_TRUE(test::Eventually([&] { return StatusOf(posted) == 202; }));
  const std::string id = GetString(posted->body(), "id");
  const auto polled = Send("GET", "/v1/submissions/" + id + "?wait=5");
  EXPECT_EQ(StatusOf(polled), 0);
  EXPECT_EQ(timers_.Fire(), 1U);
  EXPECT_EQ(StatusOf(polled), 200);
  JudgeOne();  // answers nothing twice
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

TEST_F(ApiTest, EventsTellTheStagesAndEnd) {
  const std::string id = SubmitId();
  const Answer answer = Ask("GET", "/v1/submissions/" + id + "/events");
  EXPECT_EQ(answer.response.content_type, "text/event-stream");
  const auto body = std::make_shared<RecordedBody>(100);
  answer.response.stream(body);
  const Delivery delivery = LeaseOne();
  ASSERT_TRUE(broker_->SetStage(delivery, "check").ok());
  EXPECT_TRUE(test::Eventually([&] { return body->text().find("check") != std::string::npos; }));
  EXPECT_EQ(timers_.Fire(), 1U);
  EXPECT_THAT(body->text(), HasSubstr(": alive\n\n"));
  ASSERT_TRUE(
      broker_->Complete(delivery, test::VerdictDocument(delivery.job->request, "timeout")).ok());
  EXPECT_TRUE(test::Eventually([&] { return body->ends() == 1; }));
  std::vector<std::string> events;
  for (const std::string_view line : Split(body->text(), '\n'))
    if (line.starts_with("event: ")) events.emplace_back(line.substr(7));
  EXPECT_THAT(events, ElementsAre("stage", "stage", "stage", "done"));
  EXPECT_EQ(timers_.Fire(), 0U);  // nothing is left behind
}

TEST_F(ApiTest, EventsOfAReaderThatWentAreDropped) {
  const std::string id = SubmitId();
  const Answer answer = Ask("GET", "/v1/submissions/" + id + "/events");
  const auto body = std::make_shared<RecordedBody>(1);
  answer.response.stream(body);
  EXPECT_EQ(timers_.Fire(), 1U);  // the sign of life finds nobody
  EXPECT_EQ(timers_.Fire(), 0U);
  JudgeOne();
  EXPECT_THAT(body->text(), Not(HasSubstr("done")));
}

TEST_F(ApiTest, ABatchAnswersEveryLine) {
  ApiLimits limits;
  limits.batch_window = 2;
  Start({}, limits);
  std::string lines;
  for (int i = 0; i < 5; ++i)
    lines += fmt::format(R"({{"id": "b{}", "task_id": "{}", "source": "x"}})", i,
                         i == 3 ? "none" : "assay/relu") +
             "\n\n";
  const Answer answer = Ask("POST", "/v1/batches", lines);
  EXPECT_EQ(answer.response.content_type, "application/x-ndjson");
  const auto body = std::make_shared<RecordedBody>(100);
  answer.response.stream(body);
  for (int i = 0; i < 4; ++i) {
    EXPECT_LE(broker_->Depth().queued, 2U);  // the window
    JudgeOne();
  }
  EXPECT_TRUE(test::Eventually([&] { return body->ends() == 1; }));
  std::set<int64_t> answered;
  for (const std::string_view line : Split(Trim(body->text()), '\n')) {
    const json::object object = *ParseJsonObject(line);
    const int64_t index = GetInt(object, "index", -1);
    EXPECT_TRUE(answered.insert(index).second);
    EXPECT_EQ(GetString(object, "id"), "b" + std::to_string(index));
    EXPECT_EQ(object.contains("error"), index == 3);
    EXPECT_EQ(GetString(GetObject(object, "error"), "code"), index == 3 ? "not_found" : "");
    EXPECT_EQ(GetString(GetObject(object, "verdict"), "status"), index == 3 ? "" : "incorrect");
  }
  EXPECT_EQ(answered.size(), 5U);
}

TEST_F(ApiTest, ABatchWaitsForRoomInTheQueue) {
  BrokerLimits limits;
  limits.max_queued = 1;
  Start(limits);
  std::string lines;
  for (int i = 0; i < 3; ++i) lines += std::string(kGood) + "\n";
  const auto body = std::make_shared<RecordedBody>(100);
  Ask("POST", "/v1/batches", lines).response.stream(body);
  for (int i = 0; i < 3; ++i) {
    JudgeOne();
    EXPECT_TRUE(test::Eventually([&] { return timers_.Fire() > 0 || body->ends() == 1; }));
  }
  EXPECT_TRUE(test::Eventually([&] { return body->ends() == 1; }));
  EXPECT_THAT(body->text(), Not(HasSubstr("error\":{\"code\":\"unavailable")));
}

TEST_F(ApiTest, ABatchThatCannotBeReadIsNotBegun) {
  EXPECT_EQ(Ask("POST", "/v1/batches", "\n\n").status, 400);
  const Answer answer = Ask("POST", "/v1/batches", std::string(kGood) + "\n{\"task\": 1}\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.message(), HasSubstr("line 2: there is no member 'task'"));
  ApiLimits limits;
  limits.max_batch = 2;
  Start({}, limits);
  const std::string line = std::string(kGood) + "\n";
  EXPECT_THAT(Ask("POST", "/v1/batches", line + line + line).message(),
              HasSubstr("more than 2 lines"));
  EXPECT_EQ(broker_->Depth().queued, 0U);
}

TEST_F(ApiTest, ABatchWhoseReaderWentIsStillJudged) {
  const auto body = std::make_shared<RecordedBody>(0);
  Ask("POST", "/v1/batches", std::string(kGood) + "\n" + kGood + "\n").response.stream(body);
  JudgeOne();
  JudgeOne();
  EXPECT_EQ(broker_->Depth().queued, 0U);
  EXPECT_EQ(body->ends(), 0);
}

TEST_F(ApiTest, TheSourceComesBackAsItWas) {
  const std::string id = SubmitId();
  const Answer answer = Ask("GET", "/v1/submissions/" + id + "/source");
  EXPECT_EQ(answer.response.body, "class ModelNew: 1");
  EXPECT_EQ(answer.response.headers.Find("X-Content-Type-Options"), "nosniff");
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
  EXPECT_EQ(ids.size(), 15U);
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
