#include "server/remote_leases.h"

#include <future>

#include "api/api.h"
#include "api/lease_desk.h"
#include "base/hash.h"
#include "broker/broker_testing.h"
#include "broker/runner_pool.h"
#include "http/testing.h"
#include "task/task_testing.h"

namespace assay {
namespace {

using http::Scope;
using test::Eventually;
using test::Request;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::object VerdictOf(const Delivery& delivery, std::string_view status) {
  const JobRequest& request = delivery.job->request;
  return test::WholeVerdict(request, status, Sha256Hex(request.task_source));
}

RemoteLeases::Options OptionsFor(uint16_t port) {
  RemoteLeases::Options options;
  options.server = *http::ParseServerUrl(fmt::format("http://127.0.0.1:{}", port));
  options.name = "host";
  options.backoff = Seconds(0.02);
  return options;
}

/// A server whose process can be ended and started anew on one port, over one store.
class RemoteLeasesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto tasks = std::make_shared<TaskRegistry>();
    Task task;
    task.id = "assay/relu";
    task.source = TaskSource("assay/relu");
    ASSERT_TRUE(tasks->Add(*MakeTask(std::move(task))).ok());
    tasks_ = tasks;
    StartServer();
  }
  void TearDown() override { StopServer(); }

  void StartServer() {
    BrokerOptions options;
    options.path = folder_.path() / "store.db";
    broker_ = test::OpenBroker(options);
    server_ = *http::Server::Start({.access_log = false});
    desk_ = std::make_shared<LeaseDesk>(broker_.get(), &server_->timers());
    auto router = std::make_shared<http::Router>();
    ApiContext context;
    context.jobs = broker_.get();
    context.timers = &server_->timers();
    context.tasks = tasks_;
    context.desk = desk_;
    AddApi(router.get(), std::move(context));
    http::ListenOptions listen;
    listen.port = port_;
    listen.router = std::move(router);
    if (!keys_.empty()) listen.keys = http::Keys(keys_);
    port_ = *server_->Listen(std::move(listen));
  }
  void StopServer() {
    if (server_ != nullptr) server_->Stop();
    if (desk_ != nullptr) desk_->Close();
    broker_.reset();
    desk_.reset();
    server_.reset();
  }

  std::unique_ptr<RemoteLeases> Connect(const std::string& key = "",
                                        const std::string& name = "host") const {
    RemoteLeases::Options options = OptionsFor(port_);
    options.key = key;
    options.name = name;
    return std::make_unique<RemoteLeases>(std::move(options));
  }
  Delivery LeaseOne(RemoteLeases* leases, Seconds ttl = Seconds(60)) {
    const Result<std::optional<Delivery>> delivery = leases->Lease("gpu:0", Seconds(10), ttl);
    if (!delivery.ok() || !*delivery) Fatal("nothing to lease", __FILE__, __LINE__);
    return **delivery;
  }
  std::string SubmitId() { return (*broker_->Submit(Request())).request->id; }

  const test::TempFolder folder_;
  std::string keys_;
  std::shared_ptr<const TaskRegistry> tasks_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<http::Server> server_;
  std::shared_ptr<LeaseDesk> desk_;
  uint16_t port_ = 0;
};

TEST_F(RemoteLeasesTest, AJobGoesThereAndItsVerdictComesBack) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  ASSERT_TRUE(leases->Check().ok());
  JobRequest wanted = Request("class ModelNew: 1");
  wanted.options["trials"] = 3;
  wanted.timeout_s = 7;
  const std::string id = (*broker_->Submit(wanted)).request->id;
  const Delivery delivery = LeaseOne(leases.get());
  const JobRequest& request = delivery.job->request;
  EXPECT_EQ(request.id, id);
  EXPECT_EQ(request.source, wanted.source);
  EXPECT_EQ(request.options, wanted.options);
  EXPECT_EQ(request.timeout_s, 7);
  EXPECT_EQ(request.task_id, "assay/relu");
  EXPECT_EQ(request.task_source, TaskSource("assay/relu"));
  ASSERT_TRUE(leases->SetStage(delivery, "check").ok());
  EXPECT_TRUE(Eventually([&] { return (*broker_->Get(id)).stage == "check"; }));
  ASSERT_TRUE(leases->Complete(delivery, VerdictOf(delivery, "correct")).ok());
  EXPECT_EQ(test::StatusOf(*broker_->Get(id)), "correct");
  EXPECT_EQ((*broker_->Get(id)).worker, "host/gpu:0");
  EXPECT_EQ(leases->CompleteBehind(delivery, {}).error().code, ErrorCode::kClosed);
}

