// skald_history: what sagas read and wrote, one row a commit, where that is recorded.
//
// The number is drawn by the last statement of a transaction: of two that touch one row,
// the second waits for the first one's commit before it gets there. So the numbers of
// such are in the order of their commits.
#pragma once

#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::tables::history {

struct Row {
  std::int64_t seq = 0;
  std::string operations;  // lines of JSON
};

// At the end of the transaction.
void append(Transaction& tx, std::string_view saga_id, std::string_view operations);
std::vector<Row> list(Transaction& tx, std::int64_t after, std::size_t limit);
// Those written before `limit`, oldest first; how many, at most `most`.
std::int64_t forget(Transaction& tx, Time limit, int most);

}  // namespace skald::tables::history
