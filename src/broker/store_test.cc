#include "broker/store.h"

#include <fstream>

#include "base/hash.h"
#include "broker/broker_testing.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StoredJob Stored(int64_t sequence, const std::string& source = "pass") {
  StoredJob stored;
  stored.job.request = test::Request(source);
  stored.job.request.id = "job-" + std::to_string(sequence);
  stored.job.request.options = {{"time", false}};
  stored.job.sequence = sequence;
  stored.job.submitted_at = 100.5;
  return stored;
}

std::unique_ptr<Store> OpenStore(const std::string& path, Store::Mode mode = Store::Mode::kWrite) {
  Result<std::unique_ptr<Store>> store = Store::Open(path, mode);
  if (!store.ok()) Fatal(store.error().message.c_str(), __FILE__, __LINE__);
  return *std::move(store);
}

Error OpenError(const std::string& path, Store::Mode mode = Store::Mode::kWrite) {
  Result<std::unique_ptr<Store>> store = Store::Open(path, mode);
  return store.ok() ? Error{ErrorCode::kInternal, "it opened"} : store.error();
}

int64_t Number(Store* store, const char* sql) {
  Query query(&store->db(), sql);
  return query.Step() ? query.Int(0) : -1;
}

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
  std::unique_ptr<Store> first = OpenStore(path);
  const Error error = OpenError(path);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("in use by another process"));
  OpenStore(path, Store::Mode::kRead);
  first.reset();
  OpenStore(path);
}

TEST(Store, SyncIsOfTheLogThatHoldsTheCommits) {
  EXPECT_FALSE(OpenStore(":memory:")->on_disk());
  EXPECT_TRUE(OpenStore(":memory:")->Sync().ok());
  const test::TempFolder folder;
  std::unique_ptr<Store> store = OpenStore(folder.File("s.db"));
  EXPECT_TRUE(store->on_disk());
  ASSERT_TRUE(store->Insert(Stored(1).job).ok());
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
  std::unique_ptr<Store> writer = OpenStore(path);
  std::unique_ptr<Store> reader = OpenStore(path, Store::Mode::kRead);
  ASSERT_TRUE(writer->db().Execute("BEGIN IMMEDIATE").ok());
  ASSERT_TRUE(writer->Insert(Stored(1).job).ok());
  EXPECT_FALSE((*reader->Find("job-1")).has_value());
  ASSERT_TRUE(writer->db().Execute("COMMIT").ok());
  EXPECT_TRUE((*reader->Find("job-1")).has_value());
  EXPECT_FALSE(reader->Insert(Stored(2).job).ok());
}

TEST(Store, KeepsEveryField) {
  std::unique_ptr<Store> store = OpenStore(":memory:");
  StoredJob stored = Stored(7, "a\0b\n\xc3\xa9" + std::string("\"'"));
  JobRequest& request = stored.job.request;
  request.idempotency = "key";
  request.task_source = "class Model: pass";
  request.entry = "Reference";
  request.submission_entry = "Mine";
  request.priority = -4;
  request.timeout_s = 2.5;
  ASSERT_TRUE(store->Insert(stored.job).ok());
  const std::optional<StoredJob> found = *store->FindIdempotent("local", "key");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(SameQuestion(found->job.request, request));
  EXPECT_EQ(found->job.request.source, request.source);
  EXPECT_EQ(found->job.request.task_source, request.task_source);
  EXPECT_EQ(found->job.request.priority, -4);
  EXPECT_EQ(found->job.request.owner, "local");
  EXPECT_EQ(found->job.sequence, 7);
  EXPECT_EQ(found->job.submitted_at, 100.5);
  EXPECT_EQ(found->job.state, JobState::kQueued);
  EXPECT_FALSE((*store->FindIdempotent("another", "key")).has_value());
  EXPECT_FALSE((*store->FindIdempotent("local", "")).has_value());
}

