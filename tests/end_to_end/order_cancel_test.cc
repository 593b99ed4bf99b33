// A cancel that was accepted ends in CANCELLED, or in what the order's cancellation says.
#include <future>

#include "end_to_end/order_site.h"
#include "order/history.h"

namespace skald::test {
namespace {

using order::CancelStatus;
using order::Status;

class OrderCancel : public OrderTest {
 protected:
  explicit OrderCancel(Duration deadline) : OrderTest({.call_timeout = 10s, .deadline = deadline}) {}
  OrderCancel() : OrderCancel(60s) {}
  ~OrderCancel() override { gate_->open(); }

  // An order whose charge is under way until the gate opens; then the provider says `answer`, if that is one.
  order::OrderView place_and_hold(int answer = 0) {
    sandbox_.answer_wrongly({.status = answer, .takes_effect = false, .gate = gate_});
    const auto order = place("lamp", 2);
    until([&] { return sandbox_.has_answered_wrongly(); }, "the charge at the provider");
    return order;
  }
  Response ask_to_cancel(const std::string& id, const std::string& body = R"({"reason":"changed my mind"})") {
    return call("POST", "/order/orders/" + id + "/cancel", body);
  }
  order::OrderView cancel(const std::string& id, const std::string& body = R"({"reason":"changed my mind"})") {
    const Response response = ask_to_cancel(id, body);
    EXPECT_EQ(response.status, 202) << response.body;
    return from_json<order::OrderView>(response.body);
  }
  order::OrderView settled(const std::string& id) {
    order::OrderView view;
    until([&] { return (view = show(id)).cancellation && view.cancellation->status != CancelStatus::PENDING; },
          "the end of the cancellation");
    return view;
  }
  // The names of what its stream tells, one after the other.
  std::string told(const std::string& id) {
    const std::string body = call("GET", "/order/orders/" + id + "/events").body;
    std::string out;
    for (std::size_t at = body.find("event: "); at != body.npos; at = body.find("event: ", at + 1))
      out += (out.empty() ? "" : " ") + body.substr(at + 7, body.find('\n', at) - at - 7);
    return out;
  }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};
INSTANTIATE_TEST_SUITE_P(Both, OrderCancel, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

class HastyCancel : public OrderCancel {
 protected:
  HastyCancel() : OrderCancel(1s) {}
};
INSTANTIATE_TEST_SUITE_P(Both, HastyCancel, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderCancel, AWishForAnOrderThatIsBeingPlacedIsSeenWaitsForItsEndAndIsFulfilled) {
  offer("lamp", 5);
  const auto order = place_and_hold();
  const auto accepted = cancel(order.id);
  ASSERT_TRUE(accepted.cancellation);
  EXPECT_EQ(accepted.status, Status::PENDING);
  EXPECT_EQ(accepted.cancellation->status, CancelStatus::PENDING);
  EXPECT_EQ(accepted.cancellation->reason, "changed my mind");
  EXPECT_FALSE(accepted.cancellation->code);
  const auto waiting = saga(accepted.cancellation->saga_id);
  EXPECT_EQ(waiting.status, SagaStatus::WAITING);
  EXPECT_GT(waiting.wakes_at.value() - waiting.started_at, 55s) << "as long as the placement has time";
  expect_invariants();
  gate_->open();
  becomes(order.id, Status::CANCELLED);
  const auto end = show(order.id);
  EXPECT_EQ(end.cancellation->status, CancelStatus::DONE);
  EXPECT_EQ(end.cancellation->reason, "changed my mind");
  EXPECT_EQ(end.cancellation->saga_id, accepted.cancellation->saga_id);
  EXPECT_EQ(told(order.id), "PENDING RESERVED CANCEL_REQUESTED CHARGED CONFIRMED REFUNDED CANCELLED");
  EXPECT_EQ(sandbox_.charged(), 200);
  EXPECT_EQ(sandbox_.refunded(), 200);
  EXPECT_EQ(product("lamp").quantity, 5);
  expect_invariants();
}

TEST_P(OrderCancel, AProviderThatIsAwayForAWhileOnlyDelaysTheRefund) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 2).id);
  for (int i = 0; i < 4; ++i) sandbox_.answer_wrongly({503, "", false});
  cancel(order.id);
  EXPECT_EQ(settled(order.id).status, Status::CANCELLED);
  EXPECT_TRUE(sandbox_.has_answered_wrongly());
  EXPECT_EQ(sandbox_.refunded(), 200);
  expect_invariants();
}

