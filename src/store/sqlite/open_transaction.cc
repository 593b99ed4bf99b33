#include "store/sqlite/open_transaction.h"

namespace skald::sqlite {

template <class F>
auto SqliteDatabase::OpenTransaction::guarded(F&& statement) {
  refuse_if_lost();
  try {
    return statement();
  } catch (...) {
    if (!connection_.in_transaction()) lost_ = std::current_exception();
    throw;
  }
}

Rows SqliteDatabase::OpenTransaction::run(std::string_view sql, std::span<const Param> params) {
  return guarded([&] { return connection_.run(sql, params); });
}

void SqliteDatabase::OpenTransaction::savepoint(const std::function<void()>& body) {
  const auto control = [this](const char* sql) { guarded([&] { connection_.control(sql); }); };
  const std::size_t events = events_.size();
  control("SAVEPOINT inner_scope");  // names may nest: the innermost is meant
  try {
    body();
    refuse_if_lost();
  } catch (...) {
    events_.resize(events);
    if (!lost_) {
      control("ROLLBACK TO inner_scope");
      control("RELEASE inner_scope");
    }
    throw;
  }
  control("RELEASE inner_scope");
}

}  // namespace skald::sqlite
