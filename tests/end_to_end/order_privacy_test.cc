// What customers are told of others: that they are there, never who.
#include <gmock/gmock.h>

#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class OrderPrivacy : public OrderTest {
 protected:
  OrderPrivacy() : OrderTest({.call_timeout = 10s}) {}
  ~OrderPrivacy() override { gate_->open(); }
  Response as(const Caller& caller, const std::string& method, const std::string& path, const std::string& body = "") {
    Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    return routes_->dispatch_as(caller, std::move(request));
  }
  const Caller kim_{Role::customer, "kim"}, lee_{Role::customer, "lee"}, admin_{Role::admin, "root"};
  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};
INSTANTIATE_TEST_SUITE_P(Both, OrderPrivacy, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderPrivacy, IdsOfOthersSagasAndOrdersAreForAdmins) {
  offer("lamp", 5);
  sandbox_.answer_wrongly({.status = 0, .gate = gate_});
  const auto kims = from_json<order::OrderView>(
      as(kim_, "POST", "/order/orders", R"({"sku":"lamp","quantity":4,"lock":"exclusive"})").body);
  until([&] { return sandbox_.has_answered_wrongly(); }, "the charge at the provider");
  const Response at_once =
      as(lee_, "POST", "/order/orders", R"({"sku":"lamp","quantity":3,"lock":"exclusive","whenBusy":"reject"})");
  EXPECT_EQ(at_once.status, 409) << at_once.body;
  const auto lees = from_json<order::OrderView>(
      as(lee_, "POST", "/order/orders", R"({"sku":"lamp","quantity":3,"whenBusy":"reject"})").body);
  EXPECT_EQ(reason_of(lees), "BUSY");
  const std::string one = "/order/orders/" + lees.id, product = "/order/products/lamp";
  for (const std::string& told : {at_once.body, to_json(lees), as(lee_, "GET", one).body,
                                  as(lee_, "GET", "/order/orders").body, as(lee_, "GET", product).body,
                                  as(lee_, "GET", "/order/products").body, as(lee_, "GET", one + "/events").body}) {
    EXPECT_THAT(told, Not(HasSubstr(kims.saga_id)));
    EXPECT_THAT(told, Not(HasSubstr(kims.id)));
  }
  EXPECT_THAT(at_once.body, HasSubstr("held by another order since"));
  EXPECT_THAT(lees.reason->message, HasSubstr("another order since"));
  EXPECT_THAT(as(lee_, "GET", one).body, HasSubstr(lees.saga_id)) << "one's own may be asked about";
  EXPECT_THAT(as(admin_, "GET", one).body, HasSubstr(kims.saga_id));
  EXPECT_THAT(as(admin_, "GET", product).body, HasSubstr(kims.saga_id));
}

TEST_P(OrderPrivacy, WhoIsToldThatHisOwnOrderIsHeldMayKnowByWhichSaga) {
  offer("lamp", 5);
  sandbox_.answer_wrongly({.status = 0, .gate = gate_});
  const auto order =
      from_json<order::OrderView>(as(kim_, "POST", "/order/orders", R"({"sku":"lamp","quantity":1})").body);
  const Response busy = as(kim_, "POST", "/order/orders/" + order.id + "/cancel", R"({"whenBusy":"reject"})");
  EXPECT_EQ(busy.status, 409);
  EXPECT_THAT(busy.body, HasSubstr(order.saga_id));
}

}  // namespace
}  // namespace skald::test
