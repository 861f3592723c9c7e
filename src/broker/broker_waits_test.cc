// What must not wait: clients of a server that stops, threads that serve.

#include <map>

#include "broker/broker_testing.h"
#include "broker/sqlite.h"

namespace assay {
namespace {

using test::Request;
using test::StatusOf;
using ::testing::ElementsAre;

std::string SubmitId(Broker* broker) {
  const Result<Job> job = broker->Submit(Request());
  EXPECT_TRUE(job.ok());
  return (*job).request->id;
}

Delivery LeaseOne(Broker* broker) {
  const Result<std::optional<Delivery>> delivery = broker->Lease("w", Seconds(5), Seconds(0));
  if (!delivery.ok() || !*delivery) Fatal("nothing to lease", __FILE__, __LINE__);
  return **delivery;
}

TEST(Watch, ADrainTellsWhoWaitsForWhatWaits) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string running = SubmitId(broker.get());
  const std::string queued = SubmitId(broker.get());
  const Delivery delivery = LeaseOne(broker.get());
  std::mutex mutex;
  std::map<std::string, std::vector<std::string>> told;
  const auto tell = [&](const char* who) {
    return [&, who](const Job& job) {
      const std::lock_guard guard(mutex);
      told[who].push_back(job.state == JobState::kDone     ? StatusOf(job)
                          : job.state == JobState::kQueued ? "queued"
                                                           : "running");
    };
  };
  const auto count = [&](const char* who, size_t times) {
    return test::Eventually([&] {
      const std::lock_guard guard(mutex);
      return told[who].size() == times;
    });
  };
  const auto of_running = *broker->WhenDoneOrKept(running, tell("running"));
  const auto of_queued = *broker->WhenDoneOrKept(queued, tell("queued"));
  const auto patient = *broker->WhenDone(queued, tell("patient"));
  const auto watch = *broker->Watch(queued, tell("watch"));
  broker->Drain();
  EXPECT_TRUE(count("queued", 1));
  EXPECT_TRUE(count("watch", 1));
  // Who comes later is told at once; what is judged is still awaited, even if it comes back.
  const auto late = *broker->WhenDoneOrKept(queued, tell("late"));
  EXPECT_TRUE(count("late", 1));
  EXPECT_TRUE(count("running", 0));
  ASSERT_TRUE(broker->Return(delivery, /*lost=*/true, "it broke").ok());
  EXPECT_TRUE(count("running", 1));
  ASSERT_TRUE(broker->Cancel(queued).ok());
  EXPECT_TRUE(count("patient", 1));
  const std::lock_guard guard(mutex);
  EXPECT_THAT(told["running"], ElementsAre("queued"));
  EXPECT_THAT(told["queued"], ElementsAre("queued"));  // not again for its end
  EXPECT_THAT(told["patient"], ElementsAre("cancelled"));
}

TEST(Cancel, ThenDoesNotWaitForTheDisk) {
  const test::TempFolder folder;
  BrokerOptions options;
  options.path = folder.File("s.db");
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const std::string running = SubmitId(broker.get());
  const Delivery delivery = LeaseOne(broker.get());
  const std::string queued = SubmitId(broker.get());
  std::mutex mutex;
  std::map<std::string, Status> answers;
  const auto answered = [&] {
    const std::lock_guard guard(mutex);
    return answers.size();
  };
  const std::unique_ptr<Database> other =
      *Database::Open({.path = options.path, .read_only = false});
  ASSERT_TRUE(other->Execute("BEGIN IMMEDIATE").ok());  // nobody else can write
  for (const std::string& id : {running, queued})
    broker->CancelThen(id, [&, id](const Status& status) {
      const std::lock_guard guard(mutex);
      answers.emplace(id, status);
    });
  EXPECT_EQ(answered(), 0U);
  ASSERT_TRUE(other->Execute("COMMIT").ok());
  EXPECT_TRUE(test::Eventually([&] { return answered() == 2; }));
  EXPECT_TRUE(answers.at(running).ok());
  EXPECT_TRUE(*delivery.cancelled);
  EXPECT_TRUE(answers.at(queued).ok());
  EXPECT_EQ(StatusOf(*broker->Get(queued)), "cancelled");
  broker->CancelThen("none", [&](const Status& status) {
    const std::lock_guard guard(mutex);
    answers.emplace("none", status);
  });
  EXPECT_TRUE(test::Eventually([&] { return answered() == 3; }));
  EXPECT_EQ(answers.at("none").error().code, ErrorCode::kNotFound);
}

TEST(Leases, AreRenewedWhileTheVerdictIsWrittenForItMayNeverBe) {
  const test::TempFolder folder;
  test::FakeClocks clocks;
  BrokerOptions options;
  options.path = folder.path() / "store.db";
  clocks.Use(&options);
  const std::unique_ptr<Broker> broker = test::OpenBroker(options);
  const std::string id = SubmitId(broker.get());
  const Delivery delivery = **broker->Lease("w", Seconds(0), Seconds(10));
  const std::unique_ptr<Database> disk = *Database::Open({.path = options.path});
  ASSERT_TRUE(disk->Execute("BEGIN IMMEDIATE").ok());
  std::atomic<bool> failed{false};
  broker->CompleteThen(delivery, test::VerdictDocument(delivery.job->request, "correct"),
                       [&](const Status& stored) { failed = !stored.ok(); });
  for (int i = 0; i < 3; ++i) {
    clocks.Advance(8);
    EXPECT_TRUE(broker->Renew(delivery, Seconds(10)).ok());
  }
  ASSERT_TRUE(disk->Execute("ALTER TABLE jobs RENAME TO others; COMMIT").ok());
  ASSERT_TRUE(test::Eventually([&] { return failed.load(); }));
  broker->Sweep();
  ASSERT_TRUE(disk->Execute("ALTER TABLE others RENAME TO jobs").ok());
  ASSERT_TRUE(
      broker->Complete(delivery, test::VerdictDocument(delivery.job->request, "correct")).ok());
  EXPECT_EQ(StatusOf(*broker->Get(id)), "correct");
  EXPECT_EQ((*broker->Get(id)).deliveries, 1);
}

}  // namespace
}  // namespace assay
