// Why an order failed stands with the order, in words.
#include <gmock/gmock.h>

#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using order::Status;
using testing::HasSubstr;
using testing::Not;

class OrderReasons : public OrderTest {
 protected:
  // As after their retention.
  void forget_sagas() {
    until([&] { return rows("SELECT COUNT(*) FROM skald_saga WHERE live = 1") == 0; }, "the end of every saga");
    (*db_)->write("forget", [](Transaction& tx) { tx.execute("DELETE FROM skald_saga"); });
  }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderReasons, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderReasons, OutliveTheSagaThatFailed) {
  offer("lamp", 5);
  const auto sold_out = place("lamp", 6);
  provider(R"({"declineRate":1})");
  const auto declined = ended(place("lamp", 1).id);
  provider(R"({"declineRate":0})");
  sandbox_.hold_back();
  place("lamp", 4);
  const auto busy = ended(place("lamp", 3, R"(,"whenBusy":"reject")").id);
  sandbox_.let_go();
  forget_sagas();
  for (const auto& before : {sold_out, declined, busy}) {
    const auto after = show(before.id);
    ASSERT_TRUE(after.reason) << to_json(before);
    EXPECT_EQ(to_json(*after.reason), to_json(*before.reason));
  }
  EXPECT_EQ(show(sold_out.id).reason->code, "SOLD_OUT");
  EXPECT_EQ(show(declined.id).reason->code, "PAYMENT_DECLINED");
  EXPECT_EQ(show(busy.id).reason->code, "BUSY");
  EXPECT_EQ(show(busy.id).reason->retry_after_seconds, 2);
}

TEST_P(OrderReasons, OfAnOrderThatFailedBeforeTheyWereKeptIsItsSagas) {
  offer("lamp", 5);
  const auto order = place("lamp", 6);
  (*db_)->write("as before", [](Transaction& tx) { tx.execute("UPDATE order_record SET fail_code = NULL"); });
  ASSERT_TRUE(show(order.id).reason);
  EXPECT_EQ(to_json(*show(order.id).reason), to_json(*order.reason));
  EXPECT_EQ(order.reason->code, "SOLD_OUT");
}

TEST_P(OrderReasons, AreWordsAndNotWhatTheProviderHasWritten) {
  offer("lamp", 5);
  provider(R"({"declineRate":1})");
  const auto declined = ended(place("lamp", 1).id);
  EXPECT_EQ(declined.reason->message, "the payment was declined by the payment provider: pay another way");
  provider(R"({"declineRate":0})");
  for (int i = 0; i < 3; ++i)
    sandbox_.answer_wrongly({422, R"({"code":"BAD_ACCOUNT","detail":"key abc","key":"abc"})", false});
  const auto refused = ended(place("lamp", 1).id);
  EXPECT_EQ(refused.reason->code, "PROVIDER_REFUSED");
  EXPECT_EQ(refused.reason->message, "the payment provider answered 422 BAD_ACCOUNT");
  for (const auto& order : {declined, refused}) {
    const std::string steps = to_json(saga(order.saga_id).steps);
    EXPECT_THAT(steps, Not(HasSubstr(R"(\"key\")"))) << "what a step failed with is shown, too";
    EXPECT_THAT(to_json(order), Not(HasSubstr("/charge/0"))) << "the key of the call";
  }
}

}  // namespace
}  // namespace skald::test
