#include "crash/lethal_database.h"

#include <signal.h>

namespace skald::crash {

// A body counts when it has run to its end for the first time: what it threw before
// is no commit, and a second run is the same one.
void LethalDatabase::write(std::string_view name, const Body& body) {
  std::optional<Moment> moment;
  real_->write(name, [&](Transaction& tx) {
    body(tx);
    if (moment) return;
    moment = fate_.meet(name);
    if (*moment == Moment::before) Fate::die();
    if (*moment == Moment::stop) raise(SIGSTOP);  // of this thread: it cannot go on before the whole has stopped
  });
  if (*moment == Moment::after) Fate::die();
  if (*moment == Moment::answer_lost) throw CommitUnknown("COMMIT_UNKNOWN", "the test has lost the commit's answer");
}

Rows LethalDatabase::run_alone(std::string_view sql, std::span<const Param> params) {
  if (params.size() != 2) throw Error("NOT_FORWARDED", "only the beat, which has two parameters, runs alone");
  return real_->query_alone(sql, params[0], params[1]);
}

}  // namespace skald::crash
