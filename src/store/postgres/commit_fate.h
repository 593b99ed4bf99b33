// What became of a COMMIT whose answer was lost.
#pragma once

#include <string>

#include "skald/database.h"
#include "skald/env.h"
#include "store/postgres/pool.h"

namespace skald::postgres {

// See Transaction::witness.
struct Witness {
  std::string sql;
  std::string id;
};

struct LostCommit {
  std::string transaction_id;  // empty where even the answer to BEGIN was lost
  Witness witness;             // then this is set
  Database::Session session;
  std::string server_run = {};  // see Connection
};

enum class CommitFate { committed, aborted, unknown };

// Asks the server on another connection until it is settled. Reading the data
// alone would miss a COMMIT that is still running or still in the server's socket:
// either the transaction is no longer in progress, or its session is ended first
// and then its witness looked for. A server that has crashed gives the ids of transactions
// whose log it had not written yet to others: "committed" may be said of one of those, and
// only the witness tells.
// unknown: the server could not be reached for that long, has forgotten, or has crashed and
// there is no witness.
CommitFate commit_fate(Pool& pool, Env env, const LostCommit& lost);

// As Database::end_sessions().
bool end_sessions(Pool& pool, std::span<const Database::Session> sessions);

}  // namespace skald::postgres
