// What skald_chaos is asked for.
#pragma once

#include <string>

namespace skald::chaos {

struct Options {
  bool sagas = false;              // the order service instead of the outbox
  bool booking = false;            // or the booking system, distributed
  bool storm = false;              // or donations and orders, with one kill after the other
  int seconds = 120, rate = 500, freezes = 3;
  unsigned seed = 1;
  bool each_once = false;          // of the bookings: each kind of blow that matters most, once, and no others

  // Of the storm alone.
  int kills = 30, latency_ms = 1000;
  int poison = 0;                  // runs with a step or a handler that kills its process, instead
  std::string db = "all";          // sqlite, postgres or all
  int workers = 0;                 // on PostgreSQL; 0: one, and then four
};

}  // namespace skald::chaos
