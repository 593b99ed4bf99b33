// The sagas that the simulated services run, and the world outside of the database
// that their remote steps reach: it survives every crash and remembers every effect.
//
//   sim.order     stock reserved in one guarded statement, a charge as the pivot
//   sim.transfer  reads, thinks, and writes what it computed: wrong without its locks
//   sim.cross     two locks in either order, one after the other
//   sim.trip      a booking that can be cancelled, a signal, and an order as its child
#pragma once

#include <map>
#include <set>
#include <string>

#include "saga/runner.h"
#include "sim/stage.h"
#include "skald/saga.h"

namespace skald::sim {

struct SimOrder {
  std::string sku;
  std::int64_t quantity = 1;
  std::string lock;              // "", shared, exclusive
  std::string when_busy;         // wait, retry, reject
  bool declined = false;
};
BOOST_DESCRIBE_STRUCT(SimOrder, (), (sku, quantity, lock, when_busy, declined))

struct SimTransfer {
  std::string from, to;
  std::int64_t amount = 0, seen_from = 0, seen_to = 0, think_ms = 0;
  bool refused = false;
};
BOOST_DESCRIBE_STRUCT(SimTransfer, (), (from, to, amount, seen_from, seen_to, think_ms, refused))

struct SimTrip {
  SimOrder order;
  bool refused = false;
};
BOOST_DESCRIBE_STRUCT(SimTrip, (), (order, refused))

// Charges and bookings by key, each at most once; a cancel that comes first keeps the
// late one out. Calls are slow, lost on the way there or back, or kill their caller.
class Provider {
 public:
  explicit Provider(Stage& stage) : stage_(stage) {}

  void act(const Remote& step, bool declined);
  void cancel(const Remote& step);

  int effects_of(const std::string& saga_id) const;   // that stand
  int times_done(const std::string& saga_id) const;   // ever, the cancelled ones too

  std::function<void(Duration)> while_it_takes = {};

 private:
  void suffer_before();
  void suffer_after();

  Stage& stage_;
  std::map<std::string, std::string> done_;            // key -> saga
  std::set<std::string> cancelled_;
};

const Saga<SimOrder>& order_saga(Provider& provider);
void add_sagas(saga::Registry& registry, Provider& provider);
void create_saga_tables(Database& db);

inline constexpr std::int64_t kStockPerProduct = 30;
inline constexpr std::int64_t kBalance = 1000;
inline constexpr int kProducts = 3, kAccounts = 4;

}  // namespace skald::sim
