#include "crash/fate.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace skald::crash {
namespace {

void die_in(std::int64_t microseconds) {
  sigevent how{};
  how.sigev_notify = SIGEV_SIGNAL;
  how.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec when{};
  when.it_value.tv_sec = microseconds / 1'000'000;
  when.it_value.tv_nsec = microseconds % 1'000'000 * 1'000 + 1;
  if (timer_create(CLOCK_MONOTONIC, &how, &timer) != 0 || timer_settime(timer, 0, &when, nullptr) != 0) Fate::die();
}

}  // namespace

void Fate::die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

void Fate::expect(Doom doom) {
  std::unique_lock lock(mutex_);
  if (condemned_) {  // too late: nobody is to be told that this process lives
    lock.unlock();   // what follows its last commit may write, too
    for (;;) pause();
  }
  doom_ = std::move(doom);
  met_.clear();
  met_in_order_.items.clear();
}

Commits Fate::commits() const {
  const std::lock_guard lock(mutex_);
  return met_in_order_;
}

Moment Fate::meet(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const Commit commit{std::string(name), ++met_[std::string(name)]};
  met_in_order_.items.push_back(commit);
  if (commit != doom_.at) return Moment::never;
  condemned_ = doom_.moment == Moment::before || doom_.moment == Moment::during || doom_.moment == Moment::after;
  if (doom_.moment == Moment::during) die_in(doom_.delay_us);
  return doom_.moment;
}

}  // namespace skald::crash
