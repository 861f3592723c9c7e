#include "broker/store.h"

#include <fstream>

#include "base/hash.h"
#include "broker/broker_testing.h"
#include "broker/sqlite_store.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StoredJob Stored(int64_t sequence, const std::string& source = "pass") {
  StoredJob stored;
  stored.job.request = test::Request(source);
  stored.job.request.Edit()->id = "job-" + std::to_string(sequence);
  stored.job.request.Edit()->options = {{"time", false}};
  stored.job.sequence = sequence;
  stored.job.submitted_at = 100.5;
  return stored;
}

std::unique_ptr<SqliteStore> OpenStore(const std::string& path,
                                       Store::Mode mode = Store::Mode::kWrite) {
  Result<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(path, mode);
  if (!store.ok()) Fatal(store.error().message.c_str(), __FILE__, __LINE__);
  return *std::move(store);
}

Error OpenError(const std::string& path, Store::Mode mode = Store::Mode::kWrite) {
  Result<std::unique_ptr<Store>> store = Store::Open(path, mode);
  return store.ok() ? Error{ErrorCode::kInternal, "it opened"} : store.error();
}

int64_t Number(SqliteStore* store, const char* sql) {
  Query query(&store->db(), sql);
  return query.Step() ? query.Int(0) : -1;
}

Result<bool> Insert(Store* store, const Job& job) {
  return store->Insert(std::make_shared<const Job>(job));
}

/// What holds for every store; each test begins with an empty one.
class AnyStore : public ::testing::TestWithParam<bool> {
 protected:
  AnyStore()
      : store_(*Store::Open(GetParam() ? folder_.File("s.db") : ":memory:", Store::Mode::kWrite)) {
    EXPECT_EQ(store_->on_disk(), GetParam());
  }

  test::TempFolder folder_;
  std::unique_ptr<Store> store_;
};

INSTANTIATE_TEST_SUITE_P(DiskAndMemory, AnyStore, ::testing::Bool());

TEST(Store, RefusesWhatIsNoStore) {
  const test::TempFolder folder;
  EXPECT_EQ(OpenError(folder.File("none.db"), Store::Mode::kRead).code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder.File("none.db")));
  std::ofstream(folder.File("text.db")) << std::string(8192, 'x');
  EXPECT_THAT(OpenError(folder.File("text.db")).message, HasSubstr("no store of Assay"));
  {
    Result<std::unique_ptr<Database>> other =
        Database::Open({.path = folder.File("other.db"), .read_only = false});
    ASSERT_TRUE(other.ok());
    ASSERT_TRUE((*other)->Execute("CREATE TABLE t(x)").ok());
  }
  EXPECT_THAT(OpenError(folder.File("other.db")).message, HasSubstr("another program's"));
  EXPECT_NE(OpenError(folder.File("no/such/folder/x.db")).code, ErrorCode::kInternal);
}

TEST(Store, RefusesANewerFileAndSaysSo) {
  const test::TempFolder folder;
  const std::string path = folder.File("s.db");
  ASSERT_TRUE(OpenStore(path)->db().Execute("PRAGMA user_version = 4").ok());
  for (const Store::Mode mode : {Store::Mode::kWrite, Store::Mode::kRead}) {
    const Error error = OpenError(path, mode);
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    EXPECT_THAT(error.message, HasSubstr("made by a newer Assay (its tables have version 4"));
  }
}

TEST(Store, HasOneWriter) {
  const test::TempFolder folder;
  const std::string path = folder.File("s.db");
  std::unique_ptr<SqliteStore> first = OpenStore(path);
  const Error error = OpenError(path);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("in use by another process"));
  OpenStore(path, Store::Mode::kRead);
  first.reset();
  OpenStore(path);
}

