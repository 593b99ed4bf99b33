// A small shop whose sagas are right, and what its bank and shelf look like.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "skald/sim.h"

namespace skald::sim {

struct Order {
  std::string sku = "lamp";
  std::int64_t quantity = 2;
  std::int64_t seen = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (sku, quantity, seen))

// What lies outside of the database: it remembers every call.
struct Bank {
  void charge(const std::string& key, std::int64_t amount) {
    if (!cancelled.contains(key)) charges.emplace(key, amount);
  }
  void cancel(const std::string& key) {
    charges.erase(key);
    cancelled.insert(key);
  }
  std::map<std::string, std::int64_t> charges;
  std::set<std::string> cancelled;
};

inline constexpr std::int64_t kShelf = 10;

inline void create_shop(Database& db) {
  db.write("shop", [](Transaction& tx) {
    tx.execute("CREATE TABLE shelf (sku TEXT PRIMARY KEY, free BIGINT, reserved BIGINT, sold BIGINT)");
    tx.execute("INSERT INTO shelf VALUES ('lamp', $1, 0, 0)", kShelf);
  });
}

inline void reserve(Local& step, Order& order) {
  if (step->execute("UPDATE shelf SET free = free - $2, reserved = reserved + $2 WHERE sku = $1 AND free >= $2",
                    order.sku, order.quantity) == 0)
    throw Refused("SOLD_OUT", "not enough on the shelf");
}
inline void put_back(Local& step, Order& order) {
  step->execute("UPDATE shelf SET free = free + $2, reserved = reserved - $2 WHERE sku = $1", order.sku,
                order.quantity);
}
inline void sell(Local& step, Order& order) {
  step->execute("UPDATE shelf SET reserved = reserved - $2, sold = sold + $2 WHERE sku = $1", order.sku,
                order.quantity);
}

class ExploreTest : public testing::Test {
 protected:
  Saga<Order> order_saga() {
    return Saga<Order>("shop.order")
        .local("reserve", reserve)
        .undo(put_back)
        .remote("charge", [this](Remote& call, Order& order) { bank.charge(call.idempotency_key(), order.quantity); })
        .pivot()
        .local("sell", sell);
  }
  Scenario scenario() {
    return {.setup =
                [this](Database& db) {
                  bank = {};
                  create_shop(db);
                },
            .check =
                [this](Look& look) {
                  std::int64_t sold = 0, charged = 0;
                  for (const SagaView& saga : look.sagas())
                    sold += saga.status == SagaStatus::COMPLETED ? from_json<Order>(saga.state.text).quantity : 0;
                  for (const auto& [key, amount] : bank.charges) charged += amount;
                  look.require(charged == sold, "what was charged is what was sold");
                  look.require(look.number("SELECT sold FROM shelf") == sold, "the shelf knows what was sold");
                  look.require(look.number("SELECT reserved FROM shelf") == 0, "nothing stays reserved");
                },
            .always =
                [](Look& look) {
                  look.require(look.number("SELECT free + reserved + sold FROM shelf") == kShelf, "nothing is lost");
                }};
  }
  // The words of every run, by making each of them fail.
  template <class State>
  std::vector<std::string> schedules_of(const Saga<State>& saga) {
    Scenario wrong = scenario();
    int runs = 0;
    wrong.check = [&](Look& look) { look.require(runs++ == 0, "never"); };
    wrong.always = {};
    wrong.failures_max = 10'000;
    std::vector<std::string> out;
    for (const Failure& failure : explore(saga, State{}, wrong).failures) out.push_back(failure.schedule);
    return out;
  }

  Bank bank;
};

}  // namespace skald::sim
