// The Transaction that a body sees on SQLite.
//
// SQLite may end a transaction by itself (disk full, I/O error), and the next statement would
// then commit alone. So a transaction that has lost its ground stays lost: every later call
// throws what ended it, and nothing of it is committed, whatever the body made of the error.
#pragma once

#include <exception>

#include "store/sqlite/database.h"

namespace skald::sqlite {

class SqliteDatabase::OpenTransaction final : public Transaction {
 public:
  OpenTransaction(Env env, Connection& connection, Time now) : Transaction(env), connection_(connection), now_(now) {}

  void savepoint(const std::function<void()>& body) override;
  Time now() override {
    refuse_if_lost();
    return now_;
  }
  Dialect dialect() const override { return Dialect::sqlite; }
  std::vector<std::function<void()>> take_after() { return std::move(after_); }
  void refuse_if_lost() const {
    if (lost_) std::rethrow_exception(lost_);
  }

 protected:
  Rows run(std::string_view sql, std::span<const Param> params) override;
  // There is no round trip to save: runs at once.
  void defer(std::string_view sql, std::span<const Param> params) override { run(sql, params); }

 private:
  template <class F>
  auto guarded(F&& statement);

  Connection& connection_;
  Time now_;
  std::exception_ptr lost_;
};

}  // namespace skald::sqlite
