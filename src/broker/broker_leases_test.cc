#include <thread>

#include "base/fd.h"
#include "broker/broker_testing.h"
#include "broker/echo_runner.h"
#include "broker/runner_pool.h"
#include "verdict/schema_check.h"

namespace assay {
namespace {

using test::Request;
using test::StatusOf;
using test::VerdictDocument;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string SubmitId(Broker* broker, JobRequest request = Request()) {
  const Result<Job> job = broker->Submit(std::move(request));
  EXPECT_TRUE(job.ok());
  return (*job).request->id;
}

Delivery LeaseOne(Broker* broker, Seconds ttl = Seconds(0)) {
  const Result<std::optional<Delivery>> delivery = broker->Lease("w", Seconds(5), ttl);
  if (!delivery.ok() || !*delivery) Fatal("nothing to lease", __FILE__, __LINE__);
  return **delivery;
}

TEST(Unjudged, FollowsTheSchema) {
  const Result<std::string> schema = ReadFile(ASSAY_SOURCE_DIR "/schema/assay.verdict.1.json");
  ASSERT_TRUE(schema.ok());
  for (const bool cancelled : {true, false}) {
    const json::object document = UnjudgedVerdict(Request(), cancelled, "name", "a\x01 message");
    EXPECT_THAT(test::SchemaErrors(*ParseJsonObject(*schema), document), ::testing::IsEmpty());
    EXPECT_EQ(GetString(document, "status"), cancelled ? "cancelled" : "infra_error");
    EXPECT_FALSE(GetBool(document, "correct", true));
  }
}

TEST(Leases, AJobIsDeliveredOnceAndEndsOnce) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  const Delivery delivery = LeaseOne(broker.get());
  EXPECT_EQ(delivery.number, 1);
  EXPECT_EQ(delivery.job->request->id, id);
  EXPECT_EQ(delivery.job->worker, "w");
  EXPECT_FALSE((*broker->Lease("w2", Seconds(0.01), Seconds(0))).has_value());
  ASSERT_TRUE(broker->SetStage(delivery, "check").ok());
  EXPECT_EQ((*broker->Get(id)).stage, "check");
  ASSERT_TRUE(broker->Complete(delivery, VerdictDocument(Request(), "correct", "1")).ok());
  const Status again = broker->Complete(delivery, VerdictDocument(Request(), "incorrect", "2"));
  EXPECT_EQ(again.error().code, ErrorCode::kClosed);
  EXPECT_EQ(broker->SetStage(delivery, "time").error().code, ErrorCode::kClosed);
  EXPECT_EQ(broker->Return(delivery, true, "").error().code, ErrorCode::kClosed);
  const Job job = *broker->Get(id);
  EXPECT_EQ(StatusOf(job), "correct");
  EXPECT_EQ(job.stage, "");
  EXPECT_EQ(broker->Depth().running, 0U);
}

TEST(Leases, ALateResultIsRefused) {
  test::FakeClocks clocks;
  BrokerOptions options;
  clocks.Use(&options);
  MetricRegistry metrics;
  options.metrics = &metrics;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const std::string id = SubmitId(broker.get());
  const Delivery first = LeaseOne(broker.get(), Seconds(10));
  clocks.Advance(8);
  ASSERT_TRUE(broker->Renew(first, Seconds(10)).ok());
  clocks.Advance(8);
  broker->Sweep();
  EXPECT_FALSE(*first.cancelled);
  clocks.Advance(3);
  broker->Sweep();
  EXPECT_TRUE(*first.cancelled);  // the worker, if it lives, stops
  EXPECT_EQ((*broker->Get(id)).state, JobState::kQueued);
  EXPECT_EQ(broker->Renew(first, Seconds(10)).error().code, ErrorCode::kClosed);
  const Delivery second = LeaseOne(broker.get());
  EXPECT_EQ(second.number, 2);
  EXPECT_FALSE(*second.cancelled);
  EXPECT_EQ(broker->Complete(first, VerdictDocument(Request(), "incorrect")).error().code,
            ErrorCode::kClosed);
  ASSERT_TRUE(broker->Complete(second, VerdictDocument(Request(), "correct")).ok());
  EXPECT_EQ(StatusOf(*broker->Get(id)), "correct");
  EXPECT_THAT(metrics.ToPrometheus(), HasSubstr("\nassay_results_late_total 1\n"));
  EXPECT_THAT(metrics.ToPrometheus(), HasSubstr("\nassay_deliveries_lost_total 1\n"));
}

TEST(Leases, WhatKillsEveryWorkerEndsAsInfraError) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  for (int i = 1; i <= 4; ++i) {
    const Delivery delivery = LeaseOne(broker.get());
    EXPECT_EQ(delivery.number, i);
    ASSERT_TRUE(broker->Return(delivery, /*lost=*/true, "it died").ok());
  }
  const Job job = *broker->Get(id);
  EXPECT_EQ(job.state, JobState::kDone);
  EXPECT_EQ(StatusOf(job), "infra_error");
  EXPECT_THAT(GetString(GetObject(job.verdict, "error"), "message"), HasSubstr("it died"));
}

