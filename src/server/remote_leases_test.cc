#include "server/remote_leases.h"

#include "api/api.h"
#include "api/lease_desk.h"
#include "broker/broker_testing.h"
#include "broker/runner_pool.h"
#include "http/testing.h"
#include "task/task_testing.h"

namespace assay {
namespace {

using http::Scope;
using test::Eventually;
using test::Request;
using test::VerdictDocument;
using ::testing::HasSubstr;

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

  std::unique_ptr<RemoteLeases> Connect(const std::string& key = "") const {
    RemoteLeases::Options options;
    options.server = *http::ParseServerUrl(fmt::format("http://127.0.0.1:{}", port_));
    options.key = key;
    options.name = "host";
    options.backoff = Seconds(0.02);
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
  ASSERT_TRUE(leases->Complete(delivery, VerdictDocument(request, "correct")).ok());
  EXPECT_EQ(test::StatusOf(*broker_->Get(id)), "correct");
  EXPECT_EQ((*broker_->Get(id)).worker, "host/gpu:0");
  EXPECT_EQ(leases->CompleteBehind(delivery, {}).error().code, ErrorCode::kClosed);
  EXPECT_TRUE(leases->Finish(Clock::now()));
}

TEST_F(RemoteLeasesTest, LeasesAreRenewedByThemselves) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get(), Seconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  EXPECT_FALSE(*delivery.cancelled);
  EXPECT_TRUE(leases->Complete(delivery, VerdictDocument(delivery.job->request, "correct")).ok());
  EXPECT_EQ((*broker_->Get(id)).deliveries, 1);
}

TEST_F(RemoteLeasesTest, ACancellationReachesTheWorker) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get(), Seconds(1));
  ASSERT_TRUE(broker_->Cancel(id).ok());
  EXPECT_TRUE(Eventually([&] { return delivery.cancelled->load(); }));
  ASSERT_TRUE(leases->Complete(delivery, VerdictDocument(delivery.job->request, "cancelled")).ok());
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
  EXPECT_EQ(
      leases->CompleteBehind(first, VerdictDocument(first.job->request, "incorrect")).error().code,
      ErrorCode::kClosed);
  const Delivery second = LeaseOne(leases.get());
  EXPECT_EQ(second.job->request->id, id);
  EXPECT_EQ(second.number, 2);
  ASSERT_TRUE(leases->Complete(second, VerdictDocument(second.job->request, "correct")).ok());
  EXPECT_EQ(test::StatusOf(*broker_->Get(id)), "correct");
}

TEST_F(RemoteLeasesTest, AVerdictIsSentUntilTheServerAnswers) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  static_cast<void>(SubmitId());
  const Delivery delivery = LeaseOne(leases.get());
  StopServer();
  ASSERT_TRUE(
      leases->CompleteBehind(delivery, VerdictDocument(delivery.job->request, "correct")).ok());
  EXPECT_FALSE(leases->Finish(DeadlineIn(Seconds(0.2))));
  StartServer();
  EXPECT_TRUE(leases->Finish(DeadlineIn(Seconds(10))));
}

TEST_F(RemoteLeasesTest, WhatIsCutShortIsGivenBack) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get());
  leases->Interrupt();
  EXPECT_TRUE(*delivery.cancelled);
  ASSERT_TRUE(
      leases->CompleteBehind(delivery, VerdictDocument(delivery.job->request, "cancelled")).ok());
  EXPECT_TRUE(leases->Finish(DeadlineIn(Seconds(10))));
  EXPECT_EQ((*broker_->Get(id)).state, JobState::kQueued);
}

TEST_F(RemoteLeasesTest, AVerdictThatTheServerRefusesIsAJobGivenBack) {
  const std::unique_ptr<RemoteLeases> leases = Connect();
  const std::string id = SubmitId();
  const Delivery delivery = LeaseOne(leases.get());
  json::object verdict = VerdictDocument(delivery.job->request, "correct");
  verdict["id"] = "another";
  ASSERT_TRUE(leases->CompleteBehind(delivery, std::move(verdict)).ok());
  EXPECT_TRUE(leases->Finish(DeadlineIn(Seconds(10))));
  EXPECT_TRUE(Eventually([&] { return (*broker_->Get(id)).state == JobState::kQueued; }));
  EXPECT_THAT(desk_->Workers().at(0).last_error, HasSubstr("another"));
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
        return VerdictDocument(request, "correct");
      });
  RunnerPool pool(leases.get(), {runner}, {.look = Seconds(0.1), .ttl = Seconds(1)});
  const std::string id = SubmitId();
  const std::string second = SubmitId();
  ASSERT_TRUE(Eventually([&] { return (*broker_->Get(id)).stage == "check"; }));
  std::jthread stopper([&] { pool.Stop(); });
  go = true;
  stopper.join();
  EXPECT_TRUE(leases->Finish(DeadlineIn(Seconds(10))));
  EXPECT_EQ(test::StatusOf(*broker_->Get(id)), "correct");
  EXPECT_TRUE(Eventually([&] { return (*broker_->Get(second)).state != JobState::kRunning; }));
}

}  // namespace
}  // namespace assay
