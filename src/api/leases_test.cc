#include "api/api_testing.h"
#include "base/hash.h"

namespace assay {
namespace {

using test::Eventually;
using ::testing::HasSubstr;

class LeasesTest : public test::ApiTest {
 protected:
  LeasesTest() { Start({}, {}, &clocks_); }
  ~LeasesTest() override {
    // They use the clocks.
    router_.reset();
    desk_.reset();
    broker_.reset();
  }

  static std::string Ask4Work(double wait_s = 0, const std::string& worker = "host/gpu:0",
                              double ttl_s = 60, const std::string& ask = "") {
    return json::serialize(json::object{{"worker", worker},
                                        {"instance", "i-" + worker},
                                        {"protocol", kProtocolVersion},
                                        {"ask", ask},
                                        {"jobs", 2},
                                        {"details", {{"kind", "test"}}},
                                        {"wait_s", wait_s},
                                        {"ttl_s", ttl_s}});
  }
  Answer Post(const std::string& path, const json::object& body,
              const std::string& key = "worker-key") {
    return Ask("POST", path, json::serialize(body), key, http::Scope::kWorker);
  }
  json::object LeaseOne(double ttl_s = 60) {
    const Answer answer = Ask("POST", "/v1/leases", Ask4Work(0, "host/gpu:0", ttl_s), "worker-key",
                              http::Scope::kWorker);
    EXPECT_EQ(answer.status, 200) << answer.response.body;
    return answer.body();
  }
  /// What the server says of a lease: "", "cancelled" or "over".
  std::string Renew(const json::object& lease, const std::string& stage = "",
                    const std::string& key = "worker-key") {
    const Answer answer = Post(
        "/v1/leases/renew",
        {{"protocol", kProtocolVersion}, {"leases", {{GetString(lease, "lease"), stage}}}}, key);
    EXPECT_EQ(answer.status, answer.response.body.empty() ? 204 : 200) << answer.response.body;
    for (const char* news : {"cancelled", "over"})
      if (!GetArray(answer.body(), news).empty()) return news;
    return "";
  }
  static std::string PathOf(const json::object& lease) {
    return "/v1/leases/" + GetString(lease, "lease");
  }
  static json::object VerdictOf(const json::object& lease) {
    JobRequest request;
    request.id = GetString(lease, "id");
    request.source = GetString(lease, "source");
    request.task_id = GetString(GetObject(lease, "task"), "id");
    return test::WholeVerdict(request, "correct", GetString(GetObject(lease, "task"), "sha256"));
  }
  std::string StatusOfJob(const std::string& id) {
    return GetString(Ask("GET", "/v1/submissions/" + id, "").body(), "status");
  }

  test::FakeClocks clocks_;
};

TEST_F(LeasesTest, AJobComesWithItsTasksTextAndEndsOnce) {
  const std::string id = SubmitId();
  const json::object lease = LeaseOne();
  EXPECT_EQ(GetString(lease, "source"), "class ModelNew: 1");
  EXPECT_EQ(GetInt(lease, "delivery"), 1);
  const json::object& task = GetObject(lease, "task");
  EXPECT_EQ(GetString(task, "id"), "assay/relu");
  EXPECT_EQ(GetString(task, "source"), TaskSource("assay/relu"));
  EXPECT_EQ(GetString(task, "sha256"), Sha256Hex(TaskSource("assay/relu")));
  EXPECT_FALSE(lease.contains("owner"));
  EXPECT_EQ(Renew(lease, "check"), "");
  const json::object running = Ask("GET", "/v1/submissions/" + id, "").body();
  EXPECT_EQ(GetString(running, "stage"), "check");
  EXPECT_EQ(GetString(running, "worker"), "host/gpu:0");
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease)).status, 200);
  EXPECT_EQ(StatusOfJob(id), "correct");
  // The answer may have been lost.
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease)).status, 200);
  EXPECT_EQ(Renew(lease), "over");
  EXPECT_EQ(Post(PathOf(lease) + "/return", {}).status, 410);
}