TEST(Leases, WhatIsGivenBackIsNotHeldAgainstTheJob) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(broker->Return(LeaseOne(broker.get()), /*lost=*/false, "restart").ok());
  EXPECT_EQ((*broker->Get(id)).state, JobState::kQueued);
  EXPECT_EQ((*broker->Get(id)).deliveries, 10);
}

TEST(Leases, AReturnedJobIsNextAgain) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string first = SubmitId(broker.get());
  SubmitId(broker.get());
  ASSERT_TRUE(broker->Return(LeaseOne(broker.get()), true, "").ok());
  EXPECT_EQ(LeaseOne(broker.get()).job->request->id, first);
}

TEST(Leases, AnAnswerThatIsNoVerdictIsAnInfraError) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  for (const json::object& answer :
       {json::object{}, json::object{{"status", "splendid"}}, json::object{{"status", 3}}}) {
    const std::string id = SubmitId(broker.get());
    ASSERT_TRUE(broker->Complete(LeaseOne(broker.get()), answer).ok());
    EXPECT_EQ(StatusOf(*broker->Get(id)), "infra_error");
  }
}

TEST(Cancel, QueuedEndsAtOnceRunningWhenItsWorkerSaysSo) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string running = SubmitId(broker.get());
  const std::string queued = SubmitId(broker.get());
  const Delivery delivery = LeaseOne(broker.get());
  ASSERT_TRUE(broker->Cancel(queued).ok());
  EXPECT_EQ(StatusOf(*broker->Get(queued)), "cancelled");
  ASSERT_TRUE(broker->Cancel(queued).ok());
  EXPECT_FALSE(*delivery.cancelled);
  ASSERT_TRUE(broker->Cancel(running).ok());
  EXPECT_TRUE(*delivery.cancelled);
  EXPECT_EQ((*broker->Get(running)).state, JobState::kRunning);
  ASSERT_TRUE(broker->Complete(delivery, VerdictDocument(Request(), "cancelled")).ok());
  EXPECT_EQ(StatusOf(*broker->Get(running)), "cancelled");
  ASSERT_TRUE(broker->Cancel(running).ok());
  EXPECT_EQ(broker->Cancel("none").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE((*broker->Lease("w", Seconds(0.01), Seconds(0))).has_value());
}

TEST(Cancel, AVerdictThatWasFasterStays) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  const Delivery delivery = LeaseOne(broker.get());
  ASSERT_TRUE(broker->Cancel(id).ok());
  ASSERT_TRUE(broker->Complete(delivery, VerdictDocument(Request(), "correct")).ok());
  EXPECT_EQ(StatusOf(*broker->Get(id)), "correct");
}

TEST(Cancel, AfterALostWorkerItIsNotRunAgain) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  const Delivery delivery = LeaseOne(broker.get());
  ASSERT_TRUE(broker->Cancel(id).ok());
  ASSERT_TRUE(broker->Return(delivery, true, "it died").ok());
  EXPECT_EQ(StatusOf(*broker->Get(id)), "cancelled");
}

TEST(TimeLimit, ARunnerThatDoesNotKeepItIsEndedAsInfrastructure) {
  test::FakeClocks clocks;
  BrokerOptions options;
  clocks.Use(&options);
  options.limits.timeout_grace_s = 5;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  JobRequest request = Request();
  request.timeout_s = 10;
  const std::string id = SubmitId(broker.get(), request);
  clocks.Advance(1000);  // waiting does not count
  const Delivery delivery = LeaseOne(broker.get());
  clocks.Advance(14);
  broker->Sweep();
  EXPECT_FALSE(*delivery.cancelled);
  clocks.Advance(2);
  broker->Sweep();
  EXPECT_TRUE(*delivery.cancelled);
  ASSERT_TRUE(broker->Complete(delivery, VerdictDocument(Request(), "cancelled")).ok());
  EXPECT_EQ(StatusOf(*broker->Get(id)), "infra_error");
}

