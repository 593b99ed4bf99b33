// Lists, roles, bad input, streams; and what holds after many orders at once.
#include <gmock/gmock.h>

#include <map>
#include <thread>

#include "end_to_end/order_site.h"
#include "http/jwt.h"

namespace skald::test {
namespace {

using order::OrderView;
using order::Status;

class OrderPaths : public OrderTest {};
INSTANTIATE_TEST_SUITE_P(Both, OrderPaths, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

TEST_P(OrderPaths, BadInputIsRefusedWithAClearCode) {
  offer("lamp", 5);
  const auto refused = [&](const std::string& path, const std::string& body, int status, const std::string& code) {
    const Response response = call("POST", path, body);
    EXPECT_EQ(response.status, status) << body << response.body;
    EXPECT_EQ(code_of(response), code) << body;
  };
  const std::string orders = "/order/orders", products = "/order/products";
  refused(orders, "{", 400, "MALFORMED_JSON");
  refused(orders, "{}", 422, "BAD_ITEMS");
  refused(orders, R"({"sku":"lamp"})", 422, "BAD_ITEMS");
  refused(orders, R"({"sku":"lamp","quantity":1,"items":[]})", 422, "BAD_ITEMS");
  refused(orders, R"({"items":[]})", 422, "BAD_ITEMS");
  refused(orders, R"({"sku":"la mp","quantity":1})", 422, "BAD_SKU");
  refused(orders, R"({"sku":"lamp","quantity":0})", 422, "BAD_QUANTITY");
  refused(orders, R"({"sku":"lamp","quantity":1000001})", 422, "BAD_QUANTITY");
  refused(orders, R"({"sku":"lamp","quantity":1,"lock":"maybe"})", 422, "INVALID_VALUE");
  refused(orders, R"({"sku":"nothing","quantity":1})", 404, "PRODUCT_NOT_FOUND");
  refused(products, R"({"sku":"lamp","name":"x","price":1,"currency":"EUR","stock":1})", 409, "PRODUCT_EXISTS");
  refused(products, R"({"sku":"","name":"x","price":1,"currency":"EUR","stock":1})", 422, "BAD_SKU");
  refused(products, R"({"sku":"x","name":"","price":1,"currency":"EUR","stock":1})", 422, "BAD_NAME");
  refused(products, R"({"sku":"x","name":"x","price":0,"currency":"EUR","stock":1})", 422, "BAD_PRICE");
  refused(products, R"({"sku":"x","name":"x","price":1,"currency":"eur","stock":1})", 422, "BAD_CURRENCY");
  refused(products, R"({"sku":"x","name":"x","price":1,"currency":"EUR","stock":-1})", 422, "BAD_STOCK");
  refused(products + "/lamp/restock", R"({"quantity":0})", 422, "BAD_QUANTITY");
  refused(products + "/nothing/restock", R"({"quantity":1})", 404, "PRODUCT_NOT_FOUND");
  refused(products + "/lamp/price", R"({"price":0})", 422, "BAD_PRICE");
  refused(products + "/nothing/price", R"({"price":1})", 404, "PRODUCT_NOT_FOUND");
  refused(orders + "/nothing/cancel", "", 404, "ORDER_NOT_FOUND");
  EXPECT_EQ(call("PUT", "/order/provider", R"({"errorRate":2})").status, 422);
  EXPECT_EQ(call("PUT", "/order/provider", R"({"permits":0})").status, 422);
  EXPECT_EQ(call("GET", "/order/orders?status=LOST").status, 422);
  EXPECT_EQ(call("GET", "/order/products/%27").status, 404);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_record"), 0);
}

TEST_P(OrderPaths, ListsFilterAndPage) {
  offer("lamp", 5);
  offer("desk", 5);
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(ended(place("lamp", 1).id).id);
  place("lamp", 100);
  const auto ids_of = [&](const std::string& path) {
    std::vector<std::string> out;
    for (const auto& item : from_json<Listing<OrderView>>(call("GET", path).body).items) out.push_back(item.id);
    return out;
  };
  EXPECT_EQ(ids_of("/order/orders?status=CONFIRMED"), (std::vector<std::string>{ids[2], ids[1], ids[0]}));
  const auto first = from_json<Listing<OrderView>>(call("GET", "/order/orders?limit=3").body);
  ASSERT_TRUE(first.next_cursor);
  EXPECT_EQ(ids_of("/order/orders?limit=3&cursor=" + *first.next_cursor), std::vector<std::string>{ids[0]});
  const auto products = from_json<Listing<order::ProductView>>(call("GET", "/order/products?limit=1").body);
  EXPECT_EQ(products.items.at(0).sku, "desk");
  EXPECT_TRUE(products.next_cursor);
  const auto versions = json::parse(call("GET", "/order/products/lamp/versions").body);
  EXPECT_EQ(versions.at("items").as_array().size(), 6u);
}

TEST_P(OrderPaths, ProductsAreFoundByTheStatusTheyShow) {
  for (const char* sku : {"chair", "desk", "lamp", "shelf"}) offer(sku, 2);
  ASSERT_EQ(ended(place("desk", 2).id).status, Status::CONFIRMED);
  (*db_)->write("at it", [&](Transaction& tx) {
    for (const auto state : {order::ReservationState::RESERVING, order::ReservationState::RESERVED})
      tx.insert(order::Reservation{std::string(enum_name(state)), "s", "o",
                                   state == order::ReservationState::RESERVED ? "shelf" : "lamp", state, 1, 1,
                                   tx.now()});
  });
  std::map<std::string, std::string> found;
  for (const char* status : {"AVAILABLE", "SOLD_OUT", "RESERVING", "RESERVED"})
    for (const auto& item :
         from_json<Listing<order::ProductView>>(call("GET", "/order/products?status=" + std::string(status)).body)
             .items) {
      EXPECT_EQ(enum_name(item.status), status);
      found[item.sku] = status;
    }
  EXPECT_EQ(found, (std::map<std::string, std::string>{
                       {"chair", "AVAILABLE"}, {"desk", "SOLD_OUT"}, {"lamp", "RESERVING"}, {"shelf", "RESERVED"}}));
  EXPECT_EQ(code_of(call("GET", "/order/products?status=GONE")), "BAD_STATUS");
}

TEST_P(OrderPaths, RestockingMakesRoom) {
  offer("lamp", 1);
  EXPECT_EQ(place("lamp", 3).reason->code, "SOLD_OUT");
  EXPECT_EQ(call("POST", "/order/products/lamp/restock", R"({"quantity":5})").status, 200);
  EXPECT_EQ(ended(place("lamp", 3).id).status, Status::CONFIRMED);
  EXPECT_EQ(product("lamp").restocked, 5);
  expect_invariants();
}

TEST_P(OrderPaths, TheStreamOfAnOrderTellsItsSteps) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 1).id);
  const Response stream = call("GET", "/order/orders/" + order.id + "/events");
  EXPECT_EQ(stream.status, 200);
  std::size_t at = 0;
  for (const char* what : {"PENDING", "RESERVED", "CHARGED", "CONFIRMED"}) {
    at = stream.body.find(std::string("event: ") + what + "\n", at);
    EXPECT_NE(at, stream.body.npos) << what << stream.body;
  }
}