TEST_F(RemoteLeasesTest, LeasesAreRenewedByThemselves) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get(), Seconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_FALSE(*delivery.cancelled);
  EXPECT_TRUE(leases->Complete(delivery, VerdictOf(delivery, "correct")).ok());
  EXPECT_EQ((*broker_->Get(id)).deliveries, 1);
}

TEST_F(RemoteLeasesTest, ACancellationReachesTheWorker) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get(), Seconds(1));
  ASSERT_TRUE(broker_->Cancel(id).ok());
  EXPECT_TRUE(Eventually([&] { return delivery.cancelled->load(); }));
  ASSERT_TRUE(leases->Complete(delivery, VerdictOf(delivery, "cancelled")).ok());
  EXPECT_EQ(test::StatusOf(*broker_->Get(id)), "cancelled");
}

TEST_F(RemoteLeasesTest, AServerThatIsStartedAnewLosesNothing) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery first = LeaseOne(leases.get(), Seconds(1));
  StopServer();
  EXPECT_FALSE((*leases->Lease("gpu:0", Seconds(0), Seconds(60))).has_value());
  StartServer();
  // It knows nothing of the lease, so another worker may have the job by now.
  EXPECT_TRUE(Eventually([&] { return first.cancelled->load(); }));
  EXPECT_EQ(leases->CompleteBehind(first, VerdictOf(first, "incorrect")).error().code,
            ErrorCode::kClosed);
  const Delivery second = LeaseOne(leases.get());
  EXPECT_EQ(second.job->request->id, id);
  EXPECT_EQ(second.number, 2);
  ASSERT_TRUE(leases->Complete(second, VerdictOf(second, "correct")).ok());
  EXPECT_EQ(test::StatusOf(*broker_->Get(id)), "correct");
}

TEST_F(RemoteLeasesTest, AVerdictIsSentUntilTheServerAnswers) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  static_cast<void>(SubmitId());
  const Delivery delivery = LeaseOne(leases.get());
  StopServer();
  std::future<Status> sent = std::async(std::launch::async, [&] {
    return leases->CompleteBehind(delivery, VerdictOf(delivery, "correct"));
  });
  EXPECT_EQ(sent.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  StartServer();
  // It knows nothing of the lease, but it has heard of it.
  EXPECT_EQ(sent.get().error().code, ErrorCode::kClosed);
}

TEST_F(RemoteLeasesTest, WhatIsCutShortIsGivenBack) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get());
  leases->Interrupt(Seconds(10));
  EXPECT_TRUE(*delivery.cancelled);
  ASSERT_TRUE(leases->CompleteBehind(delivery, VerdictOf(delivery, "cancelled")).ok());
  EXPECT_EQ((*broker_->Get(id)).state, JobState::kQueued);
}

TEST_F(RemoteLeasesTest, LastWordsAreFew) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  static_cast<void>(SubmitId());
  const Delivery delivery = LeaseOne(leases.get());
  StopServer();
  leases->Interrupt(Seconds(0.2));
  EXPECT_EQ(leases->Return(delivery, false, "").error().code, ErrorCode::kClosed);
}

TEST_F(RemoteLeasesTest, ALeaseThatCannotBeRenewedIsOverHereToo) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  static_cast<void>(SubmitId());
  static_cast<void>(SubmitId());
  const Delivery judging = LeaseOne(leases.get(), Seconds(1));
  const Delivery judged = LeaseOne(leases.get(), Seconds(1));
  StopServer();
  const TimePoint stopped = Clock::now();
  EXPECT_EQ(leases->CompleteBehind(judged, VerdictOf(judged, "correct")).error().code,
            ErrorCode::kClosed);
  EXPECT_TRUE(Eventually([&] { return judging.cancelled->load(); }));
  EXPECT_LT(Seconds(Clock::now() - stopped).count(), 3);
  EXPECT_EQ(leases->CompleteBehind(judging, VerdictOf(judging, "correct")).error().code,
            ErrorCode::kClosed);
}

TEST_F(RemoteLeasesTest, AVerdictThatTheServerRefusesIsAJobGivenBack) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get());
  json::object verdict = VerdictOf(delivery, "correct");
  verdict["id"] = "another";
  EXPECT_EQ(leases->CompleteBehind(delivery, std::move(verdict)).error().code, ErrorCode::kClosed);
  EXPECT_EQ((*broker_->Get(id)).state, JobState::kQueued);
  EXPECT_THAT(desk_->Workers().at(0).last_error, HasSubstr("another"));
}

