// Orders change their status only where they are as their saga has left them.
#include <algorithm>

#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using order::Status;

class OrderVersions : public OrderTest {
 protected:
  void write(const std::string& sql, const std::string& value) {
    (*db_)->write("test", [&](Transaction& tx) { tx.execute(sql, value); });
  }
  // As somebody would who does not ask for the order's lock.
  void meddle(const std::string& id, const std::string& by) {
    write("UPDATE order_record SET version = version " + by + " WHERE id = $1", id);
  }
  void until_stale(const std::string& saga_id) {
    until(
        [&] {
          return std::ranges::any_of(saga(saga_id).steps, [](const StepView& step) {
            return step.status == "FAILED" && step.error && step.error->find("STALE_ROW") != std::string::npos;
          });
        },
        "the conflict");
  }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderVersions, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderVersions, AnOrderThatSomebodyElseHasChangedIsNotConfirmedOverThat) {
  offer("lamp", 5);
  sandbox_.hold_back();
  const auto order = place("lamp", 2);
  meddle(order.id, "+ 1");
  sandbox_.let_go();
  until_stale(order.saga_id);
  EXPECT_EQ(show(order.id).status, Status::PENDING);
  meddle(order.id, "- 1");
  EXPECT_EQ(ended(order.id).status, Status::CONFIRMED) << "the step was tried again";
  expect_invariants();
}

TEST_P(OrderVersions, NorIsItFailed) {
  offer("lamp", 5);
  provider(R"({"declineRate":1})");
  sandbox_.hold_back();
  const auto order = place("lamp", 2);
  meddle(order.id, "+ 1");
  sandbox_.let_go();
  until_stale(order.saga_id);
  EXPECT_EQ(show(order.id).status, Status::PENDING);
  meddle(order.id, "- 1");
  EXPECT_EQ(reason_of(ended(order.id)), "PAYMENT_DECLINED");
  expect_invariants();
}

TEST_P(OrderVersions, NorCancelled) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 2).id);
  sandbox_.hold_back();
  const Response response = call("POST", "/order/orders/" + order.id + "/cancel");
  ASSERT_EQ(response.status, 202) << response.body;
  meddle(order.id, "+ 1");
  sandbox_.let_go();
  until_stale(*show(order.id).cancel_saga_id);
  EXPECT_EQ(show(order.id).status, Status::CONFIRMED);
  meddle(order.id, "- 1");
  becomes(order.id, Status::CANCELLED);
  expect_invariants();
}

// The second order waits for the first one's product: nobody has its state in memory.
TEST_P(OrderVersions, AnOrderBegunByAProgramThatRememberedNoVersionEnds) {
  offer("lamp", 5);
  sandbox_.hold_back();
  place("lamp", 1, R"(,"lock":"exclusive")");
  const auto order = place("lamp", 1, R"(,"lock":"exclusive")");
  ASSERT_EQ(saga(order.saga_id).status, SagaStatus::WAITING);
  write("UPDATE skald_saga SET state = replace(state, ',\"version\":0', '') WHERE id = $1", order.saga_id);
  ASSERT_EQ(saga(order.saga_id).state.text.find("version"), std::string::npos);
  meddle(order.id, "+ 7");
  sandbox_.let_go();
  EXPECT_EQ(ended(order.id).status, Status::CONFIRMED);
  expect_invariants();
}

}  // namespace
}  // namespace skald::test