TEST(Store, SyncIsOfTheLogThatHoldsTheCommits) {
  const test::TempFolder folder;
  std::unique_ptr<SqliteStore> store = OpenStore(folder.File("s.db"));
  EXPECT_TRUE(store->on_disk());
  ASSERT_TRUE(Insert(store.get(), Stored(1).job).ok());
  EXPECT_GT(std::filesystem::file_size(folder.File("s.db-wal")), 0U);
  EXPECT_TRUE(store->Sync().ok());
  EXPECT_EQ(Number(store.get(), "PRAGMA synchronous"), 1);  // NORMAL: a commit does not wait
  Query mode(&store->db(), "PRAGMA journal_mode");
  ASSERT_TRUE(mode.Step());
  EXPECT_EQ(mode.Text(0), "wal");
}

TEST(Store, AReaderSeesWhatIsCommittedAndNothingElse) {
  const test::TempFolder folder;
  const std::string path = folder.File("s.db");
  std::unique_ptr<SqliteStore> writer = OpenStore(path);
  std::unique_ptr<SqliteStore> reader = OpenStore(path, Store::Mode::kRead);
  ASSERT_TRUE(writer->db().Execute("BEGIN IMMEDIATE").ok());
  ASSERT_TRUE(Insert(writer.get(), Stored(1).job).ok());
  EXPECT_FALSE((*reader->Find("job-1")).has_value());
  ASSERT_TRUE(writer->db().Execute("COMMIT").ok());
  EXPECT_TRUE((*reader->Find("job-1")).has_value());
  EXPECT_FALSE(Insert(reader.get(), Stored(2).job).ok());
}

TEST_P(AnyStore, KeepsEveryField) {
  StoredJob stored = Stored(7, std::string("a\0b\n\xc3\xa9\"'", 8));
  JobRequest& request = *stored.job.request.Edit();
  request.idempotency = "key";
  request.task_source = "class Model: pass";
  request.entry = "Reference";
  request.submission_entry = "Mine";
  request.priority = -4;
  request.timeout_s = 2.5;
  ASSERT_TRUE(Insert(store_.get(), stored.job).ok());
  const std::optional<StoredJob> found = *store_->FindIdempotent("local", "key");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(SameQuestion(found->job.request, request));
  EXPECT_EQ(found->job.request->source, request.source);
  EXPECT_EQ(found->job.request->task_source, request.task_source);
  EXPECT_EQ(found->job.request->priority, -4);
  EXPECT_EQ(found->job.request->owner, "local");
  EXPECT_EQ(found->job.sequence, 7);
  EXPECT_EQ(found->job.submitted_at, 100.5);
  EXPECT_EQ(found->job.state, JobState::kQueued);
  EXPECT_FALSE((*store_->FindIdempotent("another", "key")).has_value());
  EXPECT_FALSE((*store_->FindIdempotent("local", "")).has_value());
}

