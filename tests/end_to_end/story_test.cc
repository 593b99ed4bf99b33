// Whose a story is: each part is its owner's, and a name that a client chose decides nothing.
#include <gmock/gmock.h>

#include <map>

#include "end_to_end/skald_process.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kStorySecret = "a secret that is long enough for everybody";

class StoryProgram : public testing::Test {
 protected:
  std::string bearer(const std::string& role, const std::string& subject) {
    const auto made = run_skald({"token", "--role", role, "--subject", subject, "--data", folder_.path().string()},
                                {{"SKALD_AUTH_SECRET", kStorySecret}});
    EXPECT_EQ(made.status, 0) << made.err;
    return "Authorization: Bearer " + made.out.substr(0, made.out.size() - 1);
  }
  boost::json::value post(const std::string& who, const std::string& path, const std::string& body) {
    const HttpAnswer answer = server_.request("POST", path, body, {who});
    EXPECT_LT(answer.status, 300) << path << answer.body;
    return answer.json();
  }
  HttpAnswer story(const std::string& who, const std::string& key) {
    return server_.request("GET", "/api/story/" + key, "", {who});
  }
  // Until it says so; the server goes on by itself.
  void until_it_says(const std::string& who, const std::string& path, const std::string& text) {
    for (int i = 0; i < 5000; ++i)
      if (server_.request("GET", path, "", {who}).body.find(text) != std::string::npos) return;
    FAIL() << path << " never says " << text;
  }
  // kim books and orders; mallory takes every name of it for his request ids.
  void SetUp() override {
    const std::string course(post(ada_, "/booking/courses", R"({"name":"Riverside"})").at("id").as_string());
    const std::string slot(
        post(ada_, "/booking/slots",
             R"({"courseId":")" + course + R"(","startsAt":"2090-01-01T09:00:00Z","maxPlayers":4,"pricePerPlayer":10})")
            .at("id")
            .as_string());
    const auto booking = post(kim_, "/booking/bookings", R"({"slotId":")" + slot + R"(","players":1})");
    post(ada_, "/order/products", R"({"sku":"lamp","name":"a lamp","price":250,"currency":"EUR","stock":9})");
    const auto order = post(kim_, "/order/orders", R"({"sku":"lamp","quantity":1})");
    keys_ = {booking.at("id").as_string().c_str(), booking.at("number").as_string().c_str(),
             order.at("id").as_string().c_str(), order.at("sagaId").as_string().c_str()};
    until_it_says(kim_, "/booking/bookings/" + keys_[0], "CONFIRMED");
    until_it_says(kim_, "/booking/bookings/" + keys_[0] + "/notifications", "CONFIRMED");
    until_it_says(kim_, "/order/orders/" + keys_[2], "CONFIRMED");
    for (const std::string& key : keys_) before_[key] = settled_story(key);
  }
  // Once nothing of it is under way any more.
  std::string settled_story(const std::string& key) {
    std::string body;
    for (int i = 0; i < 5000; ++i)
      if (body = story(kim_, key).body; body.find(" is P") == std::string::npos) break;
    return body;
  }
  void take_over(const std::string& who) {
    for (const std::string& key : keys_)
      post(who, "/donation/donations",
           R"({"requestId":")" + key + R"(","donor":"mallory","amount":5,"currency":"EUR","message":"mine"})");
  }

  TemporaryFolder folder_;
  SkaldServer server_{{"--data", folder_.path().string()}, {{"SKALD_AUTH_SECRET", kStorySecret}}};
  std::string kim_ = bearer("customer", "kim"), mallory_ = bearer("customer", "mallory"), ada_ = bearer("admin", "ada");
  std::vector<std::string> keys_;
  std::map<std::string, std::string> before_;
};

TEST_F(StoryProgram, ANameThatAClientChoseDecidesNothing) {
  take_over(mallory_);
  for (const std::string& key : keys_) {
    const HttpAnswer taken = story(mallory_, key);
    EXPECT_EQ(taken.status, 200) << "his own donation is there";
    EXPECT_THAT(taken.body, HasSubstr("donation"));
    for (const char* others :
         {"kim", "history", "ledger", "reservation", "notification", "payment", "saga", "slot.", "booking.", "order."})
      EXPECT_THAT(taken.body, Not(HasSubstr(std::string("\"") + others))) << key << " " << taken.body;
    const HttpAnswer kims = story(kim_, key);
    EXPECT_EQ(kims.status, 200) << key << kims.body;
    EXPECT_EQ(kims.body, before_[key]) << "nothing is taken from its owner, nothing is added";
    EXPECT_THAT(kims.body, HasSubstr(R"("source":"history")")) << key;
    const HttpAnswer all = story(ada_, key);
    EXPECT_THAT(all.body, HasSubstr(R"("source":"donation")")) << "staff see everybody's";
    EXPECT_THAT(all.body, HasSubstr(R"("source":"history")"));
  }
}

TEST_F(StoryProgram, ACustomerHasTheStoryOfHisOwnDonationUnderItsRequestId) {
  const std::string gift = R"({"requestId":"r-1","donor":"kim","amount":5,"currency":"EUR","message":"mine"})";
  post(kim_, "/donation/donations", gift);
  post(mallory_, "/donation/donations", gift);
  for (const std::string& who : {kim_, mallory_}) {
    until_it_says(who, "/api/story/r-1", "nobody is told");
    const HttpAnswer own = story(who, "r-1");
    EXPECT_EQ(own.status, 200);
    EXPECT_THAT(own.body, HasSubstr("donation.accepted emitted"));
    EXPECT_THAT(own.body, Not(HasSubstr(who == kim_ ? "mallory" : "\"kim\"")));
  }
  const auto lines = json::parse(story(kim_, "r-1").body).at("lines").as_array().size();
  EXPECT_EQ(json::parse(story(ada_, "r-1").body).at("lines").as_array().size(), 2 * lines);
  EXPECT_EQ(story(bearer("customer", "lee"), "r-1").status, 404);
}

}  // namespace
}  // namespace skald::test
