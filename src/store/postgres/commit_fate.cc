#include "store/postgres/commit_fate.h"

#include "env/seam.h"

namespace skald::postgres {
namespace {

constexpr Duration kPatience = 10s;
constexpr Duration kPause = 50ms;

enum class Answer { committed, aborted, in_progress, forgotten, perhaps_anothers, none };

// An id that the server has not given to anybody yet: a standby was promoted that has not heard of it, or the
// server lost it in a crash.
constexpr std::string_view kIdInTheFuture = "22023";

Answer ask(Connection& connection, const LostCommit& lost, bool pause_first) {
  if (pause_first) connection.add("SELECT pg_sleep(0.05)");
  const std::size_t index = connection.batch_size();
  const Param params[] = {std::string_view(lost.transaction_id)};
  connection.add("SELECT coalesce(pg_xact_status($1::xid8), 'forgotten'), " SKALD_SERVER_RUN, params);
  if (const auto failed = connection.exchange())
    return failed->sqlstate == kIdInTheFuture ? Answer::aborted : Answer::none;
  const std::string_view status = connection.value(index, 0);
  const bool same_server = connection.value(index, 1) == lost.server_run;
  if (status == "committed") return same_server ? Answer::committed : Answer::perhaps_anothers;
  if (status == "aborted") return Answer::aborted;
  return status == "in progress" ? Answer::in_progress : Answer::forgotten;
}

Answer look_for(Connection& connection, const LostCommit& lost) {
  if (!end_sessions(connection, std::span(&lost.session, 1))) return Answer::in_progress;
  connection.add("BEGIN");
  connection.add_local_settings();
  const std::size_t index = connection.batch_size();
  const Param params[] = {std::string_view(lost.witness.id)};
  connection.add(lost.witness.sql, params);
  connection.add("COMMIT");
  if (connection.exchange()) {
    connection.abandon();
    return Answer::none;
  }
  return connection.take_rows(index).empty() ? Answer::aborted : Answer::committed;
}

// What a primary has committed can be seen there before its synchronous standbys have it, once the session that
// waited for them is gone. A commit of our own that is answered comes after it in the log, so they have both.
bool is_kept(Connection& connection) {
  connection.add("SELECT pg_logical_emit_message(true, 'skald', '')");
  return !connection.exchange();
}

Answer find_out(Pool& pool, const LostCommit& lost, bool pause_first) try {
  const Pool::Lease lease = pool.acquire();
  Connection& connection = *lease;
  connection.limit_silence(kPatience);
  Answer answer = lost.transaction_id.empty() ? look_for(connection, lost) : ask(connection, lost, pause_first);
  if (answer == Answer::perhaps_anothers && !lost.witness.sql.empty()) answer = look_for(connection, lost);
  return answer == Answer::committed && !is_kept(connection) ? Answer::none : answer;
} catch (const Unavailable&) {
  return Answer::none;  // the caller asks again, and says so in the end
}

}  // namespace

CommitFate commit_fate(Pool& pool, Env env, const LostCommit& lost) {
  if (!seam::holds(seam::Rule::commit_unknown_resolved)) return CommitFate::aborted;
  const Instant end = env.clock.steady() + kPatience;
  bool in_progress = false;
  do {
    const Answer answer = find_out(pool, lost, in_progress);
    if (answer == Answer::committed) return CommitFate::committed;
    if (answer == Answer::aborted) return CommitFate::aborted;
    if (answer == Answer::forgotten || answer == Answer::perhaps_anothers) return CommitFate::unknown;
    in_progress = answer == Answer::in_progress;
    if (answer == Answer::none || (in_progress && lost.transaction_id.empty())) pool.wait_for_change(kPause);
  } while (env.clock.steady() < end);
  return CommitFate::unknown;
}

bool end_sessions(Connection& connection, std::span<const Database::Session> sessions) {
  if (sessions.empty()) return true;
  std::vector<std::int64_t> pids;
  std::vector<std::string> starts;
  for (const Database::Session& session : sessions) {
    pids.push_back(session.pid);
    starts.push_back(session.started);
  }
  const std::string those =
      " FROM pg_stat_activity JOIN unnest($1::bigint[], $2::text[]) AS old (old_pid, started)"
      " ON pid = old_pid AND (extract(epoch FROM backend_start) * 1000000)::bigint::text = started";
  const Param params[] = {pids, starts};
  // All are told, and one that is not gone soon gets a tenth of a second: most need less. Each in its own exchange:
  // pg_stat_activity stands still inside of one.
  const auto exchange = [&](const char* asked, const char* most = "") {
    connection.add(asked + those + most, params);
    if (const auto failed = connection.exchange()) raise(*failed);
  };
  exchange("SELECT pg_terminate_backend(pid)");
  connection.add("SELECT pg_sleep(0.01)");
  exchange("SELECT pg_terminate_backend(pid, 100)", " LIMIT 1");
  exchange("SELECT count(*)");
  return connection.value(0, 0) == "0";
}

}  // namespace skald::postgres
