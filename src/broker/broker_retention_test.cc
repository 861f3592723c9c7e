#include "broker/broker_testing.h"
#include "broker/sqlite_store.h"
#include "broker/store.h"

namespace assay {
namespace {

using test::Request;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kDay = 86'400;

/// The tables as they were once.
constexpr const char* kToFirstVersion = R"(
  CREATE TABLE first_sources(sha256 TEXT PRIMARY KEY, text BLOB NOT NULL);
  INSERT INTO first_sources SELECT sha256, text FROM sources;
  CREATE TABLE first_jobs(
    sequence INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, idempotency TEXT,
    fingerprint TEXT NOT NULL, task_id TEXT NOT NULL, task_source TEXT REFERENCES sources,
    entry TEXT NOT NULL, submission_entry TEXT NOT NULL, source TEXT NOT NULL REFERENCES sources,
    options TEXT NOT NULL, priority INTEGER NOT NULL, timeout_s REAL NOT NULL,
    state INTEGER NOT NULL, cancel INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0, losses INTEGER NOT NULL DEFAULT 0,
    submitted_at REAL NOT NULL, started_at REAL NOT NULL DEFAULT 0,
    finished_at REAL NOT NULL DEFAULT 0, worker TEXT NOT NULL DEFAULT '', status TEXT,
    verdict TEXT, raw TEXT);
  INSERT INTO first_jobs SELECT sequence, j.id, owner, idempotency, 'f', task_id, t.sha256, entry,
    submission_entry, s.sha256, options, priority, timeout_s, state, cancel, deliveries, losses,
    submitted_at, started_at, finished_at, worker, status, verdict, raw
    FROM jobs j JOIN sources s ON s.id = j.source LEFT JOIN sources t ON t.id = j.task_source;
  DROP TABLE jobs;
  DROP TABLE sources;
  ALTER TABLE first_sources RENAME TO sources;
  ALTER TABLE first_jobs RENAME TO jobs;
  CREATE UNIQUE INDEX jobs_idempotency ON jobs(owner, idempotency) WHERE idempotency IS NOT NULL;
  CREATE INDEX jobs_unfinished ON jobs(sequence) WHERE state < 2;
  CREATE INDEX jobs_owner ON jobs(owner, sequence);
  CREATE INDEX jobs_task ON jobs(task_id, sequence);
  ALTER TABLE documents DROP COLUMN changed_at;
  PRAGMA user_version = 1;
)";

class Retention : public ::testing::Test {
 protected:
  void Start(double days) {
    broker_.reset();
    BrokerOptions options;
    options.path = folder_.File("s.db");
    options.retain = Seconds(days * kDay);
    options.retained = {"episode"};
    clocks_.Use(&options);
    broker_ = test::OpenBroker(options);
  }
  std::string Judged(const std::string& source) {
    std::string id = (*broker_->Submit(Request(source))).request->id;
    const Delivery delivery = **broker_->Lease("w", Seconds(5), Seconds(60));
    EXPECT_EQ(delivery.job->request->id, id);
    EXPECT_TRUE(
        broker_->Complete(delivery, test::VerdictDocument(delivery.job->request, "correct")).ok());
    return id;
  }
  [[nodiscard]] bool Has(const std::string& id) { return broker_->Get(id).ok(); }
  /// A sweep and all that it posted.
  void Sweep() {
    broker_->Sweep();
    ASSERT_TRUE(broker_->documents()->Put("barrier", "b", {}).ok());
  }
  int64_t Sources() {
    const std::unique_ptr<SqliteStore> store =
        *SqliteStore::Open(folder_.File("s.db"), Store::Mode::kRead);
    Query query(&store->db(), "SELECT count(*) FROM sources");
    return query.Step() ? query.Int(0) : -1;
  }

