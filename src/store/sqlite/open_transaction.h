// The Transaction that a body sees on SQLite.
#pragma once

#include "store/sqlite/database.h"

namespace skald::sqlite {

class SqliteDatabase::OpenTransaction final : public Transaction {
 public:
  OpenTransaction(Env env, Connection& connection, Time now) : Transaction(env), connection_(connection), now_(now) {}

  void savepoint(const std::function<void()>& body) override;
  Time now() override { return now_; }
  Dialect dialect() const override { return Dialect::sqlite; }
  std::vector<std::function<void()>> take_after() { return std::move(after_); }

 protected:
  Rows run(std::string_view sql, std::span<const Param> params) override { return connection_.run(sql, params); }
  // There is no round trip to save: runs at once.
  void defer(std::string_view sql, std::span<const Param> params) override { connection_.run(sql, params); }

 private:
  Connection& connection_;
  Time now_;
};

}  // namespace skald::sqlite