TEST(Store, EqualSourcesAreStoredOnce) {
  const test::TempFolder folder;
  std::unique_ptr<SqliteStore> store = OpenStore(folder.File("s.db"));
  const std::string text(100'000, 'x');
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(Insert(store.get(), Stored(i, text).job).ok());
  ASSERT_TRUE(Insert(store.get(), Stored(21, "other").job).ok());
  EXPECT_EQ(Number(store.get(), "SELECT count(*) FROM sources"), 2);
  EXPECT_EQ((*store->Find("job-20"))->job.request->source, text);
}

TEST_P(AnyStore, AnIdIsUsedOnce) {
  ASSERT_TRUE(Insert(store_.get(), Stored(1).job).ok());
  StoredJob again = Stored(2);
  again.job.request.Edit()->id = "job-1";
  again.job.request.Edit()->source = "another";
  EXPECT_FALSE(*Insert(store_.get(), again.job));
  EXPECT_EQ((*store_->Find("job-1"))->job.request->source, "pass");
  EXPECT_EQ((*store_->List({})).jobs.size(), 1U);
  EXPECT_EQ(*store_->LastSequence(), 1);
  if (!GetParam()) return;
  EXPECT_EQ(Number(static_cast<SqliteStore*>(store_.get()), "SELECT count(*) FROM sources"), 1);
}

TEST_P(AnyStore, AnIdempotencyKeyIsUsedOnceByItsOwner) {
  StoredJob first = Stored(1);
  first.job.request.Edit()->idempotency = "key";
  ASSERT_TRUE(*Insert(store_.get(), first.job));
  StoredJob second = Stored(2);
  second.job.request.Edit()->idempotency = "key";
  EXPECT_FALSE(*Insert(store_.get(), second.job));
  second.job.request.Edit()->owner = "another";
  EXPECT_TRUE(*Insert(store_.get(), second.job));
  EXPECT_EQ((*store_->FindIdempotent("another", "key"))->job.sequence, 2);
}

TEST_P(AnyStore, WhatIsRolledBackHasNotBeen) {
  StoredJob kept = Stored(1);
  kept.job.request.Edit()->idempotency = "kept";
  ASSERT_TRUE(*Insert(store_.get(), kept.job));
  StoredJob ended = Stored(2);
  ended.job.finished_at = 50;
  ended.job.verdict = {{"status", "correct"}};
  ASSERT_TRUE(*Insert(store_.get(), ended.job));
  ASSERT_TRUE(store_->SetDone(ended.job, 0).ok());
  ASSERT_TRUE(store_->PutDocument("d", "old", R"({"n":1})", 10).ok());
  ASSERT_TRUE(store_->PutDocument("d", "other", R"({"n":2})", 20).ok());

  ASSERT_TRUE(store_->Begin().ok());
  kept.job.deliveries = 1;
  kept.job.worker = "w";
  ASSERT_TRUE(store_->SetRunning(kept.job).ok());
  ASSERT_TRUE(store_->SetCancelRequested("job-1").ok());
  kept.job.verdict = {{"status", "incorrect"}};
  ASSERT_TRUE(store_->SetDone(kept.job, 1).ok());
  StoredJob fresh = Stored(3);
  fresh.job.request.Edit()->idempotency = "fresh";
  ASSERT_TRUE(*Insert(store_.get(), fresh.job));
  EXPECT_THAT(*store_->DeleteFinished(100, 10), ElementsAre("job-1", "job-2"));
  ASSERT_TRUE(store_->PutDocument("d", "old", R"({"n":3})", 30).ok());
  ASSERT_TRUE(store_->PutDocument("d", "new", R"({"n":4})", 30).ok());
  ASSERT_TRUE(store_->DeleteDocument("d", "other").ok());
  store_->Rollback();

  const StoredJob found = **store_->Find("job-1");
  EXPECT_EQ(found.job.state, JobState::kQueued);
  EXPECT_EQ(found.job.deliveries, 0);
  EXPECT_EQ(found.job.worker, "");
  EXPECT_FALSE(found.cancel_requested);
  EXPECT_TRUE(found.job.verdict.empty());
  EXPECT_TRUE((*store_->FindIdempotent("local", "kept")).has_value());
  EXPECT_EQ(test::StatusOf((*store_->Find("job-2"))->job), "correct");
  EXPECT_FALSE((*store_->Find("job-3")).has_value());
  EXPECT_FALSE((*store_->FindIdempotent("local", "fresh")).has_value());
  EXPECT_EQ(*store_->LastSequence(), 2);
  EXPECT_THAT(*store_->ListDocuments("d", 9), ElementsAre("other", "old"));
  EXPECT_EQ(GetInt(*store_->GetDocument("d", "old"), "n"), 1);

  // And it goes on.
  ASSERT_TRUE(store_->Begin().ok());
  ASSERT_TRUE(*Insert(store_.get(), fresh.job));
  ASSERT_TRUE(store_->PutDocument("d", "old", R"({"n":3})", 30).ok());
  ASSERT_TRUE(store_->Commit().ok());
  store_->Rollback();  // there is nothing to undo
  EXPECT_TRUE((*store_->Find("job-3")).has_value());
  EXPECT_THAT(*store_->ListDocuments("d", 9), ElementsAre("old", "other"));
}

TEST_P(AnyStore, WritesAJobThatRunsAlreadyAsItIs) {
  StoredJob stored = Stored(1);
  stored.job.state = JobState::kRunning;
  stored.job.deliveries = 2;
  stored.job.started_at = 200.25;
  stored.job.worker = "cuda:1";
  ASSERT_TRUE(*Insert(store_.get(), stored.job));
  const std::optional<StoredJob> found = *store_->Find("job-1");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->job.state, JobState::kRunning);
  EXPECT_EQ(found->job.deliveries, 2);
  EXPECT_EQ(found->job.started_at, 200.25);
  EXPECT_EQ(found->job.worker, "cuda:1");
  // An earlier delivery's verdict is refused as ever.
  stored.job.verdict = {{"status", "correct"}};
  EXPECT_FALSE(store_->SetDone(stored.job, 1).ok());
  EXPECT_TRUE(store_->SetDone(stored.job, 2).ok());
}

