#include <thread>

#include "broker/broker_testing.h"
#include "broker/sqlite.h"
#include "broker/store.h"

namespace assay {
namespace {

using test::Request;
using ::testing::HasSubstr;

Error SubmitError(Broker* broker, JobRequest request) {
  Result<Job> job = broker->Submit(std::move(request));
  return job.ok() ? Error{ErrorCode::kInternal, "accepted"} : job.error();
}

TEST(Submit, RefusesWhatCannotBeJudged) {
  BrokerOptions options;
  options.limits.max_source_bytes = 1000;
  options.check = [](const JobRequest& request) -> Status {
    if (request.task_id == "none") return Err(ErrorCode::kNotFound, "no task 'none'");
    return {};
  };
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  struct Case {
    std::function<void(JobRequest*)> change;
    std::string says;
  };
  for (const Case& wrong : std::vector<Case>{
           {[](JobRequest* r) { r->source = " \n\t"; }, "the submission is empty"},
           {[](JobRequest* r) { r->source = std::string(1001, 'x'); }, "1000 is the most"},
           {[](JobRequest* r) { r->task_id.clear(); }, "name a task"},
           {[](JobRequest* r) { r->id = "../../etc"; }, "the id is not usable"},
           {[](JobRequest* r) { r->id = ".."; }, "the id is not usable"},
           {[](JobRequest* r) { r->id = std::string(129, 'x'); }, "the id is not usable"},
           {[](JobRequest* r) { r->id = std::string("a\0b", 3); }, "the id is not usable"},
           {[](JobRequest* r) { r->idempotency = "a\nb"; }, "idempotency key is not usable"},
           {[](JobRequest* r) { r->idempotency = std::string(256, 'k'); }, "idempotency key"},
           {[](JobRequest* r) { r->owner = "a\nb"; }, "owner's name"},
           {[](JobRequest* r) { r->entry = "Model)"; }, "names of Python classes"},
           {[](JobRequest* r) { r->submission_entry = "x; import os"; }, "names of Python classes"},
           {[](JobRequest* r) { r->timeout_s = -1; }, "the time limit"},
           {[](JobRequest* r) { r->timeout_s = std::nan(""); }, "the time limit"},
           {[](JobRequest* r) { r->timeout_s = 1e9; }, "the time limit"},
           {[](JobRequest* r) { r->options["x"] = std::string(20'000, 'x'); },
            "options are larger"},
           {[](JobRequest* r) { r->task_id = "none"; }, "no task 'none'"},
       }) {
    JobRequest request = Request();
    wrong.change(&request);
    const Error error = SubmitError(broker.get(), std::move(request));
    EXPECT_THAT(error.message, HasSubstr(wrong.says));
    EXPECT_EQ(error.code,
              wrong.says == "no task 'none'" ? ErrorCode::kNotFound : ErrorCode::kInvalid);
  }
  EXPECT_EQ(broker->Depth().queued, 0U);
}

TEST(Submit, AcceptsAndFindsAgain) {
  test::FakeClocks clocks;
  BrokerOptions options;
  clocks.Use(&options);
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const Result<Job> job = broker->Submit(Request("source"));
  ASSERT_TRUE(job.ok());
  EXPECT_THAT((*job).request->id, ::testing::StartsWith("sub-"));
  EXPECT_EQ((*job).state, JobState::kQueued);
  EXPECT_EQ((*job).sequence, 1);
  EXPECT_EQ((*job).submitted_at, 1'700'000'000);
  EXPECT_EQ((*broker->Get((*job).request->id)).request->source, "source");
  EXPECT_EQ((*broker->Submit(Request())).sequence, 2);
  clocks.Advance(7);
  EXPECT_EQ(broker->Depth().queued, 2U);
  EXPECT_EQ(broker->Depth().oldest_wait_s, 7);
  EXPECT_EQ(broker->Get("sub-none").error().code, ErrorCode::kNotFound);
}

TEST(Submit, ThenCallsBackOnAnotherThread) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  std::mutex held;  // a callback under a lock of ours would never get it
  std::unique_lock guard(held);
  std::atomic<int> accepted{0};
  std::atomic<int> refused{0};
  const auto done = [&](const Result<SharedJob>& job) {
    const std::lock_guard inside(held);
    ++(job.ok() ? accepted : refused);
  };
  broker->SubmitThen(Request(), done);
  broker->SubmitThen(Request(""), done);
  guard.unlock();
  EXPECT_TRUE(test::Eventually([&] { return accepted == 1 && refused == 1; }));
}

TEST(Submit, TheSameKeyIsTheSameJob) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  JobRequest request = Request("one");
  request.idempotency = "k";
  const std::string id = (*broker->Submit(request)).request->id;
  EXPECT_EQ((*broker->Submit(request)).request->id, id);
  JobRequest other = request;
  other.source = "two";
  const Error conflict = SubmitError(broker.get(), other);
  EXPECT_EQ(conflict.code, ErrorCode::kInvalid);
  EXPECT_THAT(conflict.message, HasSubstr("idempotency key was used before"));
  other.owner = "another";
  EXPECT_NE((*broker->Submit(other)).request->id, id);
  EXPECT_EQ(broker->Depth().queued, 2U);
  // Also once it is done.
  ASSERT_TRUE(broker->Cancel(id).ok());
  EXPECT_EQ((*broker->Submit(request)).state, JobState::kDone);
}

TEST(Submit, TheSameIdIsTheSameJobOfItsOwnerOnly) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  JobRequest request = Request("one", "alice");
  request.id = "mine";
  ASSERT_TRUE(broker->Submit(request).ok());
  EXPECT_EQ((*broker->Submit(request)).sequence, 1);
  JobRequest other = request;
  other.source = "two";
  EXPECT_EQ(SubmitError(broker.get(), other).code, ErrorCode::kInvalid);
  other = request;
  other.owner = "bob";
  EXPECT_EQ(SubmitError(broker.get(), other).code, ErrorCode::kInvalid);
}

TEST(Submit, AnIdOfLongAgoIsNotJudgedAgain) {
  BrokerOptions options;
  options.limits.cache_bytes = 0;  // only the store knows it
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  JobRequest request = Request("one");
  request.id = "old";
  ASSERT_TRUE(broker->Submit(request).ok());
  const Delivery first = **broker->Lease("w", Seconds(5), Seconds(0));
  ASSERT_TRUE(broker->Complete(first, test::VerdictDocument(request, "correct", "first")).ok());
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) {
      const auto delivery = *broker->Lease("w", Seconds(0.01), Seconds(0));
      if (!delivery) continue;
      // The worker may have it before the store says that it is an old one; then it is late.
      const json::object verdict = test::VerdictDocument(request, "incorrect", "second");
      EXPECT_EQ(broker->Complete(*delivery, verdict).error().code, ErrorCode::kClosed);
    }
  });
  for (int i = 0; i < 50; ++i) {
    const Result<Job> again = broker->Submit(request);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ((*again).state, JobState::kDone);
    EXPECT_EQ(test::StatusOf(*again), "correct");
    JobRequest other = Request("two");
    other.id = "old";
    EXPECT_EQ(SubmitError(broker.get(), other).code, ErrorCode::kInvalid);
  }
  EXPECT_TRUE(test::Eventually([&] {
    const QueueDepth depth = broker->Depth();
    return depth.queued == 0 && depth.running == 0;
  }));
  stop = true;
  worker.join();
  EXPECT_EQ(test::StatusOf(*broker->Get("old")), "correct");
}

