// What skald_chaos is asked for.
#pragma once

namespace skald::chaos {

struct Options {
  bool sagas = false;              // the order service instead of the outbox
  bool booking = false;            // or the booking system, distributed
  int seconds = 120, rate = 500, freezes = 3;
  unsigned seed = 1;
};

}  // namespace skald::chaos