TEST_P(OrderPaths, CustomersSeeTheirOwnOrdersAndNoOthers) {
  offer("lamp", 5);
  http::Routes guarded(env_, http::Authenticator(env_, "a secret of some length"), "test");
  const auto other = TestDatabase::of(GetParam(), env_);
  const auto mine = place("lamp", 1, R"(,"customer":"kim")");
  Engine second(env_, **other, {});
  order::install(second, guarded, env_, {.provider = sandbox_.url(), .pause = rest});
  const auto as = [&](Role role, const std::string& subject, std::string method, std::string path) {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers["authorization"] =
        "Bearer " + http::sign_token("a secret of some length", {subject, role, clock_->now(), clock_->now() + 1h});
    return guarded.dispatch(std::move(request)).status;
  };
  (*other)->write("test", [&](Transaction& tx) {
    order::Order row = (*db_)->read_result([&](Transaction& from) { return *from.find<order::Order>(mine.id); });
    tx.insert(row);
  });
  EXPECT_EQ(as(Role::customer, "kim", "GET", "/order/orders/" + mine.id), 200);
  EXPECT_EQ(as(Role::customer, "lee", "GET", "/order/orders/" + mine.id), 404);
  EXPECT_EQ(as(Role::customer, "lee", "POST", "/order/orders/" + mine.id + "/cancel"), 404);
  EXPECT_EQ(as(Role::admin, "lee", "GET", "/order/orders/" + mine.id), 200);
  EXPECT_EQ(as(Role::customer, "kim", "GET", "/order/products"), 200);
  for (const char* path : {"/order/payments", "/order/provider", "/order/invariants", "/order/products/lamp/versions"})
    EXPECT_EQ(as(Role::customer, "kim", "GET", path), 403) << path;
  EXPECT_EQ(as(Role::customer, "kim", "POST", "/order/lab"), 403);
  EXPECT_EQ(as(Role::customer, "kim", "POST", "/order/products"), 403);
}

class ManyOrders : public OrderTest {
 protected:
  ManyOrders() : OrderTest({.call_timeout = 2s}) {}
};
INSTANTIATE_TEST_SUITE_P(Both, ManyOrders, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

// Every outcome at once: declined, down, late, twice, sold out, busy, cancelled.
TEST_P(ManyOrders, TheInvariantsHoldDuringAndAfterHundredsOfOrdersAtOnce) {
  for (const char* sku : {"a", "b", "c"}) offer(sku, 60);
  provider(R"({"declineRate":0.1,"errorRate":0.1,"duplicateRate":0.2,"chargeThenTimeoutRate":0.02,"timeoutMs":2500})");
  std::mutex mutex;
  std::vector<std::string> ids;
  std::vector<std::thread> customers;
  for (unsigned t = 0; t < 8; ++t)
    customers.emplace_back([&, t] {
      std::uint64_t dice = 88172645463325252ull + t;
      const auto roll = [&](std::uint64_t n) {
        return (dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17) % n;
      };
      for (int i = 0; i < 30; ++i) {
        const std::string sku(1, static_cast<char>('a' + roll(3))), other(1, static_cast<char>('a' + roll(3)));
        const char* busy[] = {"wait", "retry", "reject"};
        const auto order = placed(R"({"items":[{"sku":")" + sku + R"(","quantity":1},{"sku":")" + other +
                                  R"(","quantity":1}],"whenBusy":")" + busy[roll(3)] + "\"}");
        if (roll(4) == 0) call("POST", "/order/orders/" + order.id + "/cancel");
        const std::lock_guard lock(mutex);
        ids.push_back(order.id);
      }
    });
  for (int i = 0; i < 5; ++i) expect_invariants();
  for (auto& customer : customers) customer.join();
  std::map<Status, int> ends;
  for (const auto& id : ids) ++ends[ended(id).status];
  until([&] { return rows("SELECT COUNT(*) FROM skald_saga WHERE live = 1") == 0; }, "the end of every saga");
  EXPECT_GT(ends[Status::CONFIRMED] + ends[Status::CANCELLED], 20);
  EXPECT_GT(ends[Status::FAILED], 10);
  expect_invariants();
}

}  // namespace
}  // namespace skald::test