TEST_P(HastyCancel, AProviderThatStaysAwayFailsTheWishInSightAndItMayBeWishedAgain) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 2).id);
  provider(R"({"errorRate":1})");
  cancel(order.id);
  const auto failed = settled(order.id);
  EXPECT_EQ(failed.status, Status::CONFIRMED);
  EXPECT_EQ(failed.cancellation->status, CancelStatus::FAILED);
  EXPECT_EQ(failed.cancellation->reason, "changed my mind");
  EXPECT_EQ(failed.cancellation->code, "PROVIDER_DOWN");
  EXPECT_NE(failed.cancellation->message.value_or("").find("provider"), std::string::npos);
  EXPECT_EQ(told(order.id), "PENDING RESERVED CHARGED CONFIRMED CANCEL_REQUESTED CANCEL_FAILED");
  provider(R"({"errorRate":0})");
  expect_invariants();
  cancel(order.id, R"({"reason":"still"})");
  const auto end = settled(order.id);
  EXPECT_EQ(end.status, Status::CANCELLED);
  EXPECT_EQ(end.cancellation->status, CancelStatus::DONE);
  EXPECT_EQ(end.cancellation->reason, "still");
  EXPECT_FALSE(end.cancellation->code);
  EXPECT_EQ(sandbox_.refunded(), 200);
  expect_invariants();
}

TEST_P(OrderCancel, ARefundThatIsDeclinedFailsTheWishAtOnce) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 2).id);
  sandbox_.answer_wrongly({409, R"({"code":"NOT_REFUNDABLE","key":"a secret"})", false});
  cancel(order.id, "");
  const auto failed = settled(order.id);
  EXPECT_EQ(failed.status, Status::CONFIRMED);
  EXPECT_EQ(failed.cancellation->code, "REFUND_DECLINED");
  EXPECT_EQ(failed.cancellation->message->find("secret"), std::string::npos);
  EXPECT_EQ(failed.cancellation->reason, "no reason was given");
  expect_invariants();
}

TEST_P(OrderCancel, AnOrderThatFailsByItselfWhileAWishWaitsSaysSo) {
  offer("lamp", 5);
  const auto order = place_and_hold(402);
  cancel(order.id);
  gate_->open();
  const auto end = settled(order.id);
  EXPECT_EQ(reason_of(end), "PAYMENT_DECLINED");
  EXPECT_EQ(end.cancellation->status, CancelStatus::FAILED);
  EXPECT_EQ(end.cancellation->code, "NOT_CANCELLABLE");
  EXPECT_NE(end.cancellation->message->find("failed by itself and costs nothing"), std::string::npos);
  EXPECT_EQ(told(order.id), "PENDING RESERVED CANCEL_REQUESTED RELEASED FAILED CANCEL_FAILED");
  EXPECT_EQ(sandbox_.charged(), 0);
  expect_invariants();
}

TEST_P(HastyCancel, AnOrderThatIsHeldForLongerThanItsDeadlineFailsTheWishAndSaysByWhom) {
  offer("lamp", 5);
  const auto order = place_and_hold();
  cancel(order.id);
  const auto failed = settled(order.id);
  EXPECT_EQ(failed.status, Status::PENDING);
  EXPECT_EQ(failed.cancellation->code, "BUSY");
  EXPECT_NE(failed.cancellation->message->find(order.saga_id), std::string::npos) << *failed.cancellation->message;
  gate_->open();
  const auto end = ended(order.id);
  EXPECT_EQ(end.status, Status::CONFIRMED);
  EXPECT_EQ(end.cancellation->status, CancelStatus::FAILED) << "still to be seen";
  expect_invariants();
}

TEST_P(OrderCancel, WhatIsKnownAtOnceIsRefusedAndLeavesNoTrace) {
  offer("lamp", 5);
  const auto held = place_and_hold();
  const Response busy = ask_to_cancel(held.id, R"({"whenBusy":"reject","reason":"now"})");
  EXPECT_EQ(busy.status, 409) << busy.body;
  EXPECT_EQ(code_of(busy), "BUSY");
  EXPECT_FALSE(show(held.id).cancellation);
  EXPECT_EQ(told(held.id), "PENDING RESERVED");
  const auto failed = place("lamp", 20);
  const Response refused = ask_to_cancel(failed.id);
  EXPECT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(code_of(refused), "NOT_CANCELLABLE");
  EXPECT_FALSE(show(failed.id).cancellation);
  EXPECT_EQ(ask_to_cancel(held.id, R"({"reason":")" + std::string(501, 'x') + "\"}").status, 422);
  EXPECT_EQ(ask_to_cancel(held.id, R"({"reason":"a\u0007b"})").status, 422);
  gate_->open();
  EXPECT_EQ(ended(held.id).status, Status::CONFIRMED);
  const auto at_once = cancel(held.id, R"({"whenBusy":"reject","reason":"now"})");
  EXPECT_EQ(at_once.cancellation->reason, "now") << "seen as soon as it is accepted";
  EXPECT_EQ(settled(held.id).status, Status::CANCELLED);
  expect_invariants();
}

