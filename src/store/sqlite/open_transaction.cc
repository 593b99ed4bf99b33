#include "store/sqlite/open_transaction.h"

namespace skald::sqlite {

void SqliteDatabase::OpenTransaction::savepoint(const std::function<void()>& body) {
  const std::size_t events = events_.size();
  connection_.control("SAVEPOINT inner_scope");  // names may nest: the innermost is meant
  try {
    body();
  } catch (...) {
    if (connection_.in_transaction()) {
      connection_.control("ROLLBACK TO inner_scope");
      connection_.control("RELEASE inner_scope");
    }
    events_.resize(events);
    throw;
  }
  connection_.control("RELEASE inner_scope");
}

}  // namespace skald::sqlite
