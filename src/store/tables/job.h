// skald_job: when each periodic job is due next, for all workers of a database.
#pragma once

#include <optional>
#include <string_view>

#include "skald/database.h"

namespace skald::tables::job {

// True for the one caller that may run the job now; it is due again in `every`.
bool take(Transaction& tx, std::string_view name, Duration every);
Time due_at(Transaction& tx, std::string_view name);  // the epoch where it never ran

}  // namespace skald::tables::job
