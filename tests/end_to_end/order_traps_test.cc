// What goes wrong where a saga's isolation is built naively; each trap with its test.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using order::ProductStatus;
using order::Status;

class OrderTraps : public OrderTest {
 protected:
  explicit OrderTraps(Duration call_timeout) : OrderTest({.record_history = true, .call_timeout = call_timeout}) {}
  OrderTraps() : OrderTraps(10s) {}
  std::int64_t reserved_at_once() { return rows("SELECT COUNT(*) FROM order_reservation WHERE state = 'RESERVED'"); }
  std::vector<LockView> locks() {
    return (*db_)->read_result([&](Transaction& tx) { return engine_->sagas().locks(tx, {}); });
  }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderTraps, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

// Whose callers give up before a provider that takes its time answers.
class LateAnswers : public OrderTraps {
 protected:
  LateAnswers() : OrderTraps(300ms) {}
};
INSTANTIATE_TEST_SUITE_P(Both, LateAnswers, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderTraps, TheLockIsSeenByOthersUntilTheSagaEnds) {
  offer("lamp", 5);
  sandbox_.hold_back();
  const auto order = place("lamp", 2);
  const auto held = product("lamp");
  EXPECT_EQ(held.status, ProductStatus::RESERVED);
  ASSERT_TRUE(held.holder);
  EXPECT_EQ(held.holder->saga_id, order.saga_id);
  EXPECT_EQ(held.holder->amount, 2);
  std::vector<std::string> resources;
  for (const LockView& lock : locks()) {
    EXPECT_EQ(lock.saga_id, order.saga_id);
    resources.push_back(lock.resource + " " + lock.key);
  }
  EXPECT_THAT(resources, testing::UnorderedElementsAre("order " + order.id, "product lamp"));
  sandbox_.let_go();
  EXPECT_EQ(ended(order.id).status, Status::CONFIRMED);
  EXPECT_FALSE(product("lamp").holder);
  until([&] { return locks().empty(); }, "the locks' release");
}

TEST_P(OrderTraps, OrdersOfOneProductRunSideBySideUnlessTheyAskForALock) {
  offer("lamp", 100);
  provider(R"({"latencyMs":150})");
  const auto measure = [&](const std::string& more) {
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) ids.push_back(place("lamp", 1, more).id);
    std::int64_t most = 0;
    until(
        [&] {
          most = std::max(most, reserved_at_once());
          return std::ranges::all_of(ids, [&](const auto& id) { return show(id).status != Status::PENDING; });
        },
        "four orders");
    for (const auto& id : ids) EXPECT_EQ(show(id).status, Status::CONFIRMED);
    return most;
  };
  EXPECT_EQ(measure(""), 4);
  EXPECT_EQ(measure(R"(,"lock":"exclusive")"), 1);
  expect_invariants();
}

TEST_P(OrderTraps, TheLastUnitsAreSoldOnceHoweverManyLookAtThem) {
  offer("lamp", 10);
  std::vector<std::thread> customers;
  std::mutex mutex;
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i)
    customers.emplace_back([&] {
      for (int n = 0; n < 4; ++n) {
        const auto order = place("lamp", 1);
        const std::lock_guard lock(mutex);
        ids.push_back(order.id);
      }
    });
  for (auto& customer : customers) customer.join();
  int confirmed = 0;
  for (const auto& id : ids) confirmed += ended(id).status == Status::CONFIRMED ? 1 : 0;
  EXPECT_EQ(confirmed, 10);
  EXPECT_EQ(product("lamp").quantity, 0);
  EXPECT_EQ(sandbox_.charges(), 10);
  expect_invariants();
}

TEST_P(OrderTraps, WhatAProcessHeldWhenItEndedIsFinishedAndReleasedByTheNext) {
  offer("lamp", 5);
  provider(R"({"latencyMs":250})");
  const auto order = place("lamp", 2);
  restart_engine();
  EXPECT_EQ(ended(order.id).status, Status::CONFIRMED);
  EXPECT_EQ(sandbox_.charges(), 1);
  until([&] { return locks().empty(); }, "the locks' release");
  expect_invariants();
}