TEST(SharedRequest, IsSharedUntilItIsEdited) {
  SharedRequest one = test::Request("source");
  const SharedRequest other = one;
  EXPECT_EQ(&*one, &*other);
  one.Edit()->source = "another";
  EXPECT_EQ(other->source, "source");
  EXPECT_EQ(one->source, "another");
  const JobRequest* const own = &*one;
  one.Edit()->id = "x";  // nobody else has it
  EXPECT_EQ(&*one, own);
}

TEST_P(AnyStore, DeletesWhatEndedLongAgo) {
  for (int i = 1; i <= 6; ++i) {
    StoredJob stored = Stored(i);
    if (i == 1) stored.job.request.Edit()->idempotency = "key";
    ASSERT_TRUE(*Insert(store_.get(), stored.job));
    if (i == 3) continue;  // never ends
    stored.job.finished_at = i == 2 ? 900 : i;
    stored.job.verdict = {{"status", "correct"}};
    ASSERT_TRUE(store_->SetDone(stored.job, 0).ok());
  }
  // Of the three oldest finished ones (1, 2 and 4) two are old enough.
  EXPECT_THAT(*store_->DeleteFinished(100, 3), ElementsAre("job-1", "job-4"));
  EXPECT_FALSE((*store_->Find("job-1")).has_value());
  EXPECT_FALSE((*store_->FindIdempotent("local", "key")).has_value());
  EXPECT_THAT(*store_->DeleteFinished(100, 9), ElementsAre("job-5", "job-6"));
  EXPECT_EQ((*store_->List({})).jobs.size(), 2U);
  EXPECT_EQ((*store_->Unfinished()).size(), 1U);
  for (const char* id : {"a", "b", "c"})
    ASSERT_TRUE(store_->PutDocument("d", id, "{}", *id == 'b' ? 900 : 1).ok());
  ASSERT_TRUE(store_->PutDocument("e", "a", "{}", 1).ok());
  EXPECT_EQ(*store_->DeleteOldDocuments("d", 100, 2), 1U);
  EXPECT_EQ(*store_->DeleteOldDocuments("d", 100, 9), 1U);
  EXPECT_EQ(*store_->DeleteOldDocuments("none", 100, 9), 0U);
  EXPECT_THAT(*store_->ListDocuments("d", 9), ElementsAre("b"));
  EXPECT_THAT(*store_->ListDocuments("e", 9), ElementsAre("a"));
}

TEST(Store, InMemoryHasNoReaders) {
  const Result<std::unique_ptr<Store>> store = Store::Open(":memory:", Store::Mode::kRead);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().message, HasSubstr("name the file"));
}