TEST(Watch, TellsEveryChangeInOrderAndTheEndOnce) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  std::mutex mutex;
  std::vector<std::string> seen;
  int done = 0;
  const auto watch = *broker->Watch(id, [&](const Job& job) {
    const std::lock_guard guard(mutex);
    seen.push_back(job.state == JobState::kDone ? StatusOf(job) : "running " + job.stage);
  });
  const auto when_done = *broker->WhenDone(id, [&](const Job&) {
    const std::lock_guard guard(mutex);
    ++done;
  });
  const Delivery delivery = LeaseOne(broker.get());
  ASSERT_TRUE(broker->SetStage(delivery, "load").ok());
  ASSERT_TRUE(broker->SetStage(delivery, "check").ok());
  ASSERT_TRUE(broker->Complete(delivery, VerdictDocument(Request(), "correct")).ok());
  EXPECT_TRUE(test::Eventually([&] {
    const std::lock_guard guard(mutex);
    return seen.size() == 4 && done == 1;
  }));
  EXPECT_THAT(seen, ElementsAre("running ", "running load", "running check", "correct"));
  // Of one that is done: at once.
  std::atomic<int> late{0};
  const auto again =
      *broker->WhenDone(id, [&](const Job& job) { late += StatusOf(job) == "correct" ? 1 : 0; });
  EXPECT_TRUE(test::Eventually([&] { return late == 1; }));
  EXPECT_EQ(broker->WhenDone("none", [](const Job&) {}).error().code, ErrorCode::kNotFound);
  const std::lock_guard guard(mutex);
  EXPECT_EQ(done, 1);
}

TEST(Watch, AHandleThatIsGoneIsNotCalled) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  std::atomic<int> kept{0};
  auto dropped = *broker->WhenDone(id, [](const Job&) { FAIL(); });
  const auto handle = *broker->WhenDone(id, [&](const Job&) { ++kept; });
  dropped.reset();
  ASSERT_TRUE(broker->Cancel(id).ok());
  EXPECT_TRUE(test::Eventually([&] { return kept == 1; }));
}

TEST(Watch, ACallbackMayCallTheBroker) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = SubmitId(broker.get());
  std::atomic<bool> called{false};
  const auto handle = *broker->WhenDone(id, [&](const Job& job) {
    called = (*broker->Peek(job.request->id))->state == JobState::kDone;
  });
  ASSERT_TRUE(broker->Cancel(id).ok());
  EXPECT_TRUE(test::Eventually([&] { return called.load(); }));
}

TEST(Fairness, AnOwnerWithManyJobsDoesNotDelayAnother) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  for (int i = 0; i < 100; ++i) SubmitId(broker.get(), Request("x", "many"));
  const std::string other = SubmitId(broker.get(), Request("x", "one"));
  int before = 0;
  for (;; ++before) {
    const Delivery delivery = LeaseOne(broker.get());
    ASSERT_TRUE(broker->Complete(delivery, VerdictDocument(Request(), "correct")).ok());
    if (delivery.job->request->id == other) break;
  }
  EXPECT_LE(before, 2);
}

TEST(RunnerPool, SeveralDevicesShareTheJobs) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  std::atomic<int> by_device[2] = {0, 0};
  std::vector<std::shared_ptr<JobRunner>> runners;
  runners.reserve(2);
  for (int device = 0; device < 2; ++device)
    runners.push_back(std::make_shared<test::ScriptedRunner>(
        [&by_device, device](const JobRequest& request, const JobRunner::Stage& stage,
                             const CancelFlag&) -> Result<json::object> {
          stage("check");
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          ++by_device[device];
          return VerdictDocument(request, "correct");
        },
        2, "fake:" + std::to_string(device)));
  RunnerPool pool(broker.get(), std::move(runners));
  std::vector<std::string> ids(100);
  for (std::string& id : ids) id = SubmitId(broker.get());
  for (const std::string& id : ids)
    EXPECT_TRUE(test::Eventually([&] { return (*broker->Get(id)).state == JobState::kDone; }));
  EXPECT_GT(by_device[0], 10);
  EXPECT_GT(by_device[1], 10);
  uint64_t judged = 0;
  for (const RunnerPool::WorkerState& worker : pool.Workers()) judged += worker.judged;
  EXPECT_EQ(judged, 100U);
}

