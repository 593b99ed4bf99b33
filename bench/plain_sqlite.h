// SQLite as one would use it by hand: prepared statements, WAL, synchronous=FULL.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bench {

// Every call throws with SQLite's message where it fails.
class PlainSqlite {
 public:
  explicit PlainSqlite(const std::string& path);
  ~PlainSqlite();
  PlainSqlite(const PlainSqlite&) = delete;
  PlainSqlite& operator=(const PlainSqlite&) = delete;

  void run(const std::string& sql);

  using Value = std::variant<std::int64_t, std::string_view>;
  class Statement {
   public:
    // The rows that it touched.
    int run(std::initializer_list<Value> values = {});

   private:
    friend class PlainSqlite;
    Statement(PlainSqlite& db, sqlite3_stmt* raw) : db_(db), raw_(raw) {}
    PlainSqlite& db_;
    sqlite3_stmt* raw_;
  };
  Statement prepare(const char* sql);

 private:
  void must(int code) const;

  sqlite3* db_ = nullptr;
  std::vector<sqlite3_stmt*> statements_;
};

}  // namespace bench