TEST_F(LeasesTest, ALongPollIsAnsweredByTheNextJob) {
  const auto poll = Send("POST", "/v1/leases", Ask4Work(20), "worker-key", http::Scope::kWorker);
  const auto second = Send("POST", "/v1/leases", Ask4Work(20), "worker-key", http::Scope::kWorker);
  EXPECT_EQ(StatusOf(poll), 0);
  EXPECT_THAT(timers_.Delays(), ::testing::ElementsAre(20, 20));
  const std::string id = SubmitId();
  ASSERT_TRUE(Eventually([&] { return StatusOf(poll) != 0; }));
  EXPECT_EQ(StatusOf(poll), 200);
  EXPECT_EQ(GetString(poll->body(), "id"), id);
  EXPECT_EQ(StatusOf(second), 0);
  EXPECT_EQ(Renew(poll->body()), "");
  EXPECT_EQ(timers_.Fire(), 1U);
  EXPECT_EQ(StatusOf(second), 204);
  // Given back, it comes to whoever waits.
  const auto third = Send("POST", "/v1/leases", Ask4Work(20), "worker-key", http::Scope::kWorker);
  EXPECT_EQ(Post(PathOf(poll->body()) + "/return", {{"lost", true}, {"why", "broken"}}).status,
            200);
  ASSERT_TRUE(Eventually([&] { return StatusOf(third) == 200; }));
  EXPECT_EQ(GetInt(third->body(), "delivery"), 2);
}

TEST_F(LeasesTest, ADrainEndsTheWait) {
  const auto poll = Send("POST", "/v1/leases", Ask4Work(20), "worker-key", http::Scope::kWorker);
  broker_->Drain();
  ASSERT_TRUE(Eventually([&] { return StatusOf(poll) != 0; }));
  EXPECT_EQ(StatusOf(poll), 503);
  EXPECT_TRUE(poll->response.headers.Find("Retry-After").has_value());
}

TEST_F(LeasesTest, WhoHasHungUpGetsNothing) {
  auto gone = std::make_shared<std::atomic<bool>>(false);
  LeaseDesk::Worker worker;
  worker.instance = "i";
  worker.name = "host/gone";
  worker.ttl = Seconds(60);
  std::atomic<int> answers{0};
  std::atomic<bool> leased{false};
  desk_->Ask(worker, "", Seconds(20), gone,
             [&](const Result<std::optional<LeaseDesk::Lease>>& got) {
               leased = got.ok() && got->has_value();
               ++answers;
             });
  gone->store(true);
  const auto poll = Send("POST", "/v1/leases", Ask4Work(20), "worker-key", http::Scope::kWorker);
  static_cast<void>(SubmitId());
  ASSERT_TRUE(Eventually([&] { return StatusOf(poll) == 200 && answers == 1; }));
  EXPECT_FALSE(leased);
}

TEST_F(LeasesTest, ALateVerdictIsRefusedAndNotStored) {
  const std::string id = SubmitId();
  const json::object first = LeaseOne(10);
  clocks_.Advance(8);
  EXPECT_EQ(Renew(first), "");
  clocks_.Advance(8);
  broker_->Sweep();
  EXPECT_TRUE(desk_->Holds());
  clocks_.Advance(3);
  broker_->Sweep();
  EXPECT_FALSE(desk_->Holds());
  const json::object second = LeaseOne();
  EXPECT_EQ(GetInt(second, "delivery"), 2);
  const Answer late = Post(PathOf(first) + "/complete", VerdictOf(first));
  EXPECT_EQ(late.status, 410);
  EXPECT_EQ(late.code(), "lease_over");
  EXPECT_EQ(GetString(Ask("GET", "/v1/submissions/" + id, "").body(), "state"), "running");
  EXPECT_EQ(Post(PathOf(second) + "/complete", VerdictOf(second)).status, 200);
  EXPECT_EQ(StatusOfJob(id), "correct");
}

TEST_F(LeasesTest, ALeaseThatTheQueueHasEndedIsOver) {
  static_cast<void>(SubmitId());
  const json::object lease = LeaseOne(10);
  // The desk's own clock has not come so far.
  clocks_.Advance(10.001);
  broker_->Sweep();
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease)).status, 410);
}

TEST_F(LeasesTest, ACancellationIsToldAtTheNextRenewal) {
  const std::string id = SubmitId();
  const json::object lease = LeaseOne();
  EXPECT_EQ(Ask("DELETE", "/v1/submissions/" + id, "").status, 202);
  EXPECT_EQ(Renew(lease), "cancelled");
  json::object verdict = VerdictOf(lease);
  verdict["status"] = "cancelled";
  verdict["correct"] = false;
  EXPECT_EQ(Post(PathOf(lease) + "/complete", verdict).status, 200);
  EXPECT_EQ(StatusOfJob(id), "cancelled");
}

