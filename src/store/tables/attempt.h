// skald_attempt: the attempts at an entry that did not succeed. The one that did
// is told by the entry itself (locked_by, locked_at, took).
#pragma once

#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::tables::attempt {

struct Attempt {
  int attempt = 0;
  Time at{};
  std::string worker;
  std::string outcome;   // RETRY, REFUSED, INTEGRITY, CRASHED
  Duration took{};
  std::string error;
};

void insert(Transaction& tx, std::string_view event_id, const Attempt& attempt);
std::vector<Attempt> of(Transaction& tx, std::string_view event_id);

}  // namespace skald::tables::attempt
