#include "broker/sqlite.h"

#include <sqlite3.h>

namespace assay {
namespace {

// SQLITE_TRANSIENT is a cast that the warnings refuse.
const sqlite3_destructor_type kCopy =
    reinterpret_cast<sqlite3_destructor_type>(static_cast<intptr_t>(-1));  // NOLINT

/// A reader may meet the short moment in which a checkpoint or recovery holds the file.
constexpr int kBusyTimeoutMs = 5000;

}  // namespace

Query::Query(Database* db, const char* sql) : db_(db) {
  auto known = db->statements_.find(std::string_view(sql));
  if (known == db->statements_.end()) known = db->statements_.emplace(sql, nullptr).first;
  sqlite3_stmt*& cached = known->second;
  if (cached == nullptr)
    Check(sqlite3_prepare_v3(db->handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &cached, nullptr));
  statement_ = cached;
}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Query::Check(int code) {
  if (code != SQLITE_OK && status_.ok()) status_ = db_->LastError();
}

Query& Query::Bind(int index, std::string_view text) {
  if (status_.ok())
    Check(sqlite3_bind_text64(statement_, index, text.data() == nullptr ? "" : text.data(),
                              text.size(), kCopy, SQLITE_UTF8));
  return *this;
}

Query& Query::Bind(int index, int64_t value) {
  if (status_.ok()) Check(sqlite3_bind_int64(statement_, index, value));
  return *this;
}

Query& Query::Bind(int index, double value) {
  if (status_.ok()) Check(sqlite3_bind_double(statement_, index, value));
  return *this;
}

Query& Query::BindNull(int index) {
  if (status_.ok()) Check(sqlite3_bind_null(statement_, index));
  return *this;
}

bool Query::Step() {
  if (!status_.ok()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) status_ = db_->LastError();
  return false;
}

Status Query::Run() {
  while (Step()) {
  }
  return status_;
}

std::string Query::Text(int column) const {
  const void* text = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return text == nullptr ? std::string() : std::string(static_cast<const char*>(text), size);
}

int64_t Query::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Query::Real(int column) const { return sqlite3_column_double(statement_, column); }
bool Query::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Result<std::unique_ptr<Database>> Database::Open(const Options& options) {
  const int flags =
      options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  // Counting every allocation takes a lock each time. In vain if SQLite is in use already.
  static const int kConfigured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  static_cast<void>(kConfigured);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(options.path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX,
                                   /*zVfs=*/nullptr);
  std::unique_ptr<Database> database(new Database(handle, options.path));
  if (handle == nullptr) return Err(ErrorCode::kIo, "out of memory opening '{}'", options.path);
  if (code == SQLITE_CANTOPEN && options.read_only)
    return Err(ErrorCode::kNotFound, "there is no store '{}'", options.path);
  if (code != SQLITE_OK) return database->LastError();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  return database;
}

Database::~Database() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(handle_);
}

Status Database::Execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return LastError();
  return {};
}

int64_t Database::Changes() const { return sqlite3_changes64(handle_); }
int64_t Database::LastRow() const { return sqlite3_last_insert_rowid(handle_); }

Error Database::LastError() const {
  const int code = sqlite3_errcode(handle_) & 0xff;
  const char* text = sqlite3_errmsg(handle_);
  switch (code) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Err(ErrorCode::kInvalid, "'{}' is no store of Assay, or damaged: {}", path_, text);
    case SQLITE_FULL:
      return Err(ErrorCode::kUnavailable, "no room on the disk of '{}'", path_);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Err(ErrorCode::kUnavailable, "'{}' is locked by another program: {}", path_, text);
    default:
      return Err(ErrorCode::kIo, "'{}': {}", path_, text);
  }
}

}  // namespace assay