TEST(RunnerPool, ARunnerThatCannotWorkOrThrowsLosesNothing) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  std::atomic<int> tries{0};
  const auto script = [&](const JobRequest& request, const JobRunner::Stage&,
                          const CancelFlag&) -> Result<json::object> {
    if (++tries == 1) return Err(ErrorCode::kUnavailable, "the GPU fell off the bus");
    if (tries == 2) throw std::runtime_error("a bug");
    return VerdictDocument(request, "correct");
  };
  RunnerPool pool(broker.get(), {std::make_shared<test::ScriptedRunner>(script, 3)});
  const std::string id = SubmitId(broker.get());
  EXPECT_TRUE(test::Eventually([&] { return (*broker->Get(id)).state == JobState::kDone; }));
  EXPECT_EQ(StatusOf(*broker->Get(id)), "correct");
  EXPECT_EQ((*broker->Get(id)).deliveries, 3);
  EXPECT_EQ(pool.Workers().front().failed, 2U);
  EXPECT_THAT(pool.Workers().front().last_error, HasSubstr("a bug"));
}

TEST(RunnerPool, ABrokenRunnerLeavesTheQueueToTheOthers) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  std::atomic<bool> broken{true};
  std::atomic<int> tries{0};
  const auto works = [](const JobRequest& request, const JobRunner::Stage&,
                        const CancelFlag&) -> Result<json::object> {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return VerdictDocument(request, "correct");
  };
  const auto fails = [&](const JobRequest& request, const JobRunner::Stage&,
                         const CancelFlag&) -> Result<json::object> {
    ++tries;
    if (broken) return Err(ErrorCode::kInternal, "CUDA error: unspecified launch failure");
    return VerdictDocument(request, "correct");
  };
  const auto check = [&]() -> Status {
    if (broken) return Err(ErrorCode::kUnavailable, "no kernel runs on it");
    return {};
  };
  RunnerPool pool(broker.get(),
                  {std::make_shared<test::ScriptedRunner>(fails, 2, "bad:0", check),
                   std::make_shared<test::ScriptedRunner>(works, 1, "good:0")},
                  {.first_pause = Seconds(0.05)});
  std::vector<std::string> ids(100);
  for (std::string& id : ids) id = SubmitId(broker.get());
  for (const std::string& id : ids) {
    EXPECT_TRUE(test::Eventually([&] { return (*broker->Get(id)).state == JobState::kDone; }));
    EXPECT_EQ(StatusOf(*broker->Get(id)), "correct");
  }
  EXPECT_LE(tries, 2);  // one a thread, before the first check
  EXPECT_FALSE(pool.Workers().front().fit);
  EXPECT_TRUE(pool.Workers().back().fit);
  EXPECT_THAT(pool.Workers().front().last_error, HasSubstr("no kernel runs"));
  broken = false;
  EXPECT_TRUE(test::Eventually([&] { return pool.Workers().front().fit; }));
}

TEST(RunnerPool, AJobThatOnlyFailsItselfEndsAndItsRunnerGoesOn) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const auto script = [](const JobRequest& request, const JobRunner::Stage&,
                         const CancelFlag&) -> Result<json::object> {
    if (request.source == "bad") return Err(ErrorCode::kInternal, "it filled the card");
    return VerdictDocument(request, "correct");
  };
  RunnerPool pool(broker.get(), {std::make_shared<test::ScriptedRunner>(script, 2)});
  const std::string bad = SubmitId(broker.get(), Request("bad"));
  const std::string good = SubmitId(broker.get());
  for (const std::string& id : {good, bad})
    EXPECT_TRUE(test::Eventually([&] { return (*broker->Get(id)).state == JobState::kDone; }));
  EXPECT_EQ(StatusOf(*broker->Get(good)), "correct");
  EXPECT_EQ(StatusOf(*broker->Get(bad)), "infra_error");
  EXPECT_EQ((*broker->Get(bad)).deliveries, 4);
  EXPECT_THAT(GetString(GetObject((*broker->Get(bad)).verdict, "error"), "message"),
              HasSubstr("it filled the card"));
  EXPECT_TRUE(pool.Workers().front().fit);
}

TEST(RunnerPool, DrainFinishesWhatRunsAndKeepsWhatWaits) {
  const test::TempFolder folder;
  BrokerOptions options;
  options.path = folder.File("s.db");
  std::string running;
  std::string waiting;
  {
    const std::unique_ptr<Broker> broker = test::OpenBroker(options);
    RunnerPool pool(broker.get(), {std::make_shared<EchoRunner>("echo", 1, Seconds(0.2))});
    running = SubmitId(broker.get());
    waiting = SubmitId(broker.get());
    ASSERT_TRUE(
        test::Eventually([&] { return (*broker->Get(running)).state == JobState::kRunning; }));
    broker->Drain();
    EXPECT_TRUE(broker->WaitIdle(DeadlineIn(Seconds(10))));
    EXPECT_EQ((*broker->Get(running)).state, JobState::kDone);
    EXPECT_EQ((*broker->Get(waiting)).state, JobState::kQueued);
  }
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const Job job = *broker->Get(waiting);
  EXPECT_EQ(job.state, JobState::kQueued);
  EXPECT_EQ(job.deliveries, 0);
  // What the echo said is no judgement.
  EXPECT_EQ(GetString(GetObject((*broker->Get(running)).verdict, "error"), "name"), "echo");
}

