// What a payment provider may answer, or not, and what becomes of the order and the money.
#include <algorithm>
#include <future>

#include "end_to_end/order_site.h"
#include "order/provider_api.h"
#include "support/http_receiver.h"

namespace skald::test {
namespace {

using order::Status;

class OrderProvider : public OrderTest {
 protected:
  explicit OrderProvider(Duration call_timeout) : OrderTest({.record_history = true, .call_timeout = call_timeout}) {}
  OrderProvider() : OrderProvider(10s) {}

  std::int64_t failures(const std::string& saga_id) {
    return std::ranges::count(saga(saga_id).steps, "FAILED", &StepView::status);
  }
  bool was_told(const std::string& saga_id, const std::string& code) {
    return std::ranges::any_of(saga(saga_id).steps, [&](const StepView& step) {
      return step.error && step.error->find(code) != std::string::npos;
    });
  }
  // Directly: the path through the service would ask it twice.
  void behave(const std::string& latency_ms) {
    ASSERT_EQ(sandbox_
                  .call("PUT", "/settings", R"({"latencyMs":)" + latency_ms + R"(,"errorRate":0,"declineRate":0,
                        "chargeThenTimeoutRate":0,"duplicateRate":0,"timeoutMs":0})")
                  .status,
              200);
  }
  void retry_by_hand(const std::string& saga_id) {
    (*db_)->write("retry", [&](Transaction& tx) { engine_->sagas().retry(tx, saga_id, "ops"); });
  }
  void expect_charged_once_and_confirmed(const std::string& id) {
    EXPECT_EQ(ended(id).status, Status::CONFIRMED);
    EXPECT_EQ(sandbox_.charges(), 1);
    EXPECT_EQ(sandbox_.charged(), 200);
    EXPECT_EQ(product("lamp").sold, 2);
    expect_invariants();
  }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderProvider, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

// Its callers have no patience.
class SlowProvider : public OrderProvider {
 protected:
  SlowProvider() : OrderProvider(100ms) {}
};
INSTANTIATE_TEST_SUITE_P(Both, SlowProvider, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderProvider, AnAnswerThatCannotBeReadIsNoNoAndIsAskedForAgain) {
  offer("lamp", 5);
  for (const char* garbled : {"<html>welcome</html>", R"({"status":"CHARGED"})", R"({"id":"","status":"CHARGED"})",
                              R"({"id":"x","status":"WHO_KNOWS"})"})
    sandbox_.answer_wrongly({200, garbled});
  const auto order = place("lamp", 2);
  expect_charged_once_and_confirmed(order.id);
  EXPECT_TRUE(sandbox_.has_answered_wrongly());
  EXPECT_TRUE(was_told(order.saga_id, "PROVIDER_ANSWER_UNREADABLE"));
}

TEST_P(OrderProvider, WhatAnAnswerSaysBesidesIsPassedOver) {
  offer("lamp", 5);
  sandbox_.answer_wrongly({201, R"({"id":"ch_new","status":"CHARGED","risk":{"score":3}})", false});
  EXPECT_EQ(ended(place("lamp", 2).id).status, Status::CONFIRMED);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_payment WHERE id = 'ch_new'"), 1);
}

TEST_P(OrderProvider, TooManyCallsAreTriedAgain) {
  offer("lamp", 5);
  sandbox_.answer_wrongly({429, "slow down", false});
  const auto order = place("lamp", 2);
  expect_charged_once_and_confirmed(order.id);
  EXPECT_TRUE(was_told(order.saga_id, "PROVIDER_REFUSED"));
}

TEST_P(OrderProvider, ACallThatIsRefusedAgainAndAgainEndsTheOrderCleanly) {
  offer("lamp", 5);
  for (int i = 0; i < 3; ++i) sandbox_.answer_wrongly({401, "who are you", false});
  const auto order = ended(place("lamp", 2).id);
  EXPECT_EQ(reason_of(order), "PROVIDER_REFUSED");
  EXPECT_EQ(sandbox_.charges(), 0);
  EXPECT_EQ(product("lamp").quantity, 5);
  expect_invariants();
}

TEST_P(OrderProvider, ARefundWhoseAnswerCannotBeReadIsRefundedOnce) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 2).id);
  sandbox_.answer_wrongly({200, "{"});
  sandbox_.answer_wrongly({200, R"({"status":"CHARGED"})"});
  EXPECT_EQ(call("POST", "/order/orders/" + order.id + "/cancel").status, 202);
  becomes(order.id, Status::CANCELLED);
  EXPECT_EQ(sandbox_.refunded(), 200);
  EXPECT_TRUE(sandbox_.has_answered_wrongly());
  expect_invariants();
}