TEST_F(LeasesTest, OnlyItsKeyHasALease) {
  static_cast<void>(SubmitId());
  const json::object lease = LeaseOne();
  EXPECT_EQ(Renew(lease, "", "another"), "over");
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease), "another").status, 410);
  EXPECT_EQ(Post(PathOf(lease) + "/return", {}, "another").status, 410);
  EXPECT_EQ(Renew(lease), "");
}

TEST_F(LeasesTest, ScopesKeepClientsAndWorkersApart) {
  EXPECT_EQ(Ask("POST", "/v1/leases", Ask4Work(), "alice", http::Scope::kSubmit).status, 403);
  EXPECT_EQ(Ask("POST", "/v1/leases/x/complete", "{}", "alice", http::Scope::kSubmit).status, 403);
  EXPECT_EQ(Ask("POST", "/v1/submissions", kGood, "w", http::Scope::kWorker).status, 403);
  EXPECT_EQ(Ask("GET", "/v1/workers", "", "w", http::Scope::kWorker).status, 403);
  EXPECT_EQ(Ask("POST", "/v1/leases", Ask4Work(), "root", http::Scope::kAdmin).status, 204);
}

TEST_F(LeasesTest, AVerdictOfAnotherJobIsRefused) {
  const std::string id = SubmitId();
  const json::object lease = LeaseOne();
  for (const char* member : {"id", "submission_sha256", "task_id", "task_sha256", "protocol"})
    for (const json::value& other :
         {json::value("another"), json::value(std::string(3'000'000, 'x')), json::value(7),
          json::value(nullptr)}) {
      json::object verdict = VerdictOf(lease);
      verdict[member] = other;
      const Answer refused = Post(PathOf(lease) + "/complete", verdict);
      EXPECT_EQ(refused.status, 422) << member;
      EXPECT_THAT(refused.message(), HasSubstr(member));
      EXPECT_LT(refused.message().size(), 1000U);
    }
  EXPECT_EQ(StatusOfJob(id), "");
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease)).status, 200);
  EXPECT_EQ(StatusOfJob(id), "correct");
}

TEST_F(LeasesTest, WhatIsNoVerdictEndsNoJob) {
  const std::string id = SubmitId();
  const json::object lease = LeaseOne();
  json::object lie = VerdictOf(lease);
  for (const char* member : {"schema", "status", "fault", "compiled", "correct", "timing"}) {
    json::object verdict = lie;
    verdict.erase(member);
    EXPECT_EQ(Post(PathOf(lease) + "/complete", verdict).status, 422) << member;
  }
  const json::object speedup = {{"value", 1e12}, {"low", 1e12}, {"high", 1e12}};
  lie["timing"] = {{"candidate_us", {{"median", 1}}},
                   {"reference_us", {{"median", 1}}},
                   {"speedup", speedup},
                   {"meaningful", true}};
  EXPECT_EQ(Post(PathOf(lease) + "/complete", lie).status, 422);
  json::object unjudged = VerdictOf(lease);
  unjudged["task_sha256"] = "";
  EXPECT_EQ(Post(PathOf(lease) + "/complete", unjudged).status, 422);
  EXPECT_EQ(StatusOfJob(id), "");
  EXPECT_EQ(Renew(lease), "");
  // A runner that could not judge has no hash to name.
  unjudged["status"] = "infra_error";
  unjudged["fault"] = "infrastructure";
  unjudged["correct"] = false;
  EXPECT_EQ(Post(PathOf(lease) + "/complete", unjudged).status, 200);
  EXPECT_EQ(StatusOfJob(id), "infra_error");
}

TEST_F(LeasesTest, ATasksTextMayComeWithTheRequest) {
  const json::object body = {{"task_source", TaskSource("mine")}, {"source", "class ModelNew: 1"}};
  const std::string id =
      GetString(Ask("POST", "/v1/submissions", json::serialize(body)).body(), "id");
  const json::object lease = LeaseOne();
  EXPECT_THAT(GetString(GetObject(lease, "task"), "id"), ::testing::StartsWith("source/"));
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease)).status, 200);
  EXPECT_EQ(StatusOfJob(id), "correct");
}

