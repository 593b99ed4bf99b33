// What the log says of orders: who, which saga, which step, and why.
#include <algorithm>

#include "end_to_end/order_site.h"

namespace skald::test {
namespace {

using order::Status;
using Level = Observer::Level;

class OrderLog : public OrderTest {
 protected:
  // The messages about it, by order or by saga, each with its code.
  std::vector<std::string> told_of(const order::OrderView& order) {
    std::vector<std::string> out;
    for (const auto& line : metrics_.lines()) {
      const auto is = [&](const char* name, const std::string& value) {
        const auto* found = line.fields.if_contains(name);
        return found != nullptr && *found == value.c_str();
      };
      if (!is("orderId", order.id) && !is("key", order.id)) continue;
      EXPECT_EQ(line.fields.at("tag"), "[Saga]");
      EXPECT_FALSE(line.fields.at("sagaId").as_string().empty());
      const auto* code = line.fields.if_contains("code");
      out.push_back(line.message + (code != nullptr ? " " + std::string(code->as_string()) : ""));
    }
    return out;
  }
  bool is_told(const order::OrderView& order, const std::string& message) {
    const auto told = told_of(order);
    return std::ranges::find(told, message) != told.end();
  }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderLog, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

using Told = std::vector<std::string>;

TEST_P(OrderLog, TellsEachStepOfAnOrderThatIsConfirmedAndCancelled) {
  offer("lamp", 5);
  const auto order = ended(place("lamp", 2).id);
  until([&] { return is_told(order, "order CONFIRMED"); }, "its line");
  EXPECT_EQ(told_of(order), (Told{"order PENDING", "order RESERVED", "order CHARGED", "order CONFIRMED"}));
  for (const auto& line : metrics_.lines())
    if (line.message == "order RESERVED") {
      EXPECT_EQ(line.level, Level::info);
      EXPECT_EQ(line.fields.at("step"), "reserve stock");
      EXPECT_EQ(line.fields.at("sagaId"), order.saga_id.c_str());
    }
  EXPECT_EQ(call("POST", "/order/orders/" + order.id + "/cancel", R"({"reason":"too dark"})").status, 202);
  until([&] { return is_told(order, "order CANCELLED"); }, "its end");
  EXPECT_TRUE(is_told(order, "order CANCEL_REQUESTED"));
  EXPECT_TRUE(is_told(order, "order REFUNDED"));
}

TEST_P(OrderLog, TellsWhyAnOrderFailedAndThatItIsCompensated) {
  offer("lamp", 5);
  provider(R"({"declineRate":1})");
  const auto order = ended(place("lamp", 2).id);
  until([&] { return is_told(order, "a saga is compensated PAYMENT_DECLINED"); }, "its end");
  EXPECT_TRUE(is_told(order, "a saga failed: what it did is undone PAYMENT_DECLINED"));
  EXPECT_TRUE(is_told(order, "order RELEASED"));
  const auto lines = metrics_.lines();
  const auto failed = std::ranges::find(lines, "order FAILED", &CountedMetrics::Line::message);
  ASSERT_NE(failed, lines.end());
  EXPECT_EQ(failed->level, Level::warn);
  EXPECT_EQ(failed->fields.at("detail"), "PAYMENT_DECLINED");
}

TEST_P(OrderLog, TellsThatWhatAnOrderWantsIsBusyAndThatAPriceHasChanged) {
  offer("lamp", 5, 100);
  sandbox_.hold_back();
  place("lamp", 5);
  const auto waiting = place("lamp", 2);
  until([&] { return is_told(waiting, "what a saga needs is busy: it tries again BUSY"); }, "that it waits");
  EXPECT_EQ(call("POST", "/order/products/lamp/price", R"({"price":120})").status, 200);
  sandbox_.let_go();
  EXPECT_EQ(call("POST", "/order/products/lamp/restock", R"({"quantity":2})").status, 200);
  until([&] { return is_told(waiting, "what a saga has read has changed: it reads again PRICE_CHANGED"); },
        "that its price has changed");
  EXPECT_EQ(ended(waiting.id).status, Status::CONFIRMED);
}

TEST_P(OrderLog, TellsThatTheProviderIsAwayWithTheNextTry) {
  offer("lamp", 5);
  sandbox_.answer_wrongly({503, "", false});
  const auto order = ended(place("lamp", 2).id);
  const auto lines = metrics_.lines();
  const auto failed =
      std::ranges::find(lines, "a step of a saga failed: it is tried again", &CountedMetrics::Line::message);
  ASSERT_NE(failed, lines.end());
  EXPECT_EQ(failed->level, Level::warn);
  EXPECT_EQ(failed->fields.at("code"), "PROVIDER_DOWN");
  EXPECT_EQ(failed->fields.at("step"), "charge");
  EXPECT_GE(failed->fields.at("againInMs").as_int64(), 90);
  EXPECT_EQ(order.status, Status::CONFIRMED);
}

}  // namespace
}  // namespace skald::test