TEST_P(SlowProvider, AChargeThatIsNeverAnsweredCallsAPersonAndKeepsItsUnits) {
  offer("lamp", 5);
  behave("200");
  const auto order = place("lamp", 2);
  until([&] { return saga(order.saga_id).status == SagaStatus::NEEDS_HELP; }, "a call for help");
  ASSERT_TRUE(saga(order.saga_id).error);
  EXPECT_EQ(saga(order.saga_id).error->code, "PROVIDER_SILENT");
  EXPECT_EQ(show(order.id).status, Status::PENDING);
  EXPECT_EQ(product("lamp").reserved, 2);
  until([&] { return sandbox_.charges() == 1; }, "the charge that nobody was told of");
  behave("0");
  retry_by_hand(order.saga_id);
  expect_charged_once_and_confirmed(order.id);
}

TEST_P(SlowProvider, ADeadlineThatPassesWhileAChargeHasNoAnswerIsNoReasonToGuess) {
  offer("lamp", 5);
  behave("200");
  const auto order = place("lamp", 2);
  const auto pass_deadline = [&] {  // between two tries, when nobody has the saga in hand
    return (*db_)->write_result("test", [&](Transaction& tx) {
      return tx.execute("UPDATE skald_saga SET deadline_at = $2 WHERE id = $1 AND owner IS NULL", order.saga_id,
                        tx.now() - 1s) == 1;
    });
  };
  until([&] { return failures(order.saga_id) >= 1 && pass_deadline(); }, "a try without an answer");
  const auto tried = failures(order.saga_id);
  const auto parked = [&] { return saga(order.saga_id).status == SagaStatus::NEEDS_HELP; };
  until([&] { return failures(order.saga_id) >= tried + 2 || parked(); }, "what is done beyond the deadline");
  EXPECT_EQ(show(order.id).status, Status::PENDING) << "it may have been charged, and was";
  EXPECT_EQ(product("lamp").reserved, 2);
  until([&] { return sandbox_.charges() == 1; }, "the charge that nobody was told of");
  behave("0");
  if (parked()) {
    EXPECT_EQ(saga(order.saga_id).error->code, "DEADLINE");
    retry_by_hand(order.saga_id);
  }
  expect_charged_once_and_confirmed(order.id);
}

// A provider that hangs where its behaviour is asked for.
struct HungProvider {
  HttpReceiver receiver_;
};
class OrderBesideAHungProvider : private HungProvider, public OrderTest {
 protected:
  OrderBesideAHungProvider() : OrderTest(Options{.provider = receiver_.url("")}) {}
  HttpReceiver& receiver() { return receiver_; }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderBesideAHungProvider, testing::Values(Dialect::sqlite, Dialect::postgres),
                         database_name);

TEST_P(OrderBesideAHungProvider, OthersCanWriteWhileItIsAskedToBehave) {
  const auto gate = std::make_shared<Gate>();
  receiver().always({.body = to_json(order::Behaviour{}), .gate = gate});
  auto changed =
      std::async(std::launch::async, [&] { return call("PUT", "/order/provider", R"({"permits":3})").status; });
  receiver().wait_for_requests(1);
  offer("lamp", 5);
  gate->open();
  EXPECT_EQ(changed.get(), 200) << "it was still waiting when the product was there";
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_setting WHERE name = 'permits' AND value = 3"), 1);
}

}  // namespace
}  // namespace skald::test
