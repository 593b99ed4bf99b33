// The sentences that say what to change: a semantic lock for long work with clear
// states, reread where conflicts are rare, commutative where order does not matter, the
// version file where audit or replay is needed.
#pragma once

#include <string>

#include "isolation/analyser_outline.h"

namespace skald::analyser {

inline constexpr const char* kSemanticLock = "semantic lock";

std::string name_of(Guard guard);            // "row lock"
std::string quoted(const Place& place);      // "order.place 'reserve stock'"

std::string advice_on_dirty_read(const Spot& read, const Spot& write);
std::string advice_on_lost_update(const Spot& basis, const Spot& write, const Spot& other);
std::string advice_on_non_repeatable_read(const Spot& basis, const Spot& again, const Spot& other);
std::string advice_on_dirty_undo(const Spot& write, const Spot& other);

}  // namespace skald::analyser
