// The journey under the explorer: booked and paid as a whole, or nothing of it.
#include "trip.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "skald/sim.h"

namespace {

struct Desk {
  std::set<std::string> booked, cancelled;

  Agency agency() {
    return {[this](std::string_view key) {
              const std::string name(key);
              if (cancelled.contains(name)) throw skald::Refused("CANCELLED", "this booking was cancelled before");
              booked.insert(name);
              return name;
            },
            [this](std::string_view key) {
              booked.erase(std::string(key));
              cancelled.insert(std::string(key));
            }};
  }
};

void create_tables(skald::Database& db) {
  create_shop(db);
  db.write("trips", [](skald::Transaction& tx) {
    tx.execute("CREATE TABLE trip (saga TEXT PRIMARY KEY, traveller TEXT, status TEXT, insured BIGINT DEFAULT 0)");
  });
}

TEST(Trip, IsBookedAsAWholeOrNotAtAll) {
  Desk desk;
  const auto order = place_order([](const std::string&, std::int64_t) {});
  const Trip trip{.traveller = "kim",
                  .legs = {{"A", "B", {}}, {"B", "A", {}}},
                  .insured = true,
                  .hotel = {},
                  .car = {},
                  .approved_by = {}};
  const auto report = skald::sim::explore(
      plan_trip(desk.agency(), order), trip,
      {.setup =
           [&](skald::Database& db) {
             desk = {};
             create_tables(db);
           },
       .check =
           [&](skald::sim::Look& look) {
             look.require(desk.booked.size() == (look.completed() ? 4u : 0u), "two legs, hotel and car, or nothing");
             look.require(look.number("SELECT insured FROM trip") == look.completed(), "insured where it is booked");
           },
       .signals = {{"approved", R"("lee")"}},
       .also = {order.definition()},
       .seeds = 100});
  EXPECT_TRUE(report.ok()) << report;
}

}  // namespace