TEST_F(LeasesTest, AWorkerOfAnotherProtocolGetsNothing) {
  static_cast<void>(SubmitId());
  for (const char* protocol : {"", "assay.protocol/3"}) {
    json::object ask = *ParseJsonObject(Ask4Work());
    ask["protocol"] = protocol;
    const Answer refused = Post("/v1/leases", ask);
    EXPECT_EQ(refused.status, 422);
    EXPECT_THAT(refused.message(), HasSubstr(kProtocolVersion));
    EXPECT_EQ(Post("/v1/leases/renew", {{"protocol", protocol}}).status, 422);
  }
  EXPECT_TRUE(desk_->Workers().empty());
  EXPECT_EQ(broker_->Depth().queued, 1U);
}

TEST_F(LeasesTest, TheSameQuestionGivesTheSameLease) {
  static_cast<void>(SubmitId());
  static_cast<void>(SubmitId());
  const std::string asked = Ask4Work(0, "host/gpu:0", 60, "ask-1");
  const auto lease_of = [&](const std::string& body, const std::string& key = "worker-key") {
    return GetString(Ask("POST", "/v1/leases", body, key, http::Scope::kWorker).body(), "lease");
  };
  const std::string first = lease_of(asked);
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(lease_of(asked), first);
  // Nobody else's, and no other question of its worker.
  EXPECT_NE(lease_of(Ask4Work(0, "host/gpu:1", 60, "ask-1")), first);
  EXPECT_EQ(lease_of(asked, "another"), "");
  EXPECT_EQ(lease_of(Ask4Work(0, "host/gpu:0", 60, "ask")), "");
  // One that still waits is replaced.
  const std::string waits = Ask4Work(20, "host/gpu:0", 60, "ask-2");
  const auto lost = Send("POST", "/v1/leases", waits, "worker-key", http::Scope::kWorker);
  const auto again = Send("POST", "/v1/leases", waits, "worker-key", http::Scope::kWorker);
  EXPECT_EQ(StatusOf(lost), 204);
  static_cast<void>(SubmitId());
  ASSERT_TRUE(Eventually([&] { return StatusOf(again) == 200; }));
  EXPECT_EQ(lease_of(waits), GetString(again->body(), "lease"));
  // It never comes again once it is over.
  EXPECT_EQ(Post(PathOf(again->body()) + "/complete", VerdictOf(again->body())).status, 200);
  EXPECT_EQ(lease_of(Ask4Work(0, "host/gpu:0", 60, "ask-2")), "");
}

TEST_F(LeasesTest, ALeaseThatItsWorkerNeverGotIsNothingAgainstTheJob) {
  const std::string id = SubmitId();
  for (int i = 0; i < 10; ++i) {
    static_cast<void>(LeaseOne());
    EXPECT_EQ(timers_.Delays(), std::vector<double>{30});
    EXPECT_EQ(timers_.Fire(), 1U);
    ASSERT_TRUE(Eventually([&] { return broker_->Depth().queued == 1; })) << i;
  }
  // What was spoken of is not given back so.
  const json::object lease = LeaseOne();
  EXPECT_EQ(Renew(lease), "");
  EXPECT_EQ(timers_.Fire(), 0U);
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease)).status, 200);
  EXPECT_EQ(StatusOfJob(id), "correct");
}

TEST_F(LeasesTest, AJobThatAlwaysEndsItsWorkerAtOnceEnds) {
  const std::string id = SubmitId();
  for (int i = 0; i < 24; ++i) {
    static_cast<void>(LeaseOne());
    EXPECT_EQ(timers_.Fire(), 1U);
    ASSERT_TRUE(Eventually([&] { return broker_->Depth().running == 0; })) << i;
  }
  EXPECT_EQ(StatusOfJob(id), "infra_error");
}

TEST_F(LeasesTest, AWorkerThatDoesNotEndWhatWasCancelledLosesIt) {
  const std::string id = SubmitId();
  const json::object lease = LeaseOne();
  EXPECT_EQ(Ask("DELETE", "/v1/submissions/" + id, "").status, 202);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Renew(lease), "cancelled");
    clocks_.Advance(25);
    broker_->Sweep();
  }
  EXPECT_EQ(Renew(lease), "over");
  ASSERT_TRUE(Eventually([&] { return StatusOfJob(id) == "cancelled"; }));
  EXPECT_EQ(desk_->Workers().at(0).failed, 1U);
}

