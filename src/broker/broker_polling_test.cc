// What serves workers in other processes: looks that do not wait, calls that do not block.

#include "broker/broker_testing.h"
#include "broker/runner_pool.h"

namespace assay {
namespace {

using test::Eventually;
using test::Request;
using test::VerdictDocument;

Delivery Take(Broker* broker) {
  const Result<std::optional<Delivery>> delivery = broker->Lease("w", Seconds(0), Seconds(0));
  if (!delivery.ok() || !*delivery) Fatal("nothing to lease", __FILE__, __LINE__);
  return **delivery;
}

TEST(WhenQueued, TellsWhoHasNoThreadThatThereIsSomething) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  EXPECT_FALSE((*broker->Lease("w", Seconds(0), Seconds(0))).has_value());
  std::atomic<int> looks{0};
  std::shared_ptr<void> listening = broker->WhenQueued([&] { ++looks; });
  ASSERT_TRUE(broker->Submit(Request()).ok());
  ASSERT_TRUE(Eventually([&] { return looks == 1; }));
  ASSERT_TRUE(broker->Return(Take(broker.get()), /*lost=*/false, "").ok());
  ASSERT_TRUE(Eventually([&] { return looks == 2; }));
  broker->Drain();
  ASSERT_TRUE(Eventually([&] { return looks == 3; }));
}

TEST(WhenQueued, EndsWithItsHandle) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  std::atomic<int> looks{0};
  std::shared_ptr<void> listening = broker->WhenQueued([&] { ++looks; });
  listening.reset();
  ASSERT_TRUE(broker->Submit(Request()).ok());
  listening = broker->WhenQueued([&] { looks += 100; });
  ASSERT_TRUE(broker->Submit(Request()).ok());
  ASSERT_TRUE(Eventually([&] { return looks == 100; }));
}

TEST(CompleteThen, SaysWhenTheVerdictIsStored) {
  const std::unique_ptr<Broker> broker = test::OpenBroker();
  const std::string id = (*broker->Submit(Request())).request->id;
  const Delivery delivery = Take(broker.get());
  std::atomic<int> stored{0};
  broker->CompleteThen(delivery, VerdictDocument(Request(), "correct"),
                       [&](const Status& status) { stored = status.ok() ? 1 : -1; });
  ASSERT_TRUE(Eventually([&] { return stored == 1; }));
  EXPECT_EQ(test::StatusOf(*broker->Get(id)), "correct");
  ErrorCode late{};
  broker->CompleteThen(delivery, VerdictDocument(Request(), "incorrect"),
                       [&](const Status& status) { late = status.error().code; });
  EXPECT_EQ(late, ErrorCode::kClosed);
  broker->ReturnThen(delivery, true, "", [&](const Status& status) {
    late = status.ok() ? ErrorCode::kInternal : status.error().code;
  });
  EXPECT_EQ(late, ErrorCode::kClosed);
}

/// Gives out one job, only once the pool is stopping.
class LateLeases final : public JobLeases {
 public:
  Result<std::optional<Delivery>> Lease(const std::string&, Seconds, Seconds ttl) override {
    asked_ttl = ttl;
    asked = true;
    while (!give) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    auto job = std::make_shared<Job>();
    job->request = SharedRequest(Request());
    return std::optional(Delivery{job, 1, std::make_shared<std::atomic<bool>>(false)});
  }
  Status Renew(const Delivery&, Seconds) override { return {}; }
  Status SetStage(const Delivery&, std::string_view) override { return {}; }
  Status Complete(const Delivery&, json::object) override { return {}; }
  Status CompleteBehind(const Delivery&, json::object) override { return {}; }
  Status Return(const Delivery&, bool lost, std::string_view) override {
    returned = lost ? -1 : 1;
    return {};
  }

  std::atomic<bool> asked{false};
  std::atomic<bool> give{false};
  std::atomic<int> returned{0};
  Seconds asked_ttl{0};
};

TEST(RunnerPool, GivesBackWhatComesWhileItStops) {
  LateLeases leases;
  std::atomic<int> judged{0};
  const auto runner = std::make_shared<test::ScriptedRunner>(
      [&](const JobRequest& request, const JobRunner::Stage&, const CancelFlag&) {
        ++judged;
        return VerdictDocument(request, "correct");
      });
  RunnerPool pool(&leases, {runner}, {.look = Seconds(1), .ttl = Seconds(60)});
  ASSERT_TRUE(Eventually([&] { return leases.asked.load(); }));
  std::jthread stopper([&] { pool.Stop(); });
  leases.give = true;
  stopper.join();
  EXPECT_EQ(leases.returned, 1);
  EXPECT_EQ(judged, 0);
  EXPECT_EQ(leases.asked_ttl, Seconds(60));
}

}  // namespace
}  // namespace assay
