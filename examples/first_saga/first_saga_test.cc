// Everything that can go wrong around an order, at every place where it can.
#include <gtest/gtest.h>

#include <map>

#include "place_order.h"
#include "skald/sim.h"

TEST(PlaceOrder, IsChargedOnceOrNotAtAllWhateverHappens) {
  std::map<std::string, std::int64_t> bank;
  const auto saga = place_order([&](const std::string& key, std::int64_t amount) { bank.emplace(key, amount); });
  const auto report = skald::sim::explore(
      saga, PlaceOrder{"lamp", 2},
      {.setup =
           [&](skald::Database& db) {
             bank.clear();
             create_shop(db);
           },
       .check =
           [&](skald::sim::Look& look) {
             look.require(bank.size() == (look.completed() ? 1u : 0u), "the card is charged once, or not at all");
             look.require(look.number("SELECT sold FROM shelf") == (look.completed() ? 2 : 0), "sold what was ordered");
           },
       .always =
           [](skald::sim::Look& look) {
             look.require(look.number("SELECT free + reserved + sold FROM shelf") == 10, "no lamp is lost");
           }});
  EXPECT_TRUE(report.ok()) << report;
  std::cout << report.runs << " runs\n";
}
