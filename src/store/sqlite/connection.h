// One SQLite connection: statements prepared once and kept, rows copied out.
// Not thread safe.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "skald/row.h"

namespace skald::sqlite {

class Connection {
 public:
  enum class Mode { writer, reader };
  // Opens and sets up WAL. Throws Unavailable with the path and the cause.
  Connection(const std::string& path, Mode mode, bool full_sync);

  // User SQL: `$1` parameters; transaction control and PRAGMA are denied.
  Rows run(std::string_view sql, std::span<const Param> params);
  // The store's own BEGIN, COMMIT, SAVEPOINT, PRAGMA.
  void control(const char* sql);

  // False once SQLite itself has ended the transaction (disk full, I/O error):
  // the next statement would commit alone.
  bool in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }
  bool has_deferred_violations() const;
  std::string error_text() const { return sqlite3_errmsg(db_.get()); }

  // Whether something has found no room on the disk since the last call.
  bool take_no_room() { return std::exchange(no_room_, false); }
  // Of the writer on a file: whether a commit has stored something since the last call.
  bool take_stored() { return std::exchange(stored_, false); }
  // Of the writer, behind a commit: brings a log that has grown long into the database file,
  // as far as no reader needs it. Throws where the disk fails; the commit is good all the same.
  void checkpoint_if_long();

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  using Statements = std::unordered_map<std::string, Statement, TextHash, std::equal_to<>>;

  sqlite3_stmt* prepared(std::string_view sql);
  Rows step(sqlite3_stmt* statement, std::span<const Param> params);
  static int authorize(void* self, int action, const char* a, const char* b, const char* c, const char* d);
  static int note_log(void* self, sqlite3*, const char*, int pages);
  bool is_no_room(int code) const;
  [[noreturn]] void fail(int code);

  std::unique_ptr<sqlite3, Close> db_;
  Statements statements_;   // user SQL
  Statements controls_;     // the store's own: kept apart, or user SQL could find them
  bool own_ = false;  // the store itself speaks
  bool no_room_ = false;
  bool stored_ = false;
  int log_pages_ = 0;  // behind the last commit
};

}  // namespace skald::sqlite
