#include "broker/sqlite_store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/hash.h"

namespace assay {
namespace {

/// "assy" as PRAGMA application_id, so that file(1) and we know the file.
constexpr int64_t kApplicationId = 0x61737379;

constexpr const char* kJobTables = R"(
  CREATE TABLE sources(id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, text BLOB NOT NULL);
  CREATE TABLE jobs(
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    idempotency TEXT,
    task_id TEXT NOT NULL,
    task_source INTEGER REFERENCES sources,
    entry TEXT NOT NULL,
    submission_entry TEXT NOT NULL,
    source INTEGER NOT NULL REFERENCES sources,
    options TEXT NOT NULL,
    priority INTEGER NOT NULL,
    timeout_s REAL NOT NULL,
    state INTEGER NOT NULL,
    cancel INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0,
    submitted_at REAL NOT NULL,
    started_at REAL NOT NULL DEFAULT 0,
    finished_at REAL NOT NULL DEFAULT 0,
    worker TEXT NOT NULL DEFAULT '',
    status TEXT,
    verdict TEXT,
    raw TEXT);
)";

// What few rows have, few rows are in: an index costs every job that is in it a write.
constexpr const char* kJobIndexes = R"(
  CREATE UNIQUE INDEX jobs_idempotency ON jobs(owner, idempotency) WHERE idempotency IS NOT NULL;
  CREATE INDEX jobs_unfinished ON jobs(sequence) WHERE state < 2;
  CREATE INDEX jobs_owner ON jobs(owner, sequence);
  CREATE INDEX jobs_task ON jobs(task_id, sequence);
  CREATE INDEX jobs_source ON jobs(source);
  CREATE INDEX jobs_task_source ON jobs(task_source) WHERE task_source IS NOT NULL;
)";

constexpr const char* kDocuments = R"(
  CREATE TABLE documents(
    kind TEXT NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL, changed INTEGER NOT NULL,
    changed_at REAL NOT NULL DEFAULT 0,
    PRIMARY KEY(kind, id)) WITHOUT ROWID;
  CREATE INDEX documents_changed ON documents(kind, changed);
)";

static_assert(static_cast<int>(JobState::kDone) == 2, "the index jobs_unfinished names it");

// Columns in the order in which ReadJob() takes them.
#define ASSAY_JOB_COLUMNS                                                                     \
  "j.sequence, j.id, j.owner, j.idempotency, j.task_id, j.entry, "                            \
  "j.submission_entry, j.options, j.priority, j.timeout_s, j.state, j.cancel, j.deliveries, " \
  "j.losses, j.submitted_at, j.started_at, j.finished_at, j.worker, j.verdict"
// What is large comes after them, where it is wanted.
#define ASSAY_WHOLE_JOB           \
  "SELECT " ASSAY_JOB_COLUMNS     \
  ", s.text, t.text, j.raw FROM " \
  "jobs j JOIN sources s ON s.id = j.source LEFT JOIN sources t ON t.id = j.task_source "

/// What is not asked for is left out, so that the index of what is can be used; of two the first.
std::string Matches(const JobQuery& wanted) {
  std::string sql = "WHERE j.sequence < ?5 ";
  if (!wanted.owner.empty()) sql += "AND j.owner = ?1 ";
  if (wanted.state) sql += "AND j.state = ?2 ";
  if (!wanted.task_id.empty())
    sql += wanted.owner.empty() ? "AND j.task_id = ?3 " : "AND +j.task_id = ?3 ";
  if (!wanted.status.empty()) sql += "AND j.status = ?4 ";
  return sql;
}

void BindMatches(Query* query, const JobQuery& wanted) {
  query->Bind(1, wanted.owner)
      .Bind(2, wanted.state ? static_cast<int>(*wanted.state) : -1)
      .Bind(3, wanted.task_id)
      .Bind(4, wanted.status)
      .Bind(5, wanted.before);
}