  test::TempFolder folder_;
  test::FakeClocks clocks_;
  std::unique_ptr<Broker> broker_;
};

TEST_F(Retention, EverythingIsKeptUnlessAsked) {
  Start(0);
  const std::string id = Judged("a");
  clocks_.Advance(10'000 * kDay);
  Sweep();
  EXPECT_TRUE(Has(id));
}

TEST_F(Retention, WhatIsOldGoesWithItsSourceAndTheRestStays) {
  Start(2);
  const std::string old = Judged("only here");
  const std::string shared = Judged("again");
  const std::string waiting = (*broker_->Submit(Request("waits"))).request->id;
  ASSERT_TRUE(broker_->documents()->Put("episode", "old", {}).ok());
  ASSERT_TRUE(broker_->documents()->Put("node", "old", {}).ok());
  clocks_.Advance(1.5 * kDay);
  ASSERT_TRUE(broker_->Cancel(waiting).ok());
  const std::string fresh = (*broker_->Submit(Request("again"))).request->id;
  ASSERT_TRUE(broker_->documents()->Put("episode", "fresh", {}).ok());
  Sweep();
  EXPECT_TRUE(Has(old) && Has(shared));
  clocks_.Advance(kDay);
  Sweep();
  EXPECT_FALSE(Has(old) || Has(shared));
  EXPECT_TRUE(Has(waiting) && Has(fresh));  // not done, or done later
  EXPECT_EQ(Sources(), 2);
  EXPECT_EQ((*broker_->Get(fresh)).request->source, "again");
  EXPECT_THAT(broker_->documents()->List("episode", 10), ElementsAre("fresh"));
  EXPECT_THAT(broker_->documents()->List("node", 10), ElementsAre("old"));
}

TEST_F(Retention, WhatIsQueuedIsNeverOld) {
  Start(1);
  const std::string id = (*broker_->Submit(Request("a"))).request->id;
  clocks_.Advance(100 * kDay);
  Sweep();
  EXPECT_EQ((*broker_->Get(id)).state, JobState::kQueued);
  Start(1);
  Sweep();
  EXPECT_EQ((*broker_->Get(id)).state, JobState::kQueued);
}

TEST_F(Retention, ManyGoInPortions) {
  Start(1);
  for (int i = 0; i < 450; ++i)
    ASSERT_TRUE(broker_->Cancel((*broker_->Submit(Request("x"))).request->id).ok());
  clocks_.Advance(3 * kDay);
  Sweep();
  EXPECT_EQ(broker_->List(test::Wanted().Limit(1000)).size(), 250u);
  Sweep();
  Sweep();
  EXPECT_THAT(broker_->List(test::Wanted().Limit(1000)), IsEmpty());
  EXPECT_EQ(Sources(), 0);
}

TEST_F(Retention, AWallClockThatJumpsDeletesNothing) {
  Start(2);
  const std::string id = Judged("a");
  clocks_.unix_s = clocks_.unix_s + 400 * kDay;
  Sweep();
  EXPECT_TRUE(Has(id));
  clocks_.unix_s = clocks_.unix_s - 400 * kDay;
  clocks_.Advance(3 * kDay);
  Sweep();
  EXPECT_FALSE(Has(id));
}

TEST_F(Retention, StoresOfTheFirstVersionAreTakenOver) {
  Start(0);
  const std::string id = Judged("a");
  ASSERT_TRUE(broker_->documents()->Put("episode", "e", {{"n", 1}}).ok());
  broker_.reset();
  {
    const std::unique_ptr<SqliteStore> store =
        *SqliteStore::Open(folder_.File("s.db"), Store::Mode::kWrite);
    ASSERT_TRUE(store->db().Execute(kToFirstVersion).ok());
  }
  EXPECT_THAT(Store::Open(folder_.File("s.db"), Store::Mode::kRead).error().message,
              ::testing::HasSubstr("made by an older Assay"));
  Start(1);
  EXPECT_TRUE(Has(id));
  EXPECT_EQ(GetInt(*broker_->documents()->Get("episode", "e"), "n"), 1);
  clocks_.Advance(2 * kDay);
  Sweep();
  EXPECT_FALSE(Has(id));
}

}  // namespace
}  // namespace assay
