// GET /order/invariants says no: each check of data that was broken by hand, and no other.
#include <gmock/gmock.h>

#include "end_to_end/order_site.h"
#include "order/invariants.h"
#include "order/provider_api.h"
#include "order/stock.h"

namespace skald::test {
namespace {

using order::Status;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class OrderInvariants : public OrderTest {
 protected:
  explicit OrderInvariants(Options options = {}) : OrderTest(std::move(options)) {
    until([&] { return reconciled().has_value(); }, "the reconciler's first run: the next is a minute away");
  }
  std::optional<double> reconciled() { return metrics_.last("order_invariants_ok"); }
  void write(const std::string& sql) {
    (*db_)->write("test", [&](Transaction& tx) { tx.execute(sql); });
  }
  // The checks that say no, and why.
  std::map<std::string, std::string> broken() {
    const Response response = call("GET", "/order/invariants");
    EXPECT_EQ(response.status, 200) << response.body;
    const auto found = from_json<Invariants>(response.body);
    std::map<std::string, std::string> out;
    for (const Check& check : found.checks)
      if (!check.ok) out[check.name] = check.detail;
    EXPECT_EQ(found.ok, out.empty());
    return out;
  }
  std::string confirmed() {
    offer("lamp", 5);
    const auto order = ended(place("lamp", 2).id);
    EXPECT_EQ(order.status, Status::CONFIRMED);
    EXPECT_THAT(broken(), IsEmpty());
    return order.id;
  }
  // One whose charge is never answered, so that its saga holds on to its unit.
  std::string under_way() {
    offer("lamp", 5);
    sandbox_.hold_back();
    const std::string id = place("lamp", 1).id;
    EXPECT_THAT(broken(), IsEmpty());
    return id;
  }
  order::Charge charge(const std::string& key, const std::string& reference) {
    const Response response =
        sandbox_.call("POST", "/charges", to_json(order::ChargeRequest{key, reference, 200, "EUR"}));
    EXPECT_EQ(response.status, 200) << response.body;
    return from_json<order::Charge>(response.body);
  }
  void refund(const std::string& charge_id) {
    EXPECT_EQ(sandbox_.call("POST", "/refunds", to_json(order::RefundRequest{"by hand", charge_id})).status, 200);
  }
  void advance() { order::advance_checkpoints(**db_); }
  std::int64_t checkpoints_at(std::int64_t seq) {
    return rows("SELECT COUNT(*) FROM order_stock_checkpoint WHERE seq = " + std::to_string(seq));
  }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderInvariants, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

// The table itself refuses it: a copy without its constraints does not.
TEST_P(OrderInvariants, ANegativeCountIsNamed) {
  offer("lamp", 5);
  write("ALTER TABLE order_product RENAME TO order_product_checked");
  write("CREATE TABLE order_product AS SELECT * FROM order_product_checked");
  EXPECT_THAT(broken(), IsEmpty());
  write("UPDATE order_product SET quantity = -1, initial = -1");
  EXPECT_THAT(broken(), ElementsAre(Pair("nothing-negative", "1: products with a negative count: lamp")));
}

TEST_P(OrderInvariants, UnitsFromNowhereAreNamed) {
  confirmed();
  advance();
  write("UPDATE order_product SET initial = initial + 1");
  EXPECT_THAT(broken(), ElementsAre(Pair("units-conserved", HasSubstr("1: products where free + reserved + sold"))));
  EXPECT_THAT(broken().begin()->second, HasSubstr(": lamp"));
}

TEST_P(OrderInvariants, ReservedUnitsThatNobodyReservedAreNamed) {
  under_way();
  write("UPDATE order_reservation SET amount = amount + 1");
  EXPECT_THAT(broken(), ElementsAre(Pair("reserved-by-someone", HasSubstr(": lamp"))));
}

TEST_P(OrderInvariants, AReservationOfNoSagaIsNamed) {
  confirmed();
  write(
      "INSERT INTO order_reservation (id, saga_id, order_id, sku, state, amount, seq, since) VALUES ('o/lamp', "
      "'gone', 'o', 'lamp', 'RESERVING', 1, 0, 0)");
  EXPECT_THAT(broken(), ElementsAre(Pair("reservations-live", "1: reservations whose saga is finished: o/lamp")));
}

TEST_P(OrderInvariants, AProductThatIsNotWhatItsVersionFileSaysIsNamed) {
  confirmed();
  write("UPDATE order_product SET quantity = quantity - 1, sold = sold + 1");
  EXPECT_THAT(broken(),
              ElementsAre(Pair("version-file-agrees", "1: products that are not what their version file says: lamp")));
  write("UPDATE order_product SET quantity = quantity + 1, sold = sold - 1");
  write("UPDATE skald_version_entry SET amount = amount + 1 WHERE seq = 1");
  EXPECT_THAT(broken(), ElementsAre(Pair("version-file-agrees", HasSubstr(": lamp"))));
  write("DELETE FROM skald_version_entry WHERE seq = 1");
  EXPECT_THAT(broken(), ElementsAre(Pair("version-file-agrees", HasSubstr("version 1 of product/lamp"))))
      << "a hole is no reason to say nothing";
}

TEST_P(OrderInvariants, APendingOrderOfNoSagaIsNamed) {
  confirmed();
  write(
      "INSERT INTO order_record (id, customer, items, amount, currency, status, saga_id, locking, when_busy, "
      "created_at, updated_at, version) VALUES ('stray', 'kim', '[]', 1, 'EUR', 'PENDING', 'gone', 'none', 'wait', 0, "
      "0, 0)");
  EXPECT_THAT(broken(),
              ElementsAre(Pair("orders-end-with-their-saga", "1: pending orders whose saga is finished: stray")));
}

TEST_P(OrderInvariants, ALockOfNoSagaIsNamed) {
  confirmed();
  write(
      "INSERT INTO skald_lock (resource, key, root, waiter, mode, granted, seq, since, step) VALUES ('product', "
      "'lamp', 'gone', 'gone', 'exclusive', 1, 1, 0, 'reserve stock')");
  EXPECT_THAT(broken(),
              ElementsAre(Pair("locks-end-with-their-saga", "1: locks whose saga is finished: product lamp")));
}

TEST_P(OrderInvariants, AnOrderThatWasPaidAnotherAmountIsNamed) {
  const std::string id = confirmed();
  write("UPDATE order_payment SET amount = amount + 1");
  EXPECT_THAT(broken(), ElementsAre(Pair("paid-once", HasSubstr(": " + id))));
  write("DELETE FROM order_payment");
  EXPECT_THAT(broken(), ElementsAre(Pair("paid-once", HasSubstr(": " + id))));
}

TEST_P(OrderInvariants, MoneyThatTheProviderGaveBackOrTookForNobodyIsNamed) {
  const std::string id = confirmed();
  const order::Charge stray = charge("stray", "nobody");
  EXPECT_THAT(broken(), ElementsAre(Pair("money-conserved", HasSubstr("charges without an order: 1 (nobody)"))));
  refund(stray.id);
  EXPECT_THAT(broken(), IsEmpty());
  const auto own = from_json<Listing<order::Payment>>(call("GET", "/order/payments").body).items.at(0);
  refund(own.id);
  EXPECT_THAT(broken(), ElementsAre(Pair("money-conserved", HasSubstr("orders that differ: 1 (" + id + ")"))));
}

TEST_P(OrderInvariants, AnOrderThatWasChargedTwiceIsNamedThoughOneWasGivenBack) {
  const std::string id = confirmed();
  refund(charge("again", id).id);
  EXPECT_THAT(broken(), ElementsAre(Pair("charged-once", "1: orders that were charged twice: " + id)));
}

class WithoutProvider : public OrderInvariants {
 protected:
  WithoutProvider() : OrderInvariants(Options{.provider = "http://127.0.0.1:1"}) {}
};
INSTANTIATE_TEST_SUITE_P(Both, WithoutProvider, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(WithoutProvider, NobodyKnowsWhetherMoneyIsConserved) {
  EXPECT_THAT(broken(), ElementsAre(Pair("money-conserved", HasSubstr("the provider cannot be asked"))));
}

TEST_P(OrderInvariants, WhatLiesBeforeACheckpointIsNotReadAgain) {
  confirmed();
  advance();
  EXPECT_EQ(checkpoints_at(2), 1);
  write("DELETE FROM skald_version_entry WHERE seq <= 2");
  EXPECT_THAT(broken(), IsEmpty());
  EXPECT_EQ(ended(place("lamp", 1).id).status, Status::CONFIRMED);
  EXPECT_THAT(broken(), IsEmpty()) << "from the checkpoint on";
  advance();
  EXPECT_EQ(checkpoints_at(4), 1);
}

TEST_P(OrderInvariants, ACheckpointStaysBeforeWhatIsWrongUntilItIsMended) {
  confirmed();
  advance();
  EXPECT_EQ(ended(place("lamp", 1).id).status, Status::CONFIRMED);
  write("UPDATE skald_version_entry SET amount = amount + 1 WHERE seq = 4");
  advance();
  EXPECT_THAT(broken(), ElementsAre(Pair("version-file-agrees", HasSubstr(": lamp"))));
  write("UPDATE skald_version_entry SET amount = amount - 1 WHERE seq = 4");
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_P(OrderInvariants, TheReconcilerAdvancesTheCheckpointsAndSaysWhereSomethingIsBroken) {
  confirmed();
  EXPECT_EQ(reconciled(), 1);
  write(
      "INSERT INTO order_reservation (id, saga_id, order_id, sku, state, amount, seq, since) VALUES ('o/lamp', "
      "'gone', 'o', 'lamp', 'RESERVING', 1, 0, 0)");
  write("UPDATE skald_job SET due_at = 0 WHERE name = 'order.reconcile'");
  restart_engine();
  until([&] { return reconciled() == 0; }, "the reconciler");
  EXPECT_EQ(checkpoints_at(2), 1);
}

}  // namespace
}  // namespace skald::test