TEST_F(RemoteLeasesTest, AJobIsGivenBackHoweverLongTheReason) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get());
  EXPECT_TRUE(leases->Return(delivery, false, std::string(1 << 20, 'x')).ok());
  EXPECT_EQ((*broker_->Get(id)).state, JobState::kQueued);
}

TEST_F(RemoteLeasesTest, OnlyAWorkersKeyWillDo) {
  StopServer();
  keys_ = "trainer the-key-of-the-trainer submit\ngpu the-key-of-the-worker worker\n";
  StartServer();
  EXPECT_TRUE(Connect("the-key-of-the-worker")->Check().ok());
  for (const char* key : {"", "the-key-of-the-trainer", "a-key-that-nobody-knows"}) {
    const Status refused = Connect(key)->Check();
    ASSERT_FALSE(refused.ok()) << key;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  }
  EXPECT_THAT(Connect("the-key-of-the-trainer")->Check().error().message, HasSubstr("'worker'"));
  EXPECT_THAT(Connect("the-key-of-the-worker", "gpu 7")->Check().error().message,
              HasSubstr("--name"));
  StopServer();
  EXPECT_EQ(Connect("the-key-of-the-worker")->Check().error().code, ErrorCode::kUnavailable);
}

TEST_F(RemoteLeasesTest, APoolOverItFinishesAndGivesBackTheRest) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  std::atomic<bool> go{false};
  const auto runner = std::make_shared<test::ScriptedRunner>(
      [&](const JobRequest& request, const JobRunner::Stage& stage, const CancelFlag&) {
        stage("check");
        while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return test::WholeVerdict(request, "correct", Sha256Hex(request.task_source));
      });
  RunnerPool pool(leases.get(), {runner}, {.look = Seconds(0.1), .ttl = Seconds(1)});
  const std::string id = SubmitId();
  const std::string second = SubmitId();
  ASSERT_TRUE(Eventually([&] { return (*broker_->Get(id)).stage == "check"; }));
  std::jthread stopper([&] { pool.Stop(); });
  go = true;
  stopper.join();
  EXPECT_EQ(test::StatusOf(*broker_->Get(id)), "correct");
  EXPECT_TRUE(Eventually([&] { return (*broker_->Get(second)).state != JobState::kRunning; }));
}

/// Answers what the test wants, when it wants. It has jobs without end.
class FakeServer {
 public:
  FakeServer() {
    for (const char* path : {"/v1/leases", "/v1/leases/renew", "/v1/leases/{lease}/complete"})
      router_->Add("POST", path, Scope::kNone,
                   [this](const http::Request& request, http::Reply reply) {
                     Answer(request, std::move(reply));
                   });
    http::ListenOptions listen;
    listen.port = 0;
    listen.router = router_;
    port = *server_->Listen(std::move(listen));
  }
  ~FakeServer() { server_->Stop(); }

  /// What to do with a request; nothing: what a server does. Set before anybody asks.
  std::function<bool(const http::Request&, const http::Reply&)> instead;
  Seconds delay{0};  ///< of each answer to a verdict
  std::atomic<int> held{0};
  std::atomic<int> most_held{0};
  std::atomic<int> judged{0};
  uint16_t port = 0;

 private:
  void Answer(const http::Request& request, http::Reply reply) {
    if (instead && instead(request, reply)) return;
    if (request.path == "/v1/leases/renew") return reply(http::Response::Text("", 204, ""));
    if (request.path == "/v1/leases") {
      most_held = std::max(most_held.load(), ++held);
      const std::string name = fmt::format("lease-{}", ++leases_);
      return reply(http::Response::Json({{"lease", name},
                                         {"delivery", 1},
                                         {"id", name},
                                         {"source", ""},
                                         {"task", {{"source", ""}, {"sha256", Sha256Hex("")}}}}));
    }
    const std::lock_guard guard(mutex_);
    timers_.push_back(server_->timers().After(delay, [this, reply = std::move(reply)] {
      --held;
      ++judged;
      reply(http::Response::Json({{"stored", true}}));
    }));
  }

