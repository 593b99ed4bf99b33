// Placing and cancelling, from the path to the provider's books.
#include <algorithm>

#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using order::ProductStatus;
using order::Status;

class PlaceOrder : public OrderTest {};
INSTANTIATE_TEST_SUITE_P(Both, PlaceOrder, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(PlaceOrder, AnOrderIsChargedAndConfirmedAndItsUnitsAreSold) {
  offer("lamp", 10, 250);
  const auto order = ended(place("lamp", 3).id);
  EXPECT_EQ(order.status, Status::CONFIRMED);
  EXPECT_EQ(order.price.amount, 750);
  EXPECT_EQ(order.sku, "lamp");
  const auto lamp = product("lamp");
  EXPECT_EQ(lamp.quantity, 7);
  EXPECT_EQ(lamp.reserved, 0);
  EXPECT_EQ(lamp.sold, 3);
  EXPECT_EQ(lamp.status, ProductStatus::AVAILABLE);
  EXPECT_EQ(sandbox_.charged(), 750);
  const auto payments = json::parse(call("GET", "/order/payments?orderId=" + order.id).body);
  EXPECT_EQ(payments.at("items").as_array().size(), 1u);
  expect_invariants();
}

TEST_P(PlaceOrder, SeveralProductsAreOneOrder) {
  offer("lamp", 10);
  offer("desk", 10, 1000);
  const auto order = ended(placed(R"({"items":[{"sku":"lamp","quantity":1},{"sku":"desk","quantity":2},
                                     {"sku":"lamp","quantity":1}]})")
                               .id);
  EXPECT_EQ(order.status, Status::CONFIRMED);
  EXPECT_EQ(order.price.amount, 2200);
  ASSERT_EQ(order.items.size(), 2u);
  EXPECT_FALSE(order.sku);
  EXPECT_EQ(product("lamp").sold, 2);
  EXPECT_EQ(product("desk").sold, 2);
  expect_invariants();
}

TEST_P(PlaceOrder, ADeclinedPaymentGivesTheUnitsBack) {
  offer("lamp", 10);
  provider(R"({"declineRate":1})");
  const auto order = ended(place("lamp", 3).id);
  EXPECT_EQ(order.status, Status::FAILED);
  ASSERT_TRUE(order.reason);
  EXPECT_EQ(order.reason->code, "PAYMENT_DECLINED");
  EXPECT_EQ(product("lamp").quantity, 10);
  EXPECT_EQ(sandbox_.charged(), 0);
  expect_invariants();
}

TEST_P(PlaceOrder, WhatIsSoldOutIsNotWorthTryingAgain) {
  offer("lamp", 2);
  const auto order = place("lamp", 3);
  EXPECT_EQ(order.status, Status::FAILED) << "known with the first commit";
  ASSERT_TRUE(order.reason);
  EXPECT_EQ(order.reason->code, "SOLD_OUT");
  EXPECT_FALSE(order.reason->retry_after_seconds);
  EXPECT_EQ(metrics_.of("order_rejected_sold_out_total"), 1);
  EXPECT_EQ(metrics_.of("order_rejected_busy_total"), 0);
  expect_invariants();
}

TEST_P(PlaceOrder, WhatOthersOnlyHoldIsBusyAndSaysByWhom) {
  offer("lamp", 5);
  sandbox_.hold_back();
  const auto first = place("lamp", 4);
  const auto second = ended(place("lamp", 3, R"(,"whenBusy":"reject")").id);
  EXPECT_EQ(second.status, Status::FAILED);
  ASSERT_TRUE(second.reason);
  EXPECT_EQ(second.reason->code, "BUSY");
  EXPECT_NE(second.reason->message.find(first.saga_id), std::string::npos) << second.reason->message;
  EXPECT_EQ(second.reason->retry_after_seconds, 2);
  EXPECT_EQ(metrics_.of("order_rejected_busy_total"), 1);
  EXPECT_EQ(metrics_.of("order_rejected_sold_out_total"), 0);
  sandbox_.let_go();
  EXPECT_EQ(ended(first.id).status, Status::CONFIRMED);
  const auto third = ended(place("lamp", 3).id);
  ASSERT_TRUE(third.reason);
  EXPECT_EQ(third.reason->code, "SOLD_OUT") << "the units are sold now";
  expect_invariants();
}

