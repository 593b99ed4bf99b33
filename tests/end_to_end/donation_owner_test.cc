// Whose a donation is: the subject's of the token that gave it, whatever the request says.
#include "donation_site.h"

namespace skald::test {
namespace {

const Caller kKim{Role::customer, "kim"}, kLee{Role::customer, "lee"}, kAda{Role::admin, "ada"};

class Owner : public DonationTest {
 protected:
  void SetUp() override {
    DonationTest::SetUp();
    start();
  }
  Response give(const Caller& caller, const std::string& id, const std::string& donor = "",
                const std::string& message = "thank you") {
    clock.advance(1ms);  // so that lists have an order
    return site->call_as(caller, "POST", "/donation/donations",
                         gift_json(id, donor.empty() ? caller.subject : donor, message));
  }
  Response ask(const Caller& caller, const std::string& id) {
    return site->call_as(caller, "GET", "/donation/donations/" + id);
  }
  static std::string member(const Response& response, const char* name) {
    const auto value = json::parse(response.body);
    const auto* found = value.as_object().if_contains(name);
    return found != nullptr && found->is_string() ? std::string(found->as_string()) : "";
  }
  static std::string outbox_of(const Response& response) {
    return std::string(json::parse(response.body).at("outbox").at("id").as_string());
  }
  std::vector<std::string> listed(const Caller& caller, const std::string& filter = "") {
    const Response response = site->call_as(caller, "GET", "/donation/donations" + filter);
    EXPECT_EQ(response.status, 200) << response.body;
    std::vector<std::string> out;
    if (response.status != 200) return out;
    const auto listing = json::parse(response.body);
    for (const auto& item : listing.at("items").as_array())
      out.push_back(std::string(item.at("donor").as_string()) + " " + std::string(item.at("requestId").as_string()));
    return out;
  }
};
SKALD_ON_BOTH_DATABASES(Owner);

using Lines = std::vector<std::string>;

TEST_P(Owner, ACustomerReadsAndListsOnlyHisOwn) {
  ASSERT_EQ(give(kKim, "r-1").status, 201);
  ASSERT_EQ(give(kLee, "r-2").status, 201);
  EXPECT_EQ(ask(kKim, "r-1").status, 200);
  EXPECT_EQ(ask(kLee, "r-1").status, 404);
  EXPECT_EQ(member(ask(kLee, "r-1"), "code"), "DONATION_NOT_FOUND");
  EXPECT_EQ(listed(kKim), Lines{"kim r-1"});
  EXPECT_EQ(listed(kLee), Lines{"lee r-2"});
  EXPECT_EQ(listed(kLee, "?donor=kim"), Lines{});
  EXPECT_EQ(listed(kLee, "?owner=kim"), Lines{});
  EXPECT_EQ(listed(kAda), (Lines{"lee r-2", "kim r-1"}));
  EXPECT_EQ(listed(kAda, "?owner=kim"), Lines{"kim r-1"});
}

TEST_P(Owner, TwoCustomersMayUseOneRequestIdWithoutMeeting) {
  const Response kims = give(kKim, "r-1"), lees = give(kLee, "r-1", "", "other words");
  ASSERT_EQ(kims.status, 201) << kims.body;
  ASSERT_EQ(lees.status, 201) << lees.body;
  EXPECT_NE(outbox_of(kims), outbox_of(lees));
  EXPECT_EQ(give(kKim, "r-1").status, 200) << "repeated within the subject";
  EXPECT_EQ(outbox_of(give(kKim, "r-1")), outbox_of(kims));
  EXPECT_EQ(give(kLee, "r-1", "", "third words").status, 422);
  EXPECT_EQ(outbox_of(ask(kKim, "r-1")), outbox_of(kims));
  EXPECT_EQ(outbox_of(ask(kLee, "r-1")), outbox_of(lees));
  site->run();
  EXPECT_EQ(bus.sent.size(), 2u);
  EXPECT_EQ(member(ask(kKim, "r-1"), "status"), "ANNOUNCED");
  EXPECT_EQ(member(ask(kLee, "r-1"), "status"), "ANNOUNCED");
  EXPECT_TRUE(invariants_hold());
}

TEST_P(Owner, TheDonorOfACustomerIsTheCaller) {
  const Response taken = give(kLee, "r-1", "kim");
  ASSERT_EQ(taken.status, 201) << taken.body;
  EXPECT_EQ(member(taken, "donor"), "lee");
  EXPECT_EQ(give(kLee, "r-1", "somebody").status, 200) << "what a customer names there is not looked at";
  const Response unnamed =
      site->call_as(kLee, "POST", "/donation/donations", R"({"requestId":"r-2","amount":5,"currency":"EUR"})");
  EXPECT_EQ(unnamed.status, 201) << unnamed.body;
  EXPECT_EQ(member(unnamed, "donor"), "lee");
  const Response nobody =
      site->call_as(kAda, "POST", "/donation/donations", R"({"requestId":"r-3","amount":5,"currency":"EUR"})");
  EXPECT_EQ(member(nobody, "code"), "BAD_DONOR") << "staff give for somebody";
  EXPECT_EQ(member(give(kAda, "r-4", "kim"), "donor"), "kim");
}

TEST_P(Owner, WhatFailedInsideIsForOperators) {
  bus.answer = [](const Message&) { return Outcome::failed("connection to 10.1.2.3 refused"); };
  give(kKim, "r-1");
  site->run();
  EXPECT_EQ(ask(kAda, "r-1").body.find("10.1.2.3") == std::string::npos, false);
  for (const Response& seen : {ask(kKim, "r-1"), give(kKim, "r-1"), site->call_as(kKim, "GET", "/donation/donations")})
    EXPECT_EQ(seen.body.find("10.1.2.3"), std::string::npos) << seen.body;
}

TEST_P(Owner, AnAdminIsToldWhereARequestIdIsSharedAndChoosesByOwner) {
  const Response kims = give(kKim, "r-1"), lees = give(kLee, "r-1");
  const Response shared = ask(kAda, "r-1");
  EXPECT_EQ(shared.status, 409);
  EXPECT_EQ(member(shared, "code"), "REQUEST_ID_SHARED");
  EXPECT_EQ(outbox_of(ask(kAda, "r-1?owner=lee")), outbox_of(lees));
  EXPECT_EQ(outbox_of(ask(kAda, "r-1?owner=kim")), outbox_of(kims));
  EXPECT_EQ(ask(kAda, "r-1?owner=nobody").status, 404);
  EXPECT_EQ(ask(kLee, "r-1?owner=kim").status, 404);
  const Response own = give(kAda, "r-1", "somebody");
  EXPECT_EQ(outbox_of(ask(kAda, "r-1")), outbox_of(own)) << "nobody can take an admin's own from him";
}

TEST_P(Owner, ADatabaseOfTheProgramBeforeGoesOnWorking) {
  // As version 1 wrote it, and still writes it beside this program.
  sql("INSERT INTO donation (request_id, donor, amount, currency, message, status, event_id, content_hash, created_at, "
      "version) VALUES ('old', 'kim', 500, 'EUR', 'thank you', 'ACCEPTED', 'e-old', 'h', 7, 0)");
  EXPECT_EQ(ask(kKim, "old").status, 200);
  EXPECT_EQ(ask(kLee, "old").status, 404);
  EXPECT_EQ(member(ask(kAda, "old"), "owner"), "kim");
  EXPECT_EQ(give(kKim, "old").status, 200);
  EXPECT_EQ(give(kKim, "old", "", "other words").status, 422);
  EXPECT_EQ(give(kAda, "old", "kim").status, 200) << "whoever gave it then, staff do not give it twice";
  EXPECT_EQ(give(kLee, "old").status, 201);
  EXPECT_EQ(count("donation"), 2);
  EXPECT_EQ(listed(kKim), Lines{"kim old"});
  EXPECT_EQ(site->call("POST", "/donation/reconcile", R"({"repair":true})").status, 200);
  site->run();
  EXPECT_EQ(member(ask(kKim, "old"), "status"), "ANNOUNCED");
  EXPECT_TRUE(invariants_hold());
}

}  // namespace
}  // namespace skald::test