Result<int64_t> Pragma(Database* db, const char* sql) {
  Query query(db, sql);
  if (query.Step()) return query.Int(0);
  if (!query.status().ok()) return query.status().error();
  return Err(ErrorCode::kInternal, "'{}' answers nothing", sql);
}

/// Held by the one process that writes; the kernel releases it with the process.
Result<UniqueFd> LockForWriting(const std::string& path) {
  const std::string lock_path = path + ".lock";
  UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return ErrnoError("cannot write '" + lock_path + "'", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return ErrnoError("cannot lock '" + lock_path + "'", errno);
  return Err(ErrorCode::kUnavailable,
             "the store '{}' is in use by another process; stop that server or name another store",
             path);
}

}  // namespace

StoredJob SqliteStore::ReadJob(const Query& query) {
  StoredJob stored;
  Job& job = stored.job;
  job.sequence = query.Int(0);
  JobRequest& request = *job.request.Edit();
  request.id = query.Text(1);
  request.owner = query.Text(2);
  request.idempotency = query.Text(3);
  request.task_id = query.Text(4);
  request.entry = query.Text(5);
  request.submission_entry = query.Text(6);
  request.options = Parsed(query.Text(7));
  request.priority = static_cast<int>(query.Int(8));
  request.timeout_s = query.Real(9);
  job.state = static_cast<JobState>(query.Int(10));
  stored.cancel_requested = query.Int(11) != 0;
  job.deliveries = static_cast<int>(query.Int(12));
  stored.losses = static_cast<int>(query.Int(13));
  job.submitted_at = query.Real(14);
  job.started_at = query.Real(15);
  job.finished_at = query.Real(16);
  job.worker = query.Text(17);
  if (!query.IsNull(18)) job.verdict = Parsed(query.Text(18));
  return stored;
}

StoredJob SqliteStore::ReadWholeJob(const Query& query) {
  StoredJob stored = ReadJob(query);
  stored.job.request.Edit()->source = query.Text(19);
  stored.job.request.Edit()->task_source = query.Text(20);
  if (!query.IsNull(21)) AddRaw(query.Text(21), &stored.job.verdict);
  return stored;
}

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, Mode mode) {
  UniqueFd lock;
  if (mode == Mode::kWrite) {
    ASSAY_ASSIGN_OR_RETURN(lock, LockForWriting(path));
  }
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<Database> db,
                         Database::Open({.path = path, .read_only = mode == Mode::kRead}));
  std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(db), std::move(lock)));
  ASSAY_RETURN_IF_ERROR(store->CheckVersion(mode == Mode::kWrite));
  if (mode == Mode::kWrite) ASSAY_RETURN_IF_ERROR(store->OpenForWriting());
  return store;
}

Status SqliteStore::OpenForWriting() {
  // NORMAL: SQLite syncs the log only before it moves it into the database, which is then never
  // torn. Sync() does the rest, so that the next commits need not wait for the disk.
  ASSAY_RETURN_IF_ERROR(db_->Execute(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
      // Indexes of ids and hashes are written at random places: 64 MiB of them stay in memory, and
      // a page that changes often is moved into the database once for 16 MiB of log.
      "PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4096;"
      // Some distributions overwrite with zeros what moves or goes, which is more to write.
      "PRAGMA secure_delete = OFF;"));
  // SQLite makes the log when it first needs it, and keeps it as long as this connection is open.
  ASSAY_RETURN_IF_ERROR(db_->Execute("BEGIN IMMEDIATE; COMMIT;"));
  const std::string path = db_->path() + "-wal";
  wal_ = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!wal_.valid()) return ErrnoError("cannot open '" + path + "'", errno);
  return {};
}

Status SqliteStore::Sync() const {
  if (wal_.valid() && ::fdatasync(wal_.get()) != 0)
    return ErrnoError("cannot sync the log of '" + db_->path() + "'", errno);
  return {};
}

Status SqliteStore::Begin() { return Query(db_.get(), "BEGIN IMMEDIATE").Run(); }

Status SqliteStore::Commit() { return Query(db_.get(), "COMMIT").Run(); }