TEST_P(PlaceOrder, AWaitingOrderGoesOnByItselfWhenTheHolderGivesUp) {
  offer("lamp", 5);
  provider(R"({"declineRate":1})");
  sandbox_.hold_back();
  const auto first = place("lamp", 5);
  const auto second = place("lamp", 5);
  EXPECT_EQ(second.status, Status::PENDING);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_reservation WHERE state = 'RESERVING'"), 1) << "what it wants is seen";
  sandbox_.let_go();
  EXPECT_EQ(ended(first.id).status, Status::FAILED);
  provider(R"({"declineRate":0})");
  const auto end = ended(second.id);  // it may have been at the provider before that had changed
  EXPECT_TRUE(end.status == Status::CONFIRMED || end.reason->code == "PAYMENT_DECLINED") << to_json(end);
  expect_invariants();
}

TEST_P(PlaceOrder, APriceThatChangesBeforeTheUnitsAreReservedIsReadAgain) {
  offer("lamp", 5, 100);
  sandbox_.hold_back();
  const auto holder = place("lamp", 5);
  const auto waiting = place("lamp", 2);
  EXPECT_EQ(waiting.price.amount, 200);
  until([&] { return saga(waiting.saga_id).step == "reserve stock"; }, "the order is priced");
  EXPECT_EQ(call("POST", "/order/products/lamp/price", R"({"price":120})").status, 200);
  sandbox_.let_go();
  EXPECT_EQ(call("POST", "/order/products/lamp/restock", R"({"quantity":2})").status, 200);
  const auto order = ended(waiting.id);
  EXPECT_EQ(reason_of(order), "CONFIRMED");
  EXPECT_EQ(order.price.amount, 240);
  const auto steps = saga(order.saga_id).steps;
  EXPECT_EQ(std::ranges::count(steps, "price order", &StepView::name), 2) << "it went back to the step that read";
  EXPECT_TRUE(std::ranges::any_of(steps, [](const StepView& step) {
    return step.name == "reserve stock" && step.error && step.error->find("PRICE_CHANGED") != std::string::npos;
  }));
  EXPECT_EQ(ended(holder.id).price.amount, 500) << "reserved before: the old price";
  EXPECT_EQ(sandbox_.charged(), 740);
  expect_invariants();
}

TEST_P(PlaceOrder, ARetryingOrderEndsBusyAfterThreeTries) {
  offer("lamp", 5);
  sandbox_.hold_back();
  const auto first = place("lamp", 5, R"(,"lock":"exclusive")");
  const auto second = place("lamp", 5, R"(,"whenBusy":"retry","lock":"exclusive")");
  EXPECT_EQ(second.status, Status::PENDING);
  until([&] { return show(second.id).status != Status::PENDING; }, "three tries");
  sandbox_.let_go();
  EXPECT_EQ(ended(first.id).status, Status::CONFIRMED);
  const auto end = show(second.id);
  EXPECT_EQ(end.status, Status::FAILED);
  EXPECT_EQ(end.reason->code, "BUSY");
  expect_invariants();
}

TEST_P(PlaceOrder, AnExclusiveOrderThatIsRejectedIsAnsweredAtOnce) {
  offer("lamp", 5);
  sandbox_.hold_back();
  const auto first = place("lamp", 1, R"(,"lock":"exclusive")");
  const Response busy =
      call("POST", "/order/orders", R"({"sku":"lamp","quantity":1,"lock":"exclusive","whenBusy":"reject"})");
  EXPECT_EQ(busy.status, 409) << busy.body;
  EXPECT_EQ(code_of(busy), "BUSY");
  EXPECT_EQ(busy.headers.at("retry-after"), "2");
  EXPECT_NE(busy.body.find(first.saga_id), std::string::npos);
  sandbox_.let_go();
  EXPECT_EQ(ended(first.id).status, Status::CONFIRMED);
  expect_invariants();
}