TEST(Submit, WhatTheStoreDoesNotTakeIsNotAcceptedAndVerdictsAreTriedAgain) {
  const test::TempFolder folder;
  BrokerOptions options;
  options.path = folder.File("s.db");
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const std::string id = (*broker->Submit(Request("one"))).request->id;
  const Delivery delivery = **broker->Lease("w", Seconds(5), Seconds(0));
  ASSERT_TRUE(broker->documents()->Put("barrier", "b", {}).ok());  // and the delivery is written
  const std::unique_ptr<Database> other =
      *Database::Open({.path = options.path, .read_only = false});
  ASSERT_TRUE(other->Execute("BEGIN IMMEDIATE").ok());
  ASSERT_TRUE(broker->CompleteBehind(delivery, test::VerdictDocument(Request(), "correct")).ok());
  EXPECT_EQ(SubmitError(broker.get(), Request("two")).code, ErrorCode::kUnavailable);
  EXPECT_EQ((*broker->Get(id)).state, JobState::kRunning);
  EXPECT_EQ(broker->Depth().queued, 0U) << "the refused one is withdrawn";
  ASSERT_TRUE(other->Execute("COMMIT").ok());
  EXPECT_TRUE(test::Eventually([&] { return (*broker->Get(id)).state == JobState::kDone; }));
  EXPECT_EQ(test::StatusOf(*broker->Get(id)), "correct");
  EXPECT_TRUE(broker->Submit(Request("two")).ok());
}

