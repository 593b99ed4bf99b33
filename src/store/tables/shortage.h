// skald_shortage: which saga lacks what, until it is freed or the saga waits no longer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::tables::shortage {

// Not freed yet; whatever else the saga lacked is forgotten.
void enter(Transaction& tx, std::string_view saga_id, std::string_view resource, std::string_view key);
// How often it was freed since enter(). Whoever marks it just now is waited for.
std::int64_t freed(Transaction& tx, std::string_view saga_id);
void leave(Transaction& tx, std::string_view saga_id);

// Marks it as freed for those who have waited longest, at most `most`; their ids.
std::vector<std::string> mark_freed(Transaction& tx, std::string_view resource, std::string_view key, int most);

}  // namespace skald::tables::shortage
