#include "plain_sqlite.h"

#include <stdexcept>

namespace bench {

PlainSqlite::PlainSqlite(const std::string& path) {
  must(sqlite3_open(path.c_str(), &db_));
  run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
}

PlainSqlite::~PlainSqlite() {
  for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

void PlainSqlite::must(int code) const {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) throw std::runtime_error(sqlite3_errmsg(db_));
}

void PlainSqlite::run(const std::string& sql) { must(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr)); }

PlainSqlite::Statement PlainSqlite::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  must(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  statements_.push_back(statement);
  return {*this, statement};
}

int PlainSqlite::Statement::run(std::initializer_list<Value> values) {
  int at = 0;
  for (const Value& value : values) {
    ++at;
    if (const auto* text = std::get_if<std::string_view>(&value))
      db_.must(sqlite3_bind_text(raw_, at, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT));
    else db_.must(sqlite3_bind_int64(raw_, at, std::get<std::int64_t>(value)));
  }
  db_.must(sqlite3_step(raw_));
  db_.must(sqlite3_reset(raw_));
  return sqlite3_changes(db_.db_);
}

}  // namespace bench