TEST(Submit, TheSameKeyFromManyThreadsIsOneJob) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  std::mutex mutex;
  std::set<std::string> ids;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        JobRequest request = Request();
        request.idempotency = "key-" + std::to_string(i);
        const Result<Job> job = broker->Submit(request);
        ASSERT_TRUE(job.ok());
        const std::lock_guard guard(mutex);
        ids.insert((*job).request->id);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ids.size(), 50U);
  EXPECT_EQ(broker->Depth().queued, 50U);
}

TEST(Submit, QueuesAreBounded) {
  MetricRegistry metrics;
  BrokerOptions options;
  options.limits.max_queued = 5;
  options.limits.max_queued_per_owner = 3;
  options.metrics = &metrics;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  JobRequest kept = Request("kept", "a");
  kept.idempotency = "kept";
  const std::string id = (*broker->Submit(kept)).request->id;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(broker->Submit(Request("x", "a")).ok());
  Error error = SubmitError(broker.get(), Request("x", "a"));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("you have 3 jobs in the queue"));
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(broker->Submit(Request("x", "b")).ok());
  error = SubmitError(broker.get(), Request("x", "b"));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("the queue is full (5 jobs)"));
  // What is there already is no new job.
  EXPECT_EQ((*broker->Submit(kept)).request->id, id);
  // A place that becomes free is a place.
  ASSERT_TRUE(broker->Cancel(id).ok());
  EXPECT_TRUE(broker->Submit(Request("x", "b")).ok());
  EXPECT_THAT(metrics.ToPrometheus(),
              HasSubstr("assay_submissions_refused_total{reason=\"full\"} 1\n"));
  EXPECT_THAT(metrics.ToPrometheus(),
              HasSubstr("assay_submissions_refused_total{reason=\"quota\"} 1\n"));
}

TEST(Submit, AnOwnersQuotaGoesBelowTheLimitAndNotAboveIt) {
  BrokerOptions options;
  options.limits.max_queued_per_owner = 3;
  options.quota = [](const std::string& owner) -> size_t {
    return owner == "small" ? 1 : owner == "large" ? 1000 : 0;
  };
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  for (const auto& [owner, most] : {std::pair{"small", 1}, {"large", 3}, {"other", 3}}) {
    for (int i = 0; i < most; ++i) ASSERT_TRUE(broker->Submit(Request("x", owner)).ok());
    const Error error = SubmitError(broker.get(), Request("x", owner));
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_EQ(error.message, fmt::format("you have {} jobs in the queue, which is the most", most));
  }
}

TEST(Submit, QueuesAreBoundedInBytes) {
  BrokerOptions options;
  options.limits.max_queued_bytes = 1000;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const std::string id = (*broker->Submit(Request(std::string(600, 'x')))).request->id;
  EXPECT_EQ(SubmitError(broker.get(), Request(std::string(401, 'x'))).code,
            ErrorCode::kUnavailable);
  ASSERT_TRUE(broker->Submit(Request(std::string(400, 'x'))).ok());
  ASSERT_TRUE(broker->Cancel(id).ok());
  ASSERT_TRUE(broker->Submit(Request(std::string(600, 'x'))).ok());
}

TEST(Submit, NobodyTakesAllOfTheQueuesBytes) {
  BrokerOptions options;
  options.limits.max_queued_bytes = 1000;
  options.limits.max_queued_bytes_per_owner = 500;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  JobRequest large = Request(std::string(250, 'x'), "a");
  large.task_source = std::string(250, 'y');
  const std::string id = (*broker->Submit(large)).request->id;
  const Error error = SubmitError(broker.get(), Request("x", "a"));
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("you have 500 bytes of sources in the queue"));
  EXPECT_TRUE(broker->Submit(Request(std::string(500, 'x'), "b")).ok());
  ASSERT_TRUE(broker->Cancel(id).ok());
  EXPECT_TRUE(broker->Submit(large).ok());
}

TEST(Submit, ManyAtOnceDoNotPassTheBound) {
  BrokerOptions options;
  options.limits.max_queued = 40;
  options.limits.max_queued_per_owner = 25;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  std::atomic<int> accepted[2] = {0, 0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i)
        if (broker->Submit(Request("x", t % 2 == 0 ? "a" : "b")).ok()) ++accepted[t % 2];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(accepted[0], 25);
  EXPECT_LE(accepted[1], 25);
  EXPECT_EQ(accepted[0] + accepted[1], 40);
  EXPECT_EQ(broker->Depth().queued, 40U);
}