TEST_P(AnyStore, OnlyTheLastDeliveryEndsAJobAndOnlyOnce) {
  StoredJob stored = Stored(1);
  ASSERT_TRUE(Insert(store_.get(), stored.job).ok());
  Job& job = stored.job;
  job.deliveries = 2;
  ASSERT_TRUE(store_->SetRunning(job).ok());
  job.verdict = {{"status", "correct"}, {"raw", {1, 2, 3}}, {"stdout", "text"}};
  Status late = store_->SetDone(job, 1);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kClosed);
  ASSERT_TRUE(store_->SetDone(job, 2).ok());
  job.verdict = {{"status", "incorrect"}};
  EXPECT_FALSE(store_->SetDone(job, 2).ok());
  ASSERT_TRUE(store_->SetQueued(job, 1).ok());  // changes nothing
  const Job kept = (*store_->Find("job-1"))->job;
  EXPECT_EQ(kept.state, JobState::kDone);
  EXPECT_EQ(test::StatusOf(kept), "correct");
  EXPECT_EQ(GetArray(kept.verdict, "raw").size(), 3U);
  EXPECT_EQ(GetString(kept.verdict, "stdout"), "text");
}

TEST_P(AnyStore, AJobThatIsDoneIsWrittenAtOnce) {
  Job job = Stored(1).job;
  job.deliveries = 1;
  job.started_at = 101;
  job.finished_at = 102;
  job.worker = "w";
  job.verdict = {{"status", "correct"}, {"raw", {1, 2}}};
  Job accepted = Stored(1).job;
  const Store::Ended ended{
      .job = std::make_shared<const Job>(job),
      .verdict = std::make_shared<const Store::VerdictText>(Store::Prepare(job.verdict))};
  ASSERT_TRUE(*store_->Insert(std::make_shared<const Job>(accepted), &ended));
  EXPECT_EQ(store_->SetDone(job, 1).error().code, ErrorCode::kClosed);
  const Job kept = (*store_->Find("job-1"))->job;
  EXPECT_EQ(kept.state, JobState::kDone);
  EXPECT_EQ(kept.verdict, job.verdict);
  EXPECT_EQ(kept.deliveries, 1);
  EXPECT_EQ(kept.finished_at, 102);
  EXPECT_EQ(kept.worker, "w");
  EXPECT_THAT(*store_->Unfinished(), ::testing::IsEmpty());
}

TEST_P(AnyStore, PagesAndFilters) {
  for (int i = 1; i <= 9; ++i) {
    StoredJob stored = Stored(i);
    stored.job.request.Edit()->owner = i % 3 == 0 ? "b" : "a";
    stored.job.request.Edit()->task_id = i > 5 ? "t/x" : "t/y";
    ASSERT_TRUE(Insert(store_.get(), stored.job).ok());
    if (i % 2 != 0) continue;
    stored.job.verdict = {{"status", i == 8 ? "correct" : "timeout"}, {"raw", "large"}};
    ASSERT_TRUE(store_->SetDone(stored.job, 0).ok());
  }
  const auto ids = [&](const JobQuery& query) {
    std::vector<int64_t> sequences;
    const Result<JobPage> page = store_->List(query);
    for (const Job& job : (*page).jobs) {
      sequences.push_back(job.sequence);
      EXPECT_TRUE(job.request->source.empty());
      EXPECT_FALSE(job.verdict.contains("raw"));
    }
    return sequences;
  };
  EXPECT_THAT(ids(test::Wanted().Limit(3)), ElementsAre(9, 8, 7));
  EXPECT_THAT(ids(test::Wanted().Before(7).Limit(3)), ElementsAre(6, 5, 4));
  EXPECT_THAT(ids(test::Wanted().Owner("b")), ElementsAre(9, 6, 3));
  EXPECT_THAT(ids(test::Wanted().State(JobState::kDone)), ElementsAre(8, 6, 4, 2));
  EXPECT_THAT(ids(test::Wanted().Task("t/x")), ElementsAre(9, 8, 7, 6));
  EXPECT_THAT(ids(test::Wanted().Status("correct")), ElementsAre(8));
  EXPECT_THAT(ids(test::Wanted().Owner("b").State(JobState::kDone).Task("t/x").Status("timeout")),
              ElementsAre(6));
  EXPECT_THAT(ids(test::Wanted().Owner("' OR 1=1 --")), ElementsAre());
  std::vector<int64_t> visited;
  ASSERT_TRUE(store_
                  ->ForEach(test::Wanted().State(JobState::kDone),
                            [&](const StoredJob& stored) {
                              visited.push_back(stored.job.sequence);
                              EXPECT_EQ(GetString(stored.job.verdict, "raw"), "large");
                              return visited.size() < 3;
                            })
                  .ok());
  EXPECT_THAT(visited, ElementsAre(2, 4, 6));
}

