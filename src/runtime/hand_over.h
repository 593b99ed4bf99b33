// How an engine ends: others have its work at once, and nobody is blamed.
//
// drain(), then its threads are stopped, then leave(). Where the grace has ended before the work, leave() comes first:
// whoever waits for a step that is stuck may be killed meanwhile, and that would be a death.
#pragma once

#include "outbox/lander.h"
#include "outbox/membership.h"
#include "outbox/relay.h"
#include "runtime/posting.h"
#include "runtime/saga_threads.h"

namespace skald::runtime {

// Not thread safe; the threads run.
class HandOver {
 public:
  struct Parts {
    outbox::Membership& membership;
    outbox::Relay& relay;
    outbox::Lander& lander;
    Posting& posting;
    SagaThreads& sagas;
    Loop &relaying, &jobs;
    const std::atomic<std::size_t>& relay_in_hand;
  };
  HandOver(Env env, Database& db, const Parts& parts) : env_(env), db_(db), parts_(parts) {}

  // Begins nothing new, and waits for what is under way. False: some of it has not ended by then.
  bool drain(Instant end);
  // Nobody beats any more, and nobody else flushes announcements. Where the database is away its lease has to end.
  void leave(bool ended);

 private:
  void give_sagas_away();
  bool is_at_work() const;

  Env env_;
  Database& db_;
  const Parts parts_;
};

}  // namespace skald::runtime
