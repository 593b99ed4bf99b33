// skald_inbox: which consumer has handled which event. Written in the handler's
// own transaction; lives as long as a duplicate can arrive.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::tables::inbox {

// True the first time. A concurrent duplicate waits for the first one's end.
bool record(Transaction& tx, std::string_view consumer, std::string_view event_id);

// For events that nobody can have handled yet: travels with the commit, which
// fails where that was wrong.
void record_new(Transaction& tx, std::span<const std::string> consumers, std::span<const std::string> event_ids);

struct Handled {
  std::string consumer;
  Time at{};
};
std::vector<Handled> of(Transaction& tx, std::string_view event_id);

}  // namespace skald::tables::inbox
