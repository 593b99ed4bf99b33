// The tee times as this service last heard of them: enough to refuse at once what cannot
// go well, and to know the price. Course decides.
#pragma once

#include <optional>
#include <string>

#include "golf/slot.h"
#include "skald/database.h"

namespace booking {

std::optional<golf::Slot> find_copy(skald::Transaction& tx, const std::string& id);
// The same in two halves, to be asked together with other things.
extern const std::string_view kFindCopy;
std::optional<golf::Slot> copy_in(const skald::Rows& rows, const std::string& id);

// Older news than what is known changes nothing.
void learn(skald::Transaction& tx, const golf::Slot& slot);

}  // namespace booking