/// SQLite has undone it by itself after some errors; then this changes nothing.
void SqliteStore::Rollback() { static_cast<void>(db_->Execute("ROLLBACK")); }

Status SqliteStore::CheckVersion(bool may_write) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t version, Pragma(db_.get(), "PRAGMA user_version"));
  ASSAY_ASSIGN_OR_RETURN(const int64_t application, Pragma(db_.get(), "PRAGMA application_id"));
  ASSAY_ASSIGN_OR_RETURN(const int64_t tables,
                         Pragma(db_.get(), "SELECT count(*) FROM sqlite_master"));
  if (tables == 0 && version == 0 && may_write) {
    const std::string create = fmt::format(
        "BEGIN IMMEDIATE; {} {} {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
        kJobTables, kJobIndexes, kDocuments, kApplicationId, kVersion);
    return db_->Execute(create.c_str());
  }
  if (application != kApplicationId)
    return Err(ErrorCode::kInvalid, "'{}' is another program's database; name another file",
               db_->path());
  if (version > kVersion)
    return Err(
        ErrorCode::kInvalid,
        "'{}' was made by a newer Assay (its tables have version {}, this one knows {}); use "
        "that version, or another store",
        db_->path(), version, kVersion);
  if (version < 1)
    return Err(ErrorCode::kInvalid, "'{}' has tables of the unknown version {}", db_->path(),
               version);
  if (version == kVersion) return {};
  if (may_write) return Migrate(version);
  return Err(ErrorCode::kInvalid,
             "'{}' was made by an older Assay (its tables have version {}); `assay serve --store` "
             "brings it up to date",
             db_->path(), version);
}

/// Whole or not at all.
Status SqliteStore::Migrate(int64_t version) {
  std::string changes = "BEGIN IMMEDIATE;";
  if (version < 2)
    // When a document changed is not known; it counts from now.
    changes += R"(
      ALTER TABLE documents ADD COLUMN changed_at REAL NOT NULL DEFAULT 0;
      UPDATE documents SET changed_at = strftime('%s', 'now');)";
  // Sources were named by their hashes. The old tables' indexes go with them.
  changes += "ALTER TABLE sources RENAME TO old_sources; ALTER TABLE jobs RENAME TO old_jobs;";
  changes += kJobTables;
  changes += R"(
    INSERT INTO sources(sha256, text) SELECT sha256, text FROM old_sources;
    INSERT INTO jobs SELECT sequence, j.id, owner, idempotency, task_id, t.id, entry,
      submission_entry, s.id, options, priority, timeout_s, state, cancel, deliveries, losses,
      submitted_at, started_at, finished_at, worker, status, verdict, raw
      FROM old_jobs j JOIN sources s ON s.sha256 = j.source
      LEFT JOIN sources t ON t.sha256 = j.task_source;
    DROP TABLE old_jobs; DROP TABLE old_sources; DROP INDEX IF EXISTS documents_age;)";
  changes += kJobIndexes;
  changes += fmt::format("PRAGMA user_version = {}; COMMIT;", kVersion);
  Status status = db_->Execute(changes.c_str());
  if (!status.ok()) static_cast<void>(db_->Execute("ROLLBACK"));
  return status;
}

Result<SqliteStore::Source> SqliteStore::PutSource(const std::string& text) {
  const std::string sha256 = Sha256Hex(text);
  {
    Query query(db_.get(),
                "INSERT INTO sources(sha256, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING");
    ASSAY_RETURN_IF_ERROR(query.Bind(1, sha256).Bind(2, text).Run());
    if (db_->Changes() == 1) return Source{db_->LastRow(), true};
  }
  Query query(db_.get(), "SELECT id FROM sources WHERE sha256 = ?1");
  if (query.Bind(1, sha256).Step()) return Source{query.Int(0), false};
  if (!query.status().ok()) return query.status().error();
  return Err(ErrorCode::kInternal, "a source is neither new nor there");
}