  std::atomic<int> leases_{0};
  std::mutex mutex_;
  std::vector<std::shared_ptr<void>> timers_;
  std::shared_ptr<http::Router> router_ = std::make_shared<http::Router>();
  // One thread, so that nothing is beside another.
  std::unique_ptr<http::Server> server_ = *http::Server::Start({.threads = 1, .access_log = false});
};

TEST(RemoteLeasesOfASlowServer, WhatIsJudgedIsBroughtBeforeMoreIsTaken) {
  constexpr int kJobs = 8;
  FakeServer server;
  server.delay = Seconds(0.1);
  RemoteLeases leases(OptionsFor(server.port));
  const auto runner = std::make_shared<test::ScriptedRunner>(
      [](const JobRequest& request, const JobRunner::Stage&, const CancelFlag&) {
        return test::WholeVerdict(request, "incorrect", "");
      },
      kJobs);
  RunnerPool pool(&leases, {runner}, {.look = Seconds(0.1), .ttl = Seconds(60)});
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  pool.Stop();
  EXPECT_LE(server.most_held, 2 * kJobs);
  EXPECT_EQ(server.held, 0);
  EXPECT_GT(server.judged, 5 * kJobs);
}

TEST(RemoteLeasesOfASlowServer, ARenewalThatHangsCostsNoLease) {
  constexpr double kTtl = 2;
  FakeServer server;
  std::mutex mutex;
  int renewals = 0;
  http::Reply hangs;
  std::map<std::string, TimePoint> renewed;
  double longest = 0;
  server.instead = [&](const http::Request& request, const http::Reply& reply) {
    if (request.path != "/v1/leases/renew") return false;
    const std::lock_guard guard(mutex);
    if (++renewals == 2) {
      hangs = reply;
      return true;
    }
    const json::object body = *ParseJsonObject(request.body);
    for (const auto& [lease, stage] : GetObject(body, "leases")) {
      const TimePoint now = Clock::now();
      if (const auto before = renewed.find(lease); before != renewed.end())
        longest = std::max(longest, Seconds(now - before->second).count());
      renewed[lease] = now;
    }
    return false;
  };
  RemoteLeases leases(OptionsFor(server.port));
  std::vector<Delivery> held;
  held.reserve(3);
  for (int i = 0; i < 3; ++i) held.push_back(**leases.Lease("gpu:0", Seconds(0), Seconds(kTtl)));
  std::this_thread::sleep_for(std::chrono::duration<double>(2 * kTtl));
  const std::lock_guard guard(mutex);
  EXPECT_EQ(renewed.size(), held.size());
  EXPECT_GT(renewals, 3);
  EXPECT_LT(longest, kTtl);
  for (const Delivery& delivery : held) EXPECT_FALSE(*delivery.cancelled);
}

TEST(RemoteLeasesOfASlowServer, AQuestionThatWasNotAnsweredIsAskedAgain) {
  FakeServer server;
  std::vector<std::string> asked;
  http::Reply hangs;
  server.instead = [&](const http::Request& request, const http::Reply& reply) {
    if (request.path == "/v1/leases")
      asked.push_back(GetString(*ParseJsonObject(request.body), "ask"));
    if (asked.size() == 1) hangs = reply;
    return asked.size() == 1;
  };
  RemoteLeases leases(OptionsFor(server.port));
  const auto lease = [&](const char* runner) {
    return (*leases.Lease(runner, Seconds(0), Seconds(1))).has_value();
  };
  EXPECT_FALSE(lease("gpu:0"));
  EXPECT_TRUE(lease("gpu:1"));
  EXPECT_TRUE(lease("gpu:0"));
  EXPECT_TRUE(lease("gpu:0"));
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[2], asked[0]);
  EXPECT_EQ(std::set<std::string>(asked.begin(), asked.end()).size(), 3U);
}

TEST(RemoteLeasesOfASlowServer, ARefusalIsToldOnce) {
  FakeServer server;
  server.instead = [&](const http::Request&, const http::Reply& reply) {
    reply(http::Response::Json({{"detail", "wrong protocol"}}, 422));
    return true;
  };
  std::vector<std::string> told;
  RemoteLeases::Options options = OptionsFor(server.port);
  options.refused = [&](const std::string& why) { told.push_back(why); };
  RemoteLeases leases(std::move(options));
  EXPECT_EQ(leases.Check().error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(told.empty());
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE((*leases.Lease("gpu:0", Seconds(0), Seconds(60))).has_value());
  EXPECT_THAT(told, ElementsAre(HasSubstr("it answers 422: wrong protocol")));
}

}  // namespace
}  // namespace assay