TEST(Store, EqualSourcesAreStoredOnce) {
  std::unique_ptr<Store> store = OpenStore(":memory:");
  const std::string text(100'000, 'x');
  for (int i = 1; i <= 20; ++i) ASSERT_TRUE(store->Insert(Stored(i, text).job).ok());
  ASSERT_TRUE(store->Insert(Stored(21, "other").job).ok());
  EXPECT_EQ(Number(store.get(), "SELECT count(*) FROM sources"), 2);
  EXPECT_EQ((*store->Find("job-20"))->job.request.source, text);
}

TEST(Store, AnIdIsUsedOnce) {
  std::unique_ptr<Store> store = OpenStore(":memory:");
  ASSERT_TRUE(store->Insert(Stored(1).job).ok());
  StoredJob again = Stored(2);
  again.job.request.id = "job-1";
  again.job.request.source = "another";
  EXPECT_FALSE(*store->Insert(again.job));
  EXPECT_EQ(Number(store.get(), "SELECT count(*) FROM jobs"), 1);
  EXPECT_EQ(Number(store.get(), "SELECT count(*) FROM sources"), 1);
}

TEST(Store, OnlyTheLastDeliveryEndsAJobAndOnlyOnce) {
  std::unique_ptr<Store> store = OpenStore(":memory:");
  StoredJob stored = Stored(1);
  ASSERT_TRUE(store->Insert(stored.job).ok());
  Job& job = stored.job;
  job.deliveries = 2;
  ASSERT_TRUE(store->SetRunning(job).ok());
  job.verdict = {{"status", "correct"}, {"raw", {1, 2, 3}}, {"stdout", "text"}};
  Status late = store->SetDone(job, 1);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.error().code, ErrorCode::kClosed);
  ASSERT_TRUE(store->SetDone(job, 2).ok());
  job.verdict = {{"status", "incorrect"}};
  EXPECT_FALSE(store->SetDone(job, 2).ok());
  ASSERT_TRUE(store->SetQueued(job, 1).ok());  // changes nothing
  const Job kept = (*store->Find("job-1"))->job;
  EXPECT_EQ(kept.state, JobState::kDone);
  EXPECT_EQ(test::StatusOf(kept), "correct");
  EXPECT_EQ(GetArray(kept.verdict, "raw").size(), 3U);
  EXPECT_EQ(GetString(kept.verdict, "stdout"), "text");
}

TEST(Store, AJobThatIsDoneIsWrittenAtOnce) {
  std::unique_ptr<Store> store = OpenStore(":memory:");
  Job job = Stored(1).job;
  job.deliveries = 1;
  job.started_at = 101;
  job.finished_at = 102;
  job.worker = "w";
  job.verdict = {{"status", "correct"}, {"raw", {1, 2}}};
  const Store::VerdictText text = Store::Prepare(job.verdict);
  ASSERT_TRUE(*store->Insert(job, &text));
  EXPECT_EQ(store->SetDone(job, 1).error().code, ErrorCode::kClosed);
  const Job kept = (*store->Find("job-1"))->job;
  EXPECT_EQ(kept.state, JobState::kDone);
  EXPECT_EQ(kept.verdict, job.verdict);
  EXPECT_EQ(kept.deliveries, 1);
  EXPECT_EQ(kept.finished_at, 102);
  EXPECT_EQ(kept.worker, "w");
  EXPECT_THAT(*store->Unfinished(), ::testing::IsEmpty());
}

TEST(Store, PagesAndFilters) {
  std::unique_ptr<Store> store = OpenStore(":memory:");
  for (int i = 1; i <= 9; ++i) {
    StoredJob stored = Stored(i);
    stored.job.request.owner = i % 3 == 0 ? "b" : "a";
    stored.job.request.task_id = i > 5 ? "t/x" : "t/y";
    ASSERT_TRUE(store->Insert(stored.job).ok());
    if (i % 2 != 0) continue;
    stored.job.verdict = {{"status", i == 8 ? "correct" : "timeout"}, {"raw", "large"}};
    ASSERT_TRUE(store->SetDone(stored.job, 0).ok());
  }
  const auto ids = [&](const JobQuery& query) {
    std::vector<int64_t> sequences;
    const Result<std::vector<Job>> jobs = store->List(query);
    for (const Job& job : *jobs) {
      sequences.push_back(job.sequence);
      EXPECT_TRUE(job.request.source.empty());
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
  ASSERT_TRUE(store
                  ->ForEach(test::Wanted().State(JobState::kDone),
                            [&](const StoredJob& stored) {
                              visited.push_back(stored.job.sequence);
                              EXPECT_EQ(GetString(stored.job.verdict, "raw"), "large");
                              return visited.size() < 3;
                            })
                  .ok());
  EXPECT_THAT(visited, ElementsAre(2, 4, 6));
}

TEST(Store, Documents) {
  std::unique_ptr<Store> store = OpenStore(":memory:");
  EXPECT_EQ(store->GetDocument("episode", "e1").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(store->DeleteDocument("episode", "e1").error().code, ErrorCode::kNotFound);
  for (const char* id : {"e1", "e2", "e3"})
    ASSERT_TRUE(store->PutDocument("episode", id, R"({"id": 1})", 1).ok());
  ASSERT_TRUE(store->PutDocument("key", "e1", R"({"n": 1})", 1).ok());
  ASSERT_TRUE(store->PutDocument("episode", "e1", R"({"turn": 2})", 2).ok());
  EXPECT_THAT(*store->ListDocuments("episode", 10), ElementsAre("e1", "e3", "e2"));
  EXPECT_THAT(*store->ListDocuments("episode", 1), ElementsAre("e1"));
  EXPECT_EQ(GetInt(*store->GetDocument("episode", "e1"), "turn"), 2);
  ASSERT_TRUE(store->DeleteDocument("episode", "e1").ok());
  EXPECT_EQ(GetInt(*store->GetDocument("key", "e1"), "n"), 1);
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
