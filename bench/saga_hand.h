// The order saga as one would write it by hand, without an engine: business rows, a
// saga row and an outbox row (nobody relays it), in lean tables without indexes.
#pragma once

#include <cstdint>
#include <string>

#include "plain_sqlite.h"
#include "server.h"

namespace bench {

// A connection to PostgreSQL and its prepared statements.
class PostgresOrders {
 public:
  // The tables beside the business ones.
  static void create_tables(const std::string& url);
  PostgresOrders(const std::string& url, bool pipelined);

  // A transaction per step, and per undo: business row and saga row, the last with the event.
  void by_steps(std::int64_t n);
  // All in one transaction: business rows, one saga row with its step log, the event.
  void fused(std::int64_t n);

 private:
  void update(const std::string& id, std::int64_t n, const char* status, const char* step);
  void tell(const std::string& id, std::int64_t n);
  void commit();
  void reserve(const char* sku);

  PreparedSql sql_;
};

// The same on a file of SQLite, with as many steps in one commit as are wanted, each with
// its business row, saga row and outbox row.
class SqliteOrders {
 public:
  SqliteOrders(const std::string& path, int steps_per_commit);
  void by_steps(std::int64_t n);

 private:
  void begin_step();
  void end_step(const std::string& id, std::int64_t n, std::string_view event);
  void update(const std::string& id, std::int64_t n, std::string_view status, std::int64_t step);

  PlainSqlite db_;
  const int steps_per_commit_;
  int steps_ = 0;  // in the open transaction
  PlainSqlite::Statement begin_, commit_, create_, reserve_, pay_, release_, cancel_, insert_, update_, event_;
};

}  // namespace bench
