#include "crash/lethal_database.h"

#include <signal.h>
#include <unistd.h>

namespace skald::crash {
namespace {

[[noreturn]] void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

}  // namespace

void LethalDatabase::expect(Doom doom) {
  std::unique_lock lock(mutex_);
  if (condemned_) {  // too late: nobody is to be told that this process lives
    lock.unlock();   // what follows its last commit may write, too
    for (;;) pause();
  }
  doom_ = std::move(doom);
  met_.clear();
  met_in_order_.items.clear();
}

Commits LethalDatabase::commits() const {
  const std::lock_guard lock(mutex_);
  return met_in_order_;
}

Moment LethalDatabase::meet(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const Commit commit{std::string(name), ++met_[std::string(name)]};
  met_in_order_.items.push_back(commit);
  if (commit != doom_.at) return Moment::never;
  condemned_ = doom_.moment == Moment::before || doom_.moment == Moment::after;
  return doom_.moment;
}

// A body counts when it has run to its end for the first time: what it threw before
// is no commit, and a second run is the same one.
void LethalDatabase::write(std::string_view name, const Body& body) {
  std::optional<Moment> moment;
  real_->write(name, [&](Transaction& tx) {
    body(tx);
    if (moment) return;
    moment = meet(name);
    if (*moment == Moment::before) die();
    if (*moment == Moment::stop) raise(SIGSTOP);  // of this thread: it cannot go on before the whole has stopped
  });
  if (*moment == Moment::after) die();
  if (*moment == Moment::answer_lost) throw CommitUnknown("COMMIT_UNKNOWN", "the test has lost the commit's answer");
}

Rows LethalDatabase::run_alone(std::string_view sql, std::span<const Param> params) {
  if (params.size() != 2) throw Error("NOT_FORWARDED", "only the beat, which has two parameters, runs alone");
  return real_->query_alone(sql, params[0], params[1]);
}

}  // namespace skald::crash