Result<bool> SqliteStore::Insert(std::shared_ptr<const Job> accepted, const Ended* ended) {
  const Job& job = ended == nullptr ? *accepted : *ended->job;
  const JobRequest& request = job.request;
  ASSAY_ASSIGN_OR_RETURN(const Source source, PutSource(request.source));
  Source task_source;
  if (!request.task_source.empty()) {
    ASSAY_ASSIGN_OR_RETURN(task_source, PutSource(request.task_source));
  }
  Query query(db_.get(),
              "INSERT INTO jobs(sequence, id, owner, idempotency, task_id, task_source, entry, "
              "submission_entry, source, options, priority, timeout_s, submitted_at, state, "
              "deliveries, started_at, finished_at, worker, status, verdict, raw) VALUES (?1, ?2, "
              "?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
              "?21) ON CONFLICT DO NOTHING");
  query.Bind(1, job.sequence).Bind(2, request.id).Bind(3, request.owner);
  if (!request.idempotency.empty()) query.Bind(4, request.idempotency);
  query.Bind(5, request.task_id);
  if (!request.task_source.empty()) query.Bind(6, task_source.id);
  query.Bind(7, request.entry)
      .Bind(8, request.submission_entry)
      .Bind(9, source.id)
      .Bind(10, json::serialize(request.options))
      .Bind(11, request.priority)
      .Bind(12, request.timeout_s)
      .Bind(13, job.submitted_at)
      .Bind(14, static_cast<int>(ended == nullptr ? job.state : JobState::kDone))
      .Bind(15, job.deliveries)
      .Bind(16, job.started_at)
      .Bind(17, job.finished_at)
      .Bind(18, job.worker);
  if (ended != nullptr) {
    query.Bind(19, ended->verdict->status).Bind(20, ended->verdict->verdict);
    if (!ended->verdict->raw.empty()) query.Bind(21, ended->verdict->raw);
  }
  ASSAY_RETURN_IF_ERROR(query.Run());
  if (db_->Changes() == 1) return true;
  for (const Source& unused : {source, task_source}) {
    if (!unused.fresh) continue;
    Query drop(db_.get(), "DELETE FROM sources WHERE id = ?1");
    ASSAY_RETURN_IF_ERROR(drop.Bind(1, unused.id).Run());
  }
  return false;
}

Status SqliteStore::SetRunning(const Job& job) {
  Query query(db_.get(),
              "UPDATE jobs SET state = 1, deliveries = ?2, started_at = ?3, worker = ?4 "
              "WHERE sequence = ?1 AND state < 2");
  return query.Bind(1, job.sequence)
      .Bind(2, job.deliveries)
      .Bind(3, job.started_at)
      .Bind(4, job.worker)
      .Run();
}

Status SqliteStore::SetQueued(const Job& job, int losses) {
  Query query(db_.get(),
              "UPDATE jobs SET state = 0, deliveries = ?2, losses = ?3 WHERE sequence = ?1 AND "
              "state < 2");
  return query.Bind(1, job.sequence).Bind(2, job.deliveries).Bind(3, losses).Run();
}

Status SqliteStore::SetCancelRequested(const std::string& id) {
  Query query(db_.get(), "UPDATE jobs SET cancel = 1 WHERE id = ?1 AND state < 2");
  return query.Bind(1, id).Run();
}

Status SqliteStore::SetDone(const Job& job, int delivery,
                            std::shared_ptr<const VerdictText> verdict) {
  Query query(db_.get(),
              "UPDATE jobs SET state = 2, deliveries = ?2, started_at = ?3, finished_at = ?4, "
              "worker = ?5, status = ?6, verdict = ?7, raw = ?8 WHERE sequence = ?1 AND state < 2 "
              "AND deliveries <= ?2");
  query.Bind(1, job.sequence)
      .Bind(2, delivery)
      .Bind(3, job.started_at)
      .Bind(4, job.finished_at)
      .Bind(5, job.worker)
      .Bind(6, verdict->status)
      .Bind(7, verdict->verdict);
  if (verdict->raw.empty())
    query.BindNull(8);
  else
    query.Bind(8, verdict->raw);
  ASSAY_RETURN_IF_ERROR(query.Run());
  if (db_->Changes() == 1) return {};
  return Err(ErrorCode::kClosed, "{}: delivery {} is not the last one any more", job.request->id,
             delivery);
}

