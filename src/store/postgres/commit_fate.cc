#include "store/postgres/commit_fate.h"

#include "env/seam.h"

namespace skald::postgres {
namespace {

constexpr Duration kPatience = 10s;
constexpr Duration kPause = 50ms;

enum class Answer { committed, aborted, in_progress, forgotten, none };

Answer ask(Pool& pool, std::string_view transaction_id, bool pause_first) try {
  const Pool::Lease lease = pool.acquire();
  Connection& connection = *lease;
  if (pause_first) connection.add("SELECT pg_sleep(0.05)");
  const std::size_t index = connection.batch_size();
  const Param params[] = {transaction_id};
  connection.add("SELECT coalesce(pg_xact_status($1::xid8), 'forgotten')", params);
  if (connection.exchange()) return Answer::none;
  const std::string_view status = connection.value(index, 0);
  if (status == "committed") return Answer::committed;
  if (status == "aborted") return Answer::aborted;
  return status == "in progress" ? Answer::in_progress : Answer::forgotten;
} catch (const Unavailable&) {
  return Answer::none;  // the caller asks again, and says so in the end
}

}  // namespace

CommitFate commit_fate(Pool& pool, Env env, std::string_view transaction_id) {
  if (!seam::holds(seam::Rule::commit_unknown_resolved)) return CommitFate::aborted;
  const Instant end = env.clock.steady() + kPatience;
  bool in_progress = false;
  do {
    const Answer answer = ask(pool, transaction_id, in_progress);
    if (answer == Answer::committed) return CommitFate::committed;
    if (answer == Answer::aborted) return CommitFate::aborted;
    if (answer == Answer::forgotten) return CommitFate::unknown;
    in_progress = answer == Answer::in_progress;
    if (answer == Answer::none) pool.wait_for_change(kPause);
  } while (env.clock.steady() < end);
  return CommitFate::unknown;
}

}  // namespace skald::postgres