TEST_P(OrderCancel, ASecondWishJoinsTheFirstAndWhatIsCancelledStaysCancelled) {
  offer("lamp", 5);
  const auto order = place_and_hold();
  const auto first = cancel(order.id);
  const auto second = cancel(order.id, R"({"reason":"another"})");
  EXPECT_EQ(second.cancellation->saga_id, first.cancellation->saga_id);
  EXPECT_EQ(second.cancellation->reason, "changed my mind");
  gate_->open();
  EXPECT_EQ(settled(order.id).status, Status::CANCELLED);
  const auto third = cancel(order.id, R"({"reason":"a third"})");
  EXPECT_EQ(third.status, Status::CANCELLED);
  EXPECT_EQ(third.cancellation->status, CancelStatus::DONE);
  EXPECT_EQ(third.cancellation->reason, "changed my mind");
  EXPECT_EQ(rows("SELECT COUNT(*) FROM skald_saga WHERE type = 'order.cancel'"), 1);
  EXPECT_EQ(sandbox_.refunded(), 200);
  expect_invariants();
}

TEST_P(OrderCancel, AWishThatWaitsWhenItsProcessEndsIsFulfilledByTheNext) {
  offer("lamp", 5);
  provider(R"({"latencyMs":250})");
  const auto order = place("lamp", 2);
  cancel(order.id);
  restart_engine();
  EXPECT_EQ(settled(order.id).status, Status::CANCELLED);
  EXPECT_EQ(sandbox_.charges(), 1);
  EXPECT_EQ(sandbox_.refunded(), 200);
  expect_invariants();
}

TEST_P(OrderCancel, OneThatWaitsForAPersonSaysSo) {
  offer("lamp", 5);
  const auto order = place_and_hold();
  const std::string id = cancel(order.id).cancellation->saga_id;
  (*db_)->write("park", [&](Transaction& tx) {
    tx.execute(
        "UPDATE skald_saga SET status = 'NEEDS_HELP', wake_at = NULL, error_code = 'PROVIDER_SILENT' "
        "WHERE id = $1",
        id);
  });
  const auto parked = show(order.id);
  EXPECT_EQ(parked.cancellation->status, CancelStatus::PENDING);
  EXPECT_EQ(parked.cancellation->code, "NEEDS_HELP");
  EXPECT_NE(parked.cancellation->message->find("PROVIDER_SILENT"), std::string::npos);
}

// It began with the order's lock, had no wish to note, and waits for the placement's end.
TEST_P(OrderCancel, ACancellationBegunByTheProgramBeforeGoesOn) {
  offer("lamp", 5);
  const auto order = place_and_hold();
  const std::string id = cancel(order.id).cancellation->saga_id;
  (*db_)->write("as before", [&](Transaction& tx) {
    ASSERT_EQ(
        tx.execute("UPDATE skald_saga SET revision = 1, progress = replace(replace(progress, "
                   "'{\"step\":1,', '{\"step\":0,'), '\"done\":[{\"step\":0,\"element\":0}]', '\"done\":[]'), "
                   "state = replace(state, ',\"reason\":\"changed my mind\"', '') WHERE id = $1 AND progress LIKE "
                   "'{\"step\":1,%'",
                   id),
        1);
    tx.execute("UPDATE order_record SET cancel_saga = NULL, cancel_status = NULL, cancel_reason = NULL WHERE id = $1",
               order.id);
  });
  gate_->open();
  const auto end = settled(order.id);
  EXPECT_EQ(end.status, Status::CANCELLED);
  EXPECT_EQ(end.cancellation->reason, "no reason was given");
  expect_invariants();
}

// The saga that places an order and the one that wants it cancelled write its history at the same time. (SQLite has one
// writer.)
class CancelBesideAnotherWriter : public OrderCancel {};
INSTANTIATE_TEST_SUITE_P(Real, CancelBesideAnotherWriter, testing::Values(Dialect::postgres), database_name);

TEST_P(CancelBesideAnotherWriter, AWishComesAfterWhatIsBeingWritten) {
  offer("lamp", 5);
  const auto order = place_and_hold();
  std::future<Response> wish;
  const auto other = open_postgres(env_, {.url = db_->address(), .connections = 1, .idle_in_transaction_timeout = 60s});
  other->write("test", [&](Transaction& tx) {
    order::note(tx, order.id, order.saga_id, "FIRST");
    tx.query("SELECT 1");
    wish = std::async(std::launch::async, [&] { return ask_to_cancel(order.id); });
    until(
        [&] {
          return rows(
                     "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                     "wait_event_type = 'Lock'") > 0;
        },
        "the wish waits for the history");
  });
  EXPECT_EQ(wish.get().status, 202);
  EXPECT_EQ(told(order.id), "PENDING RESERVED FIRST CANCEL_REQUESTED");
  gate_->open();
  EXPECT_EQ(settled(order.id).status, Status::CANCELLED);
}

}  // namespace
}  // namespace skald::test
