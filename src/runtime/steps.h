// An engine that is never started: whoever holds its steps calls them instead of its threads,
// one at a time and in any order. The simulator does.
#pragma once

#include "runtime/receiving.h"
#include "runtime/saga_threads.h"
#include "skald/engine.h"

namespace skald::runtime {

class Steps {
 public:
  explicit Steps(Engine& engine) : engine_(engine) {}

  // What its threads do in one round each; how long there is nothing to do, unless woken.
  // They throw what the database throws.
  Duration beat();
  Duration relay();
  Duration post();
  Duration jobs();

  // Their poll() and run_one() are rounds as well.
  SagaThreads& sagas();
  Receiving& inlets();

  // What start() writes down: who is configured to get letters.
  void subscribe();

  // Whether there are news for the step since it was last called.
  bool relay_woken() const;
  bool post_woken() const;
  // Nothing that was begun waits for its end.
  bool relay_idle() const;

  // What stop() does: begins nothing new, and hands the rest over.
  void drain();
  void leave();

 private:
  Engine& engine_;
};

}  // namespace skald::runtime