TEST_F(LeasesTest, AWorkerThatDoesNotEndWhatIsOverItsTimeLosesIt) {
  const json::object body = {
      {"task_id", "assay/relu"}, {"source", "class ModelNew: 1"}, {"timeout_s", 1}};
  const std::string id =
      GetString(Ask("POST", "/v1/submissions", json::serialize(body)).body(), "id");
  const json::object lease = LeaseOne();
  int renewals = 0;
  for (; Renew(lease) != "over" && renewals < 100; ++renewals) {
    clocks_.Advance(10);
    broker_->Sweep();
  }
  EXPECT_LE(renewals, 15);
  ASSERT_TRUE(Eventually([&] { return broker_->Depth().queued == 1; }));
  EXPECT_EQ(GetInt(LeaseOne(), "delivery"), 2);
}

TEST_F(LeasesTest, WhatIsWrongIsSaid) {
  for (const json::object& wrong :
       {json::object{{"worker", "a b"}}, json::object{{"instance", ""}}, json::object{{"ttl_s", 0}},
        json::object{{"ttl_s", 1e9}}, json::object{{"wait_s", -1}}, json::object{{"ask", "a/b"}},
        json::object{{"ask", std::string(65, 'a')}}}) {
    json::object ask = *ParseJsonObject(Ask4Work());
    for (const auto& [member, value] : wrong) ask[member] = value;
    EXPECT_EQ(Post("/v1/leases", ask).status, 422) << json::serialize(wrong);
  }
  for (const char* body : {"", "[]"})
    EXPECT_EQ(Ask("POST", "/v1/leases", body, "w", http::Scope::kWorker).status, 400);
  EXPECT_EQ(Post("/v1/leases/none/complete", {}).status, 410);
  EXPECT_EQ(Post("/v1/leases/renew",
                 {{"protocol", kProtocolVersion}, {"leases", {{"lease-1", "two words"}}}})
                .status,
            422);
}

TEST_F(LeasesTest, WorkersAreKnownWhileTheyAreHeard) {
  static_cast<void>(SubmitId());
  const json::object lease = LeaseOne(10);
  clocks_.Advance(6);
  EXPECT_EQ(Renew(lease), "");
  clocks_.Advance(6);
  std::vector<LeaseDesk::WorkerState> workers = desk_->Workers();
  ASSERT_EQ(workers.size(), 1U);
  EXPECT_EQ(workers[0].worker.name, "host/gpu:0");
  EXPECT_EQ(workers[0].worker.jobs, 2);
  EXPECT_EQ(workers[0].working_on, std::vector<std::string>{GetString(lease, "id")});
  EXPECT_DOUBLE_EQ(workers[0].silent_s, 6);
  EXPECT_EQ(Post(PathOf(lease) + "/complete", VerdictOf(lease)).status, 200);
  workers = desk_->Workers();
  EXPECT_EQ(workers[0].judged, 1U);
  EXPECT_TRUE(workers[0].working_on.empty());
  clocks_.Advance(11);
  EXPECT_TRUE(desk_->Workers().empty());
}

TEST_F(LeasesTest, AServerThatStopsHoldsNothingAgainstTheJobs) {
  const std::string id = SubmitId();
  for (int i = 0; i < 5; ++i) {
    static_cast<void>(LeaseOne());
    desk_->Close();
    ASSERT_TRUE(Eventually([&] { return broker_->Depth().queued == 1; }));
  }
  EXPECT_EQ(GetString(Ask("GET", "/v1/submissions/" + id, "").body(), "state"), "queued");
}

TEST_F(LeasesTest, ATaskThatIsGoneEndsTheJob) {
  JobRequest request;
  request.id = "old";
  request.owner = "alice";
  request.task_id = "assay/gone";
  request.source = "class ModelNew: 1";
  ASSERT_TRUE(broker_->Submit(request).ok());
  EXPECT_EQ(Ask("POST", "/v1/leases", Ask4Work(), "w", http::Scope::kWorker).status, 204);
  const Job job = *broker_->Get("old");
  EXPECT_EQ(test::StatusOf(job), "infra_error");
  EXPECT_THAT(GetString(GetObject(job.verdict, "error"), "message"), HasSubstr("assay/gone"));
}

TEST_F(LeasesTest, TheDocumentHasThem) {
  const json::object document = Ask("GET", "/v1/openapi.json").body();
  const json::object& paths = GetObject(document, "paths");
  for (const char* path : {"/v1/leases", "/v1/leases/renew", "/v1/leases/{lease}/complete",
                           "/v1/leases/{lease}/return"})
    EXPECT_EQ(GetString(GetObject(GetObject(paths, path), "post"), "x-scope"), "worker") << path;
}

}  // namespace
}  // namespace assay