TEST_P(OrderTraps, OppositeOrdersOfProductsDoNotDeadlock) {
  offer("a", 1000);
  offer("b", 1000);
  std::vector<std::thread> customers;
  std::mutex mutex;
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i)
    customers.emplace_back([&, i] {
      const std::string first = i % 2 == 0 ? "a" : "b", second = i % 2 == 0 ? "b" : "a";
      for (int n = 0; n < 5; ++n) {
        const auto order = placed(R"({"items":[{"sku":")" + first + R"(","quantity":1},{"sku":")" + second +
                                  R"(","quantity":1}])" + (n % 2 == 0 ? R"(,"lock":"exclusive")" : "") + "}");
        const std::lock_guard lock(mutex);
        ids.push_back(order.id);
      }
    });
  for (auto& customer : customers) customer.join();
  for (const auto& id : ids) {
    const auto order = ended(id);
    EXPECT_TRUE(order.status == Status::CONFIRMED || (order.reason && order.reason->code == "BUSY")) << to_json(order);
  }
  expect_invariants();
}

TEST_P(LateAnswers, AChargeWhoseAnswerComesTooLateIsChargedOnceAndTheOrderConfirmed) {
  offer("lamp", 5);
  provider(R"({"chargeThenTimeoutRate":1,"timeoutMs":600})");
  const auto order = ended(place("lamp", 2).id);
  EXPECT_EQ(order.status, Status::CONFIRMED);
  EXPECT_EQ(sandbox_.charged(), 200);
  EXPECT_EQ(sandbox_.charges(), 1);
  expect_invariants();
}

TEST_P(OrderTraps, AChargeThatArrivesTwiceIsOne) {
  offer("lamp", 5);
  provider(R"({"duplicateRate":1})");
  const auto order = ended(place("lamp", 2).id);
  EXPECT_EQ(order.status, Status::CONFIRMED);
  EXPECT_EQ(sandbox_.charges(), 1);
  EXPECT_EQ(call("POST", "/order/orders/" + order.id + "/cancel").status, 202);
  becomes(order.id, Status::CANCELLED);
  EXPECT_EQ(sandbox_.refunded(), 200);
  expect_invariants();
}

TEST_P(OrderTraps, AProviderThatKeepsFailingEndsTheOrderCleanly) {
  offer("lamp", 5);
  provider(R"({"errorRate":1})");
  const auto order = ended(place("lamp", 2).id);
  EXPECT_EQ(order.status, Status::FAILED);
  EXPECT_EQ(order.reason->code, "PROVIDER_DOWN");
  EXPECT_EQ(product("lamp").quantity, 5);
  EXPECT_EQ(sandbox_.charges(), 0);
  provider(R"({"errorRate":0})");
  expect_invariants();
}

TEST_P(LateAnswers, AFailureAfterALostAnswerIsNotTakenForANo) {
  offer("lamp", 5);
  provider(R"({"chargeThenTimeoutRate":1,"timeoutMs":600})");
  const auto order = place("lamp", 2);
  until([&] { return sandbox_.charges() == 1; }, "the charge");
  ASSERT_EQ(sandbox_
                .call("PUT", "/settings", R"({"latencyMs":0,"errorRate":1,"declineRate":0,
      "chargeThenTimeoutRate":0,"duplicateRate":0,"timeoutMs":0})")
                .status,
            200);
  const auto failures = [&] { return std::ranges::count(saga(order.saga_id).steps, "FAILED", &StepView::status); };
  until([&] { return failures() >= 4; }, "more failures than a charge is given tries");
  EXPECT_EQ(show(order.id).status, Status::PENDING) << "it may have been charged, and was";
  ASSERT_EQ(sandbox_
                .call("PUT", "/settings", R"({"latencyMs":0,"errorRate":0,"declineRate":0,
      "chargeThenTimeoutRate":0,"duplicateRate":0,"timeoutMs":0})")
                .status,
            200);
  EXPECT_EQ(ended(order.id).status, Status::CONFIRMED);
  EXPECT_EQ(sandbox_.charges(), 1);
  expect_invariants();
}

}  // namespace
}  // namespace skald::test
