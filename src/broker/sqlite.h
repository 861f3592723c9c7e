#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay {

class Database;

/// One use of a prepared statement. Binding and stepping never throw; the first error is kept and
/// ends the stepping.
///
///     Query query(db, "SELECT name FROM t WHERE id = ?1");
///     query.Bind(1, id);
///     while (query.Step()) Use(query.Text(0));
///     ASSAY_RETURN_IF_ERROR(query.status());
class Query {
 public:
  /// `sql` must be a literal: the database keeps the prepared statement under its address.
  Query(Database* db, const char* sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // Indexes of parameters start at 1, of columns at 0, as in SQLite. Bound text is copied.
  Query& Bind(int index, std::string_view text);
  Query& Bind(int index, const char* text) { return Bind(index, std::string_view(text)); }
  Query& Bind(int index, int64_t value);
  Query& Bind(int index, int value) { return Bind(index, static_cast<int64_t>(value)); }
  Query& Bind(int index, double value);
  Query& BindNull(int index);

  /// True while there is a row.
  bool Step();
  /// Runs a statement without rows.
  Status Run();
  [[nodiscard]] const Status& status() const { return status_; }

  [[nodiscard]] std::string Text(int column) const;
  [[nodiscard]] int64_t Int(int column) const;
  [[nodiscard]] double Real(int column) const;
  [[nodiscard]] bool IsNull(int column) const;

 private:
  void Check(int code);

  Database* const db_;
  sqlite3_stmt* statement_ = nullptr;
  Status status_;
};

/// A connection to an SQLite file. Used by one thread at a time: hold `mutex()` where there are
/// several.
class Database {
 public:
  struct Options {
    std::string path;  ///< ":memory:" for tests
    bool read_only = false;
  };
  static Result<std::unique_ptr<Database>> Open(const Options& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Statements without parameters or rows, separated by semicolons.
  Status Execute(const char* sql);
  /// Rows that the last statement changed.
  [[nodiscard]] int64_t Changes() const;
  /// Row that the last insertion made.
  [[nodiscard]] int64_t LastRow() const;

  std::mutex& mutex() { return mutex_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// kInvalid, kUnavailable or kIo with SQLite's own words and the file's name.
  [[nodiscard]] Error LastError() const;

 private:
  friend class Query;

  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

  sqlite3* const handle_;
  const std::string path_;
  std::mutex mutex_;
  std::map<std::string, sqlite3_stmt*, std::less<>> statements_;
};

}  // namespace assay