Result<std::vector<std::string>> SqliteStore::DeleteFinished(double before, size_t limit) {
  std::vector<std::string> ids;
  std::set<int64_t> sources;
  {
    Query query(db_.get(),
                "SELECT id, source, task_source FROM (SELECT id, source, task_source, finished_at "
                "FROM jobs WHERE state = 2 ORDER BY sequence LIMIT ?2) WHERE finished_at < ?1");
    query.Bind(1, before).Bind(2, static_cast<int64_t>(limit));
    while (query.Step()) {
      ids.push_back(query.Text(0));
      sources.insert(query.Int(1));
      if (!query.IsNull(2)) sources.insert(query.Int(2));
    }
    if (!query.status().ok()) return query.status().error();
  }
  for (const std::string& id : ids) {
    Query query(db_.get(), "DELETE FROM jobs WHERE id = ?1");
    ASSAY_RETURN_IF_ERROR(query.Bind(1, id).Run());
  }
  for (const int64_t id : sources) {
    Query query(db_.get(),
                "DELETE FROM sources WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM jobs WHERE "
                "source = ?1) AND NOT EXISTS (SELECT 1 FROM jobs WHERE task_source = ?1)");
    ASSAY_RETURN_IF_ERROR(query.Bind(1, id).Run());
  }
  return ids;
}

Result<std::optional<StoredJob>> SqliteStore::Find(const std::string& id) {
  Query query(db_.get(), ASSAY_WHOLE_JOB "WHERE j.id = ?1");
  query.Bind(1, id);
  if (query.Step()) return std::optional(ReadWholeJob(query));
  if (!query.status().ok()) return query.status().error();
  return std::optional<StoredJob>();
}

Result<std::optional<StoredJob>> SqliteStore::FindIdempotent(const std::string& owner,
                                                             const std::string& key) {
  Query query(db_.get(), ASSAY_WHOLE_JOB "WHERE j.owner = ?1 AND j.idempotency = ?2");
  query.Bind(1, owner).Bind(2, key);
  if (query.Step()) return std::optional(ReadWholeJob(query));
  if (!query.status().ok()) return query.status().error();
  return std::optional<StoredJob>();
}

Result<std::vector<StoredJob>> SqliteStore::Unfinished() {
  std::vector<StoredJob> jobs;
  Query query(db_.get(), ASSAY_WHOLE_JOB "WHERE j.state < 2 ORDER BY j.sequence");
  while (query.Step()) jobs.push_back(ReadWholeJob(query));
  if (!query.status().ok()) return query.status().error();
  return jobs;
}

Result<int64_t> SqliteStore::LastSequence() {
  return Pragma(db_.get(), "SELECT coalesce(max(sequence), 0) FROM jobs");
}

/// The last of the jobs that one listing may look at; 0: they are fewer. Asks what an index knows.
Result<int64_t> SqliteStore::Horizon(const JobQuery& wanted) {
  const std::string sql = fmt::format(
      "SELECT sequence FROM jobs WHERE {} sequence < ?2 ORDER BY sequence DESC LIMIT 1 "
      "OFFSET ?3",
      !wanted.owner.empty()     ? "owner = ?1 AND"
      : !wanted.task_id.empty() ? "task_id = ?1 AND"
                                : "");
  Query query(db_.get(), sql.c_str());
  const std::string& key = wanted.owner.empty() ? wanted.task_id : wanted.owner;
  if (!key.empty()) query.Bind(1, key);
  query.Bind(2, wanted.before).Bind(3, static_cast<int64_t>(wanted.visit) - 1);
  if (query.Step()) return query.Int(0);
  if (!query.status().ok()) return query.status().error();
  return int64_t{0};
}

