// Idempotency keys of the order service's POSTs, whose effects are sagas.
#include <set>
#include <thread>

#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using order::OrderView;
using order::Status;

constexpr const char* kOneLamp = R"({"sku":"lamp","quantity":1})";

class OrderKeys : public OrderTest {
 protected:
  Response post(const std::string& path, const std::string& body, const std::string& key = "k") {
    return call("POST", path, body, {{"idempotency-key", key}});
  }
  // As if the process had died between the effect and its answer.
  void forget_answers() {
    (*db_)->write("test", [](Transaction& tx) { tx.execute("UPDATE skald_api_key SET status = 0"); });
  }
  static std::string id_of(const Response& response) { return from_json<OrderView>(response.body).id; }
  static bool replayed(const Response& response) { return response.headers.contains("idempotency-replayed"); }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderKeys, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderKeys, OneKeyIsOneOrderAndItsFirstAnswer) {
  offer("lamp", 5);
  const auto first = post("/order/orders", kOneLamp);
  EXPECT_EQ(first.status, 202);
  EXPECT_FALSE(replayed(first));
  EXPECT_EQ(ended(id_of(first)).status, Status::CONFIRMED);
  const auto again = post("/order/orders", kOneLamp);
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.body, first.body) << "as it was then, not as the order is now";
  EXPECT_TRUE(replayed(again));
  const auto other = post("/order/orders", R"({"sku":"lamp","quantity":2})");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(code_of(other), "KEY_REUSED");
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_record"), 1);
  expect_invariants();
}

TEST_P(OrderKeys, AnOrderWhoseAnswerWasLostIsFoundAgain) {
  offer("lamp", 5);
  const std::string id = ended(id_of(post("/order/orders", kOneLamp))).id;
  forget_answers();
  const auto again = post("/order/orders", kOneLamp);
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(id_of(again), id);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_record"), 1);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM skald_saga WHERE type = 'order.place'"), 1);
}

TEST_P(OrderKeys, ACancellationIsAnsweredOnceAndFoundAgainWhereItsAnswerWasLost) {
  offer("lamp", 5);
  const std::string id = ended(place("lamp", 2).id).id, path = "/order/orders/" + id + "/cancel";
  const auto first = post(path, "{}");
  EXPECT_EQ(first.status, 202) << first.body;
  becomes(id, Status::CANCELLED);
  const auto again = post(path, "{}");
  EXPECT_EQ(again.body, first.body);
  EXPECT_TRUE(replayed(again));
  EXPECT_EQ(code_of(post(path, R"({"whenBusy":"reject"})")), "KEY_REUSED");
  forget_answers();
  const auto found = post(path, "{}");
  EXPECT_EQ(found.status, 202) << found.body;
  EXPECT_EQ(from_json<OrderView>(found.body).status, Status::CANCELLED);
  EXPECT_EQ(sandbox_.refunded(), 200);
  expect_invariants();
}

TEST_P(OrderKeys, WhatWasRefusedMayBeTriedAgainUnderItsKey) {
  EXPECT_EQ(code_of(post("/order/orders", kOneLamp)), "PRODUCT_NOT_FOUND");
  offer("lamp", 5);
  sandbox_.hold_back();
  const auto holder = place("lamp", 1, R"(,"lock":"exclusive")");
  const std::string hasty = R"({"sku":"lamp","quantity":1,"lock":"exclusive","whenBusy":"reject"})";
  const auto busy = post("/order/orders", hasty);
  EXPECT_EQ(busy.status, 409) << busy.body;
  EXPECT_EQ(code_of(busy), "BUSY");
  sandbox_.let_go();
  EXPECT_EQ(ended(holder.id).status, Status::CONFIRMED);
  until([&] { return rows("SELECT COUNT(*) FROM skald_lock") == 0; }, "the holder's end");
  EXPECT_EQ(ended(id_of(post("/order/orders", hasty))).status, Status::CONFIRMED);
  expect_invariants();
}

TEST_P(OrderKeys, ManyAtOnceUnderOneKeyAreOneOrder) {
  offer("lamp", 50);
  std::mutex mutex;
  std::set<std::string> bodies;
  std::vector<std::thread> customers;
  for (int i = 0; i < 6; ++i)
    customers.emplace_back([&] {
      Response response = post("/order/orders", kOneLamp);
      while (response.status == 409) response = post("/order/orders", kOneLamp);  // KEY_IN_FLIGHT
      const std::lock_guard lock(mutex);
      bodies.insert(response.body);
    });
  for (auto& customer : customers) customer.join();
  ASSERT_EQ(bodies.size(), 1u);
  EXPECT_EQ(ended(from_json<OrderView>(*bodies.begin()).id).status, Status::CONFIRMED);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_record"), 1);
  EXPECT_EQ(sandbox_.charges(), 1);
}

TEST_P(OrderKeys, TheLabRunsOnceUnderAKey) {
  const std::string body = R"({"anomaly":"lost-update","countermeasure":"semantic-lock"})";
  const auto first = post("/order/lab", body), again = post("/order/lab", body);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(again.body, first.body);
  EXPECT_TRUE(replayed(again));
  EXPECT_EQ(rows("SELECT COUNT(*) FROM skald_saga"), 2);
}

}  // namespace
}  // namespace skald::test
