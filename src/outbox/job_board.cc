#include "outbox/job_board.h"

#include <algorithm>

#include "env/foreign_code.h"
#include "store/tables/job.h"

namespace skald::outbox {
namespace {

constexpr Duration kLongestSleep = std::chrono::hours(1);
// A timer is due again after this where its run does not say when: it failed, or its worker died.
constexpr Duration kTimerTriedAgain = 5s;

}  // namespace

void JobBoard::add(Job job) { jobs_.push_back({std::move(job), env_.clock.steady()}); }

Duration JobBoard::run_once() {
  for (Posted& posted : jobs_)
    if (posted.look_at <= env_.clock.steady()) look(posted);
  Duration idle = kLongestSleep;
  for (const Posted& posted : jobs_)
    idle = std::clamp<Duration>(posted.look_at - env_.clock.steady(), Duration::zero(), idle);
  return idle;
}

void JobBoard::look(Posted& posted) {
  const Job& job = posted.job;
  const bool timer = static_cast<bool>(job.again_in);
  const Duration again = timer ? std::min(job.every, kTimerTriedAgain) : job.every;
  posted.look_at = env_.clock.steady() + std::min<Duration>(again, 60s);  // also where the database is away
  try {
    bool ours = false;
    Duration wait{};
    db_.write("take job", [&](Transaction& tx) {
      const Time due = tables::job::due_at(tx, job.name);
      ours = tables::job::is_due(tx, due, job.every) && tables::job::take(tx, job.name, job.every, again);
      wait = ours ? again : std::max<Duration>(due - tx.now(), Duration::zero());
    });
    posted.look_at = env_.clock.steady() + wait;
    if (!ours) return;
    run_foreign(job.run);
    env_.observer.count("jobs_run_total");
    if (timer) set(posted);
  } catch (const std::exception& error) {
    env_.observer.count("jobs_failed_total");
    env_.observer.log(Observer::Level::error, "a periodic job failed; it runs again at its next time",
                      "\"job\":" + to_json(job.name) + ",\"error\":" + to_json(std::string(error.what())));
  }
}

void JobBoard::set(Posted& timer) {
  const Duration in = std::clamp<Duration>(timer.job.again_in(), Duration::zero(), timer.job.every);
  db_.write("set timer", [&](Transaction& tx) { tables::job::set_due(tx, timer.job.name, in); });
  timer.look_at = env_.clock.steady() + in;
}

}  // namespace skald::outbox
