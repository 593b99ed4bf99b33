// What became of a COMMIT whose answer was lost.
#pragma once

#include <string_view>

#include "skald/env.h"
#include "store/postgres/pool.h"

namespace skald::postgres {

enum class CommitFate { committed, aborted, unknown };

// Asks the server, on another connection, until the transaction is no longer in
// progress: reading the data instead would miss a COMMIT that is still running.
// unknown: the server could not be reached for that long, or has forgotten.
CommitFate commit_fate(Pool& pool, Env env, std::string_view transaction_id);

}  // namespace skald::postgres