TEST(Submit, RetryAfterFollowsTheRates) {
  test::FakeClocks clocks;
  BrokerOptions options;
  clocks.Use(&options);
  options.limits.expected_s = 2;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  EXPECT_EQ(broker->retry_after_s(), 2);
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(broker->Submit(Request()).ok());
  EXPECT_EQ(broker->retry_after_s(), 20);
  EXPECT_EQ(broker->Depth().drain_estimate_s, 160);
  for (int i = 0; i < 40; ++i) {  // they turn out to take 5 s
    const auto delivery = *broker->Lease("w", Seconds(1), Seconds(0));
    clocks.Advance(5);
    ASSERT_TRUE(
        broker->Complete(*delivery, test::VerdictDocument(delivery->job->request, "correct")).ok());
  }
  EXPECT_NEAR(broker->Depth().drain_estimate_s, 200, 1);
  EXPECT_NEAR(broker->retry_after_s(), 25, 0.1);
  broker->Drain();
  EXPECT_EQ(broker->retry_after_s(), 10);
}

TEST(Submit, AFullPartIsEstimatedFromThatPart) {
  test::FakeClocks clocks;
  MetricRegistry metrics;
  BrokerOptions options;
  clocks.Use(&options);
  options.limits.expected_s = 2;
  options.limits.max_queued_per_owner = 16;
  options.metrics = &metrics;
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  for (int owner = 0; owner < 9; ++owner)
    for (int i = 0; i < 16; ++i)
      ASSERT_TRUE(broker->Submit(Request("x", "owner-" + std::to_string(owner))).ok());
  ASSERT_TRUE(broker->Submit(Request("x", "other")).ok());
  // Two of its own, each of them while the ten owners have one judged.
  EXPECT_EQ(broker->retry_after_of("owner-1"), 2 * 2 * 10);
  // Whose part is not full waits for the whole.
  EXPECT_EQ(broker->retry_after_of("other"), broker->retry_after_s());
  EXPECT_FALSE(broker->Submit(Request("x", "owner-1")).ok());
  EXPECT_THAT(metrics.ToPrometheus(),
              ::testing::HasSubstr("assay_submissions_refused_total{reason=\"quota\"} 1"));
}

TEST(Submit, ClocksThatJumpChangeNoOrderAndNoWait) {
  test::FakeClocks clocks;
  BrokerOptions options;
  clocks.Use(&options);
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const Job first = *broker->Submit(Request());
  clocks.unix_s = 1000;  // decades back
  const Job second = *broker->Submit(Request());
  EXPECT_GT(second.sequence, first.sequence);
  EXPECT_EQ(broker->Depth().oldest_wait_s, 0);
  clocks.steady_s = clocks.steady_s + 3;
  EXPECT_EQ(broker->Depth().oldest_wait_s, 3);
  const auto delivery = *broker->Lease("w", Seconds(1), Seconds(60));
  EXPECT_EQ(delivery->job->request->id, first.request->id);
  EXPECT_GE(delivery->job->started_at, first.submitted_at);
  clocks.unix_s = 4e9;  // a century ahead: no lease ends by it
  broker->Sweep();
  ASSERT_TRUE(broker->Complete(*delivery, test::VerdictDocument(first.request, "correct")).ok());
  const Job done = *broker->Get(first.request->id);
  EXPECT_GE(done.finished_at, done.started_at);
  clocks.unix_s = 5;
  ASSERT_TRUE(broker->Cancel(second.request->id).ok());
  const Job cancelled = *broker->Get(second.request->id);
  EXPECT_GE(cancelled.finished_at, cancelled.submitted_at);
}

TEST(Submit, AfterADrainNothingIsAccepted) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  JobRequest request = Request();
  request.id = "before";
  ASSERT_TRUE(broker->Submit(request).ok());
  broker->Drain();
  const Error error = SubmitError(broker.get(), Request());
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("shutting down"));
  EXPECT_TRUE(broker->Submit(request).ok());  // a repeat learns what it has
  EXPECT_FALSE((*broker->Lease("w", Seconds(0.01), Seconds(0))).has_value());
}

TEST(Submit, DocumentsAreKept) {
  const test::TempFolder folder;
  BrokerOptions options;
  options.path = folder.File("s.db");
  {
    const std::unique_ptr<Broker> broker = test::OpenBroker(options);
    ASSERT_TRUE(broker->documents()->Put("episode", "e", {{"turn", 3}}).ok());
    EXPECT_EQ(broker->documents()->Delete("episode", "none").error().code, ErrorCode::kNotFound);
  }
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  EXPECT_EQ(GetInt(*broker->documents()->Get("episode", "e"), "turn"), 3);
  EXPECT_THAT(broker->documents()->List("episode", 5), ::testing::ElementsAre("e"));
}

}  // namespace
}  // namespace assay
