// skald_job: when each periodic job is due next, for all workers of a database.
#pragma once

#include <optional>
#include <string_view>

#include "skald/database.h"

namespace skald::tables::job {

// Also where it is due later than two periods from now: that was said by a longer one. Within
// two it may have been said by a transaction that began a little later than this one.
bool is_due(Transaction& tx, Time due, Duration every);
// True for the one caller that may run the job now; it is due again in `again`.
bool take(Transaction& tx, std::string_view name, Duration every, Duration again);
void set_due(Transaction& tx, std::string_view name, Duration in);
Time due_at(Transaction& tx, std::string_view name);  // the epoch where it never ran

}  // namespace skald::tables::job