// Counted when its end is committed, which others may see a moment earlier.
TEST_P(PlaceOrder, EachOrderThatEndsBusyIsCountedOnceWhereALockRefusesIt) {
  offer("lamp", 5);
  sandbox_.hold_back();
  place("lamp", 1, R"(,"lock":"exclusive")");
  const Response rejected =
      call("POST", "/order/orders", R"({"sku":"lamp","quantity":1,"lock":"exclusive","whenBusy":"reject"})");
  EXPECT_EQ(rejected.status, 409);
  EXPECT_EQ(metrics_.of("order_rejected_busy_total"), 1);
  EXPECT_EQ(reason_of(ended(place("lamp", 1, R"(,"whenBusy":"reject")").id)), "BUSY");
  EXPECT_EQ(metrics_.of("order_rejected_busy_total"), 2);
  EXPECT_EQ(reason_of(ended(place("lamp", 1, R"(,"whenBusy":"retry")").id)), "BUSY");
  until([&] { return metrics_.of("order_rejected_busy_total") == 3; }, "the count of the one that tried");
  EXPECT_EQ(reason_of(ended(place("lamp", 1).id)), "BUSY");
  until([&] { return metrics_.of("order_rejected_busy_total") == 4; }, "the count of the one that waited");
  EXPECT_EQ(metrics_.of("order_rejected_sold_out_total"), 0);
}

TEST_P(PlaceOrder, EachOrderThatIsShortOfUnitsIsCountedOnceByItsReason) {
  offer("lamp", 5);
  sandbox_.hold_back();
  place("lamp", 4);
  EXPECT_EQ(reason_of(ended(place("lamp", 3, R"(,"whenBusy":"reject")").id)), "BUSY");
  EXPECT_EQ(metrics_.of("order_rejected_busy_total"), 1);
  EXPECT_EQ(reason_of(ended(place("lamp", 3, R"(,"whenBusy":"retry")").id)), "BUSY");
  until([&] { return metrics_.of("order_rejected_busy_total") == 2; }, "the count of the one that tried");
  EXPECT_EQ(reason_of(ended(place("lamp", 6).id)), "SOLD_OUT");
  until([&] { return metrics_.of("order_rejected_sold_out_total") == 1; }, "the count of the one that found too few");
  EXPECT_EQ(metrics_.of("order_rejected_busy_total"), 2);
}

TEST_P(PlaceOrder, CancellingRefundsAndGivesBack) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 2).id);
  EXPECT_EQ(call("POST", "/order/orders/" + order.id + "/cancel", "{}").status, 202);
  becomes(order.id, Status::CANCELLED);
  EXPECT_EQ(product("lamp").quantity, 5);
  EXPECT_EQ(sandbox_.charged(), 200);
  EXPECT_EQ(sandbox_.refunded(), 200);
  EXPECT_EQ(call("POST", "/order/orders/" + order.id + "/cancel").status, 202) << "cancelled is cancelled";
  EXPECT_EQ(sandbox_.refunded(), 200);
  expect_invariants();
}

TEST_P(PlaceOrder, AFailedOrderCannotBeCancelled) {
  offer("lamp", 1);
  const auto order = place("lamp", 2);
  const Response response = call("POST", "/order/orders/" + order.id + "/cancel");
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(code_of(response), "NOT_CANCELLABLE");
}

TEST_P(PlaceOrder, AnOrderThatIsBeingPlacedIsHeldAgainstItsCancellation) {
  offer("lamp", 5);
  sandbox_.hold_back();
  const auto order = place("lamp", 2);
  const Response rejected = call("POST", "/order/orders/" + order.id + "/cancel", R"({"whenBusy":"reject"})");
  EXPECT_EQ(rejected.status, 409);
  EXPECT_EQ(code_of(rejected), "BUSY");
  EXPECT_EQ(call("POST", "/order/orders/" + order.id + "/cancel").status, 202) << "waits for the placement's end";
  sandbox_.let_go();
  becomes(order.id, Status::CANCELLED);
  EXPECT_EQ(sandbox_.refunded(), 200);
  EXPECT_EQ(product("lamp").quantity, 5);
  expect_invariants();
}

}  // namespace
}  // namespace skald::test