TEST_P(AnyStore, APageLooksAtSoManyJobsAndSaysWhereItGoesOn) {
  for (int i = 1; i <= 9; ++i) {
    StoredJob stored = Stored(i);
    stored.job.request.Edit()->owner = "a";
    ASSERT_TRUE(Insert(store_.get(), stored.job).ok());
    stored.job.verdict = {{"status", i == 2 ? "correct" : "timeout"}};
    ASSERT_TRUE(store_->SetDone(stored.job, 0).ok());
  }
  JobQuery query = test::Wanted().Owner("a").Status("correct");
  query.visit = 4;
  JobPage page = *store_->List(query);
  EXPECT_THAT(page.jobs, ::testing::IsEmpty());
  EXPECT_EQ(page.next, 6);
  query.before = page.next;
  page = *store_->List(query);
  ASSERT_EQ(page.jobs.size(), 1U);
  EXPECT_EQ(page.jobs.front().sequence, 2);
  query.before = page.next;
  page = *store_->List(query);
  EXPECT_THAT(page.jobs, ::testing::IsEmpty());
  EXPECT_EQ(page.next, 0);
  // The limit counts too, and nothing is said to follow where nothing does.
  page = *store_->List(test::Wanted().Limit(4));
  EXPECT_EQ(page.jobs.size(), 4U);
  EXPECT_EQ(page.next, 6);
  page = *store_->List(test::Wanted().Limit(5).Before(6));
  EXPECT_EQ(page.jobs.size(), 5U);
  EXPECT_EQ(page.next, 0);
}

TEST_P(AnyStore, Documents) {
  EXPECT_EQ(store_->GetDocument("episode", "e1").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store_->DeleteDocument("episode", "e1").error().code, ErrorCode::kNotFound);
  for (const char* id : {"e1", "e2", "e3"})
    ASSERT_TRUE(store_->PutDocument("episode", id, R"({"id": 1})", 1).ok());
  ASSERT_TRUE(store_->PutDocument("key", "e1", R"({"n": 1})", 1).ok());
  ASSERT_TRUE(store_->PutDocument("episode", "e1", R"({"turn": 2})", 2).ok());
  EXPECT_THAT(*store_->ListDocuments("episode", 10), ElementsAre("e1", "e3", "e2"));
  EXPECT_THAT(*store_->ListDocuments("episode", 1), ElementsAre("e1"));
  EXPECT_EQ(GetInt(*store_->GetDocument("episode", "e1"), "turn"), 2);
  ASSERT_TRUE(store_->DeleteDocument("episode", "e1").ok());
  EXPECT_EQ(GetInt(*store_->GetDocument("key", "e1"), "n"), 1);
}

TEST(SameQuestion, LooksAtWhatDecidesTheVerdict) {
  const JobRequest request = test::Request();
  JobRequest other = request;
  other.id = "x";
  other.owner = "y";
  other.idempotency = "z";
  other.priority = 9;
  EXPECT_TRUE(SameQuestion(other, request));
  for (const auto& change : std::vector<std::function<void(JobRequest*)>>{
           [](JobRequest* r) { r->task_id += "2"; }, [](JobRequest* r) { r->task_source = "s"; },
           [](JobRequest* r) { r->entry = "E"; }, [](JobRequest* r) { r->submission_entry = "E"; },
           [](JobRequest* r) { r->source += " "; },
           [](JobRequest* r) { r->options["time"] = false; },
           [](JobRequest* r) { r->timeout_s = 1; }}) {
    other = request;
    change(&other);
    EXPECT_FALSE(SameQuestion(other, request));
  }
}

}  // namespace
}  // namespace assay
