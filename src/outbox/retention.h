// Completed entries go after their retention, in small batches, with their
// attempts and inbox rows: nothing that could still arrive twice is forgotten.
#pragma once

#include "skald/database.h"

namespace skald::outbox {

// How many entries went.
std::int64_t forget_completed(Database& db, Duration retention, std::int64_t at_most = 100'000);

}  // namespace skald::outbox
