// skald_landing: the last letter of each lane that came from another service. Every function runs inside of the
// caller's transaction.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/subscriber.h"

namespace skald::tables::landing {

struct Last {
  std::int64_t number = 0;
  std::string chain, former;
  std::vector<std::string> ids;
};
// Nothing: no letter has come.
std::optional<Last> last(Transaction& tx, std::string_view sender, int partition);
std::map<int, LanePlace> lasts(Transaction& tx, std::string_view sender);

}  // namespace skald::tables::landing