TEST(RunnerPool, InterruptGivesBackWhatRuns) {
  const test::TempFolder folder;
  BrokerOptions options;
  options.path = folder.File("s.db");
  std::string id;
  std::string cancelled;
  {
    const std::unique_ptr<Broker> broker = test::OpenBroker(options);
    RunnerPool pool(broker.get(), {std::make_shared<EchoRunner>("echo", 2, Seconds(600))});
    id = SubmitId(broker.get());
    cancelled = SubmitId(broker.get());
    ASSERT_TRUE(test::Eventually([&] { return broker->Depth().running == 2; }));
    ASSERT_TRUE(broker->Cancel(cancelled).ok());
    broker->Interrupt();
    EXPECT_TRUE(broker->WaitIdle(DeadlineIn(Seconds(10))));
  }
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  EXPECT_EQ((*broker->Get(id)).state, JobState::kQueued);
  EXPECT_EQ(LeaseOne(broker.get()).job->request->id, id);
  EXPECT_EQ(StatusOf(*broker->Get(cancelled)), "cancelled");
}

TEST(Recovery, RunningJobsAreQueuedAgainThreeTimes) {
  const test::TempFolder folder;
  BrokerOptions options;
  options.path = folder.File("s.db");
  std::string id;
  std::string cancelled;
  for (int life = 0; life < 4; ++life) {
    const std::unique_ptr<Broker> broker = test::OpenBroker(options);
    if (life == 0) {
      id = SubmitId(broker.get());
      cancelled = SubmitId(broker.get());
    }
    EXPECT_EQ((*broker->Get(id)).state, JobState::kQueued);
    EXPECT_EQ(LeaseOne(broker.get()).number, life + 1);
    if (life > 0) continue;
    EXPECT_EQ(LeaseOne(broker.get()).job->request->id, cancelled);
    ASSERT_TRUE(broker->Cancel(cancelled).ok());
  }
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const Job job = *broker->Get(id);
  EXPECT_EQ(StatusOf(job), "infra_error");
  EXPECT_THAT(GetString(GetObject(job.verdict, "error"), "message"), HasSubstr("ended 4 times"));
  EXPECT_EQ(StatusOf(*broker->Get(cancelled)), "cancelled");
  EXPECT_EQ((*broker->Submit(Request())).sequence, 3);
}

TEST(Concurrency, EveryJobEndsOnceUnderEverythingAtOnce) {
  BrokerOptions options;
  options.limits.cache_bytes = 50'000;  // small: finished jobs are also read from the store
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  std::atomic<int> counter{0};
  const auto script = [&](const JobRequest& request, const JobRunner::Stage& stage,
                          const CancelFlag& cancelled) -> Result<json::object> {
    stage("load");
    const int number = ++counter;
    if (number % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    stage("check");
    return VerdictDocument(request, *cancelled ? "cancelled" : "correct", std::to_string(number));
  };
  RunnerPool pool(broker.get(), {std::make_shared<test::ScriptedRunner>(script, 4)});
  std::atomic<int> ended{0};
  constexpr int kThreads = 4;
  constexpr int kEach = 100;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  std::mutex mutex;
  std::vector<std::shared_ptr<void>> handles;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        JobRequest request = Request("x", "owner-" + std::to_string(t));
        request.priority = i % 3;
        const std::string id = SubmitId(broker.get(), request);
        auto handle = broker->WhenDone(id, [&](const Job&) { ++ended; });
        ASSERT_TRUE(handle.ok());
        if (i % 5 == 0) {
          ASSERT_TRUE(broker->Cancel(id).ok());
        }
        ASSERT_TRUE(broker->Peek(id).ok());
        if (i % 20 == 0) {
          ASSERT_FALSE(broker->List(test::Wanted().Limit(10)).empty());
        }
        static_cast<void>(broker->Depth());
        const std::lock_guard guard(mutex);
        handles.push_back(*std::move(handle));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(test::Eventually([&] { return ended == kThreads * kEach; }));
  EXPECT_TRUE(test::Eventually([&] { return broker->Depth().running == 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ended, kThreads * kEach);  // none twice
  const std::vector<Job> jobs = broker->List(test::Wanted().State(JobState::kDone).Limit(1000));
  EXPECT_EQ(jobs.size(), static_cast<size_t>(kThreads * kEach));
}

}  // namespace
}  // namespace assay
