// The sagas that the simulated services run, and what they work on.
//
//   sim.order     takes stock and looks only then whether there was enough; it may wait for units that unfinished
//                 orders have; a charge as the pivot
//   sim.transfer  reads, thinks, looks again, and writes what it computed: wrong without its locks
//   sim.cross     two locks in either order, one after the other
//   sim.trip      a booking that can be cancelled, two signals of one name, and an order as its child
//   sim.guard     a child takes a lock and ends at once (sim.key); its root works under that lock, for a while
//
// Every local step and undo notes itself in sim_did and in the saga's own state: the two,
// and the engine's log, must tell the same story. Stock and accounts have versions, for
// the history that the checker reads.
#pragma once

#include <string>
#include <vector>

#include "saga/runner.h"
#include "sim/provider.h"
#include "skald/saga.h"

namespace skald::sim {

struct SimOrder {
  std::string sku;
  std::int64_t quantity = 1;
  std::string lock;              // "", shared, exclusive
  std::string when_busy;         // wait, retry, reject
  bool declined = false;
  bool kills = false;            // its charge kills the caller
  int stubborn = 0;              // so often its last step fails
  bool forsaken = false;         // its last step is unavailable until a person has helped
  std::vector<std::string> trail = {};
};
BOOST_DESCRIBE_STRUCT(SimOrder, (), (sku, quantity, lock, when_busy, declined, kills, stubborn, forsaken, trail))

struct SimTransfer {
  std::string from, to;
  std::int64_t amount = 0, seen_from = 0, seen_to = 0, think_ms = 0;
  std::int64_t read_at = 0;      // microseconds of database time
  bool refused = false, locked = true;
  std::vector<std::string> trail = {};
};
BOOST_DESCRIBE_STRUCT(SimTransfer, (),
                      (from, to, amount, seen_from, seen_to, think_ms, read_at, refused, locked, trail))

struct SimTrip {
  SimOrder order;
  std::string holds;             // a product, shared, or ""
  bool stuck = false;            // its booking cannot be cancelled
  bool grounded = false;         // refused after everything else
  std::vector<std::string> heard = {};
  std::vector<std::string> trail = {};
};
BOOST_DESCRIBE_STRUCT(SimTrip, (), (order, holds, stuck, grounded, heard, trail))

// What the sagas of one process reach beside their transaction.
struct Reach {
  Provider& provider;
  Provider::Wait wait;           // lets time pass in the process
};
void add_sagas(saga::Registry& registry, const Reach& reach, const Plan& plan);
void create_saga_tables(Database& db);

inline constexpr std::int64_t kStockPerProduct = 30;
inline constexpr std::int64_t kBalance = 1000;
inline constexpr int kProducts = 3, kAccounts = 4;

}  // namespace skald::sim
