// skald_partition: who may work on which share of the keys. `fence` counts up at
// every change of owner; no effect counts under a lower one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::tables::partition {

struct Ownership {
  int id = 0;
  std::string owner;      // empty: nobody's
  std::int64_t fence = 0;
};

// Of a bit each.
std::vector<int> ids_in(std::uint64_t bits);

std::vector<Ownership> all(Transaction& tx);

// Takes a partition that still has this owner and fence: the new fence, or
// nullopt where somebody was faster.
std::optional<std::int64_t> take(Transaction& tx, const Ownership& seen, std::string_view worker);

// Gives back what is still owned under that fence.
void release(Transaction& tx, const Ownership& owned);

// Gives back everything of a worker, also what it took without getting to know it.
void release_all(Transaction& tx, std::string_view worker);

// What a worker owns, locked until the end of the transaction.
std::vector<std::int64_t> hold_all(Transaction& tx, std::string_view worker);

// Checks and locks (shared) that `owned` still holds, until the end of the
// transaction. The ids that do.
std::vector<int> check(Transaction& tx, std::string_view worker, std::span<const Ownership> owned);

}  // namespace skald::tables::partition
