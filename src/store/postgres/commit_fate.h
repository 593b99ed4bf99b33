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
// and then its witness looked for.
//
// | the server, when it is asked                     | what is believed                                   |
// | is the same run of the same server               | what it says of the id                             |
// | has crashed, or is a standby that was promoted   | "aborted", and the witness; "committed" may be said of another transaction: such a server gives ids again that it had not heard of |
// | has not given that id to anybody yet             | aborted: it will never have that commit            |
// | says "committed"                                 | only once a commit of our own is answered after it: then the synchronous standbys have both |
//
// unknown: the server could not be reached for that long, or has no synchronous standby left, or has
// forgotten, or has crashed or was replaced and there is no witness.
CommitFate commit_fate(Pool& pool, Env env, const LostCommit& lost);

// As Database::end_sessions().
bool end_sessions(Connection& connection, std::span<const Database::Session> sessions);

}  // namespace skald::postgres
