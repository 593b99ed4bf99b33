// What the checker says of the order service's sagas as they really ran side by side.
#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using order::Status;

class OrderHistory : public OrderTest {
 protected:
  OrderHistory() : OrderTest({.record_history = true}) {}
};
INSTANTIATE_TEST_SUITE_P(Both, OrderHistory, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderHistory, OverlappingOrdersOfOneProductCorruptNothing) {
  offer("lamp", 100);
  sandbox_.hold_back();
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(place("lamp", 1 + i % 3).id);
  EXPECT_GT(product("lamp").reserved, 3) << "they overlap";
  sandbox_.let_go();
  for (const auto& id : ids) EXPECT_EQ(ended(id).status, Status::CONFIRMED);
  expect_invariants();
}

TEST_P(OrderHistory, AnOrderThatBeginsBesideOneThatIsUndoneHasSeenNothingOfIt) {
  offer("lamp", 100);
  provider(R"({"declineRate":1})");
  sandbox_.hold_back();
  const auto undone = place("lamp", 2);
  const auto beside = place("lamp", 1);
  EXPECT_EQ(product("lamp").reserved, 3);
  sandbox_.let_go();
  EXPECT_EQ(ended(undone.id).status, Status::FAILED);
  ended(beside.id);
  expect_invariants();
}

TEST_P(OrderHistory, WhoIsRefusedBecauseOfUnitsThatComeBackWasToldSo) {
  offer("lamp", 5);
  provider(R"({"declineRate":1})");
  sandbox_.hold_back();
  const auto holder = place("lamp", 3);
  EXPECT_EQ(reason_of(ended(place("lamp", 3, R"(,"whenBusy":"reject")").id)), "BUSY");
  EXPECT_EQ(reason_of(ended(place("lamp", 6).id)), "SOLD_OUT");
  sandbox_.let_go();
  EXPECT_EQ(ended(holder.id).status, Status::FAILED);
  expect_invariants();
}

TEST_P(OrderHistory, ACancellationBesidePlacementsCorruptsNothing) {
  offer("lamp", 100);
  const auto order = ended(place("lamp", 2).id);
  sandbox_.hold_back();
  const auto before = place("lamp", 1);
  EXPECT_EQ(call("POST", "/order/orders/" + order.id + "/cancel").status, 202);
  const auto after = place("lamp", 1, R"(,"lock":"exclusive")");
  EXPECT_EQ(call("POST", "/order/orders/" + before.id + "/cancel").status, 202) << "waits for its placement's end";
  sandbox_.let_go();
  becomes(order.id, Status::CANCELLED);
  becomes(before.id, Status::CANCELLED);
  EXPECT_EQ(ended(after.id).status, Status::CONFIRMED);
  expect_invariants();
}

}  // namespace
}  // namespace skald::test