Result<JobPage> SqliteStore::List(const JobQuery& wanted) {
  JobPage page;
  ASSAY_ASSIGN_OR_RETURN(page.next, Horizon(wanted));
  const std::string sql = "SELECT " ASSAY_JOB_COLUMNS " FROM jobs j " + Matches(wanted) +
                          "AND j.sequence >= ?6 ORDER BY j.sequence DESC LIMIT ?7";
  Query query(db_.get(), sql.c_str());
  BindMatches(&query, wanted);
  query.Bind(6, page.next).Bind(7, static_cast<int64_t>(wanted.limit) + 1);
  while (query.Step()) page.jobs.push_back(ReadJob(query).job);
  if (!query.status().ok()) return query.status().error();
  CutToLimit(wanted, &page);
  return page;
}

Status SqliteStore::ForEach(const JobQuery& wanted,
                            const std::function<bool(const StoredJob&)>& visit) {
  const std::string sql = ASSAY_WHOLE_JOB + Matches(wanted) + "ORDER BY j.sequence";
  Query query(db_.get(), sql.c_str());
  BindMatches(&query, wanted);
  while (query.Step())
    if (!visit(ReadWholeJob(query))) break;
  return query.status();
}

Status SqliteStore::PutDocument(const std::string& kind, const std::string& id,
                                const std::string& document, double now) {
  Query query(db_.get(),
              "INSERT INTO documents(kind, id, document, changed, changed_at) VALUES (?1, ?2, ?3, "
              "(SELECT coalesce(max(changed), 0) + 1 FROM documents WHERE kind = ?1), ?4) "
              "ON CONFLICT(kind, id) DO UPDATE SET document = excluded.document, "
              "changed = excluded.changed, changed_at = excluded.changed_at");
  return query.Bind(1, kind).Bind(2, id).Bind(3, document).Bind(4, now).Run();
}

Result<json::object> SqliteStore::GetDocument(const std::string& kind, const std::string& id) {
  Query query(db_.get(), "SELECT document FROM documents WHERE kind = ?1 AND id = ?2");
  query.Bind(1, kind).Bind(2, id);
  if (query.Step()) return Parsed(query.Text(0));
  if (!query.status().ok()) return query.status().error();
  return Err(ErrorCode::kNotFound, "there is no {} '{}'", kind, id);
}

Status SqliteStore::DeleteDocument(const std::string& kind, const std::string& id) {
  Query query(db_.get(), "DELETE FROM documents WHERE kind = ?1 AND id = ?2");
  ASSAY_RETURN_IF_ERROR(query.Bind(1, kind).Bind(2, id).Run());
  if (db_->Changes() == 1) return {};
  return Err(ErrorCode::kNotFound, "there is no {} '{}'", kind, id);
}

Result<std::vector<std::string>> SqliteStore::ListDocuments(const std::string& kind, size_t limit) {
  std::vector<std::string> ids;
  Query query(db_.get(), "SELECT id FROM documents WHERE kind = ?1 ORDER BY changed DESC LIMIT ?2");
  query.Bind(1, kind).Bind(2, static_cast<int64_t>(std::min<size_t>(limit, INT64_MAX)));
  while (query.Step()) ids.push_back(query.Text(0));
  if (!query.status().ok()) return query.status().error();
  return ids;
}

Result<size_t> SqliteStore::DeleteOldDocuments(const std::string& kind, double before,
                                               size_t limit) {
  Query query(db_.get(),
              "DELETE FROM documents WHERE kind = ?1 AND id IN (SELECT id FROM (SELECT id, "
              "changed_at FROM documents WHERE kind = ?1 ORDER BY changed LIMIT ?3) WHERE "
              "changed_at < ?2)");
  ASSAY_RETURN_IF_ERROR(
      query.Bind(1, kind).Bind(2, before).Bind(3, static_cast<int64_t>(limit)).Run());
  return static_cast<size_t>(db_->Changes());
}

}  // namespace assay
