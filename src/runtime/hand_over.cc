#include "runtime/hand_over.h"

namespace skald::runtime {

bool HandOver::drain(Instant end) {
  parts_.relay.drain();
  parts_.posting.drain();
  Wakeup tick;
  for (;;) {
    give_sagas_away();
    if (!is_at_work()) return true;
    if (env_.clock.steady() >= end) return false;
    if (parts_.relay_in_hand > 0) parts_.relaying.wake();
    parts_.posting.wake_to_end();
    tick.wait(10ms);
  }
}

void HandOver::give_sagas_away() {
  try {
    parts_.sagas.hand_over();
  } catch (const Error&) {
    // leave() does it
  }
}

bool HandOver::is_at_work() const {
  return parts_.relay_in_hand > 0 || parts_.relaying.is_busy() || parts_.jobs.is_busy() ||
         parts_.posting.is_at_work() || parts_.sagas.is_busy() || parts_.lander.busy_for() > Duration::zero();
}

void HandOver::leave(bool ended) {
  using Unfinished = outbox::Membership::Unfinished;
  try {
    parts_.membership.leave(ended ? Unfinished::none : Unfinished::some);
    while (db_.flush_announcements()) {}
  } catch (const Error& error) {
    env_.observer.log(Observer::Level::warn,
                      "this worker could not tell the others that it leaves: they find out by its lease",
                      "\"error\":" + to_json(std::string(error.what())));
  }
}

}  // namespace skald::runtime
