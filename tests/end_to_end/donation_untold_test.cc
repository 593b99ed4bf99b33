// A server that has nobody to tell does not say that somebody was told.
#include "donation_site.h"

namespace skald::test {
namespace {

class Untold : public DonationTest {
 protected:
  boost::json::value shown(const std::string& request_id) {
    return json::parse(site->call("GET", "/donation/donations/" + request_id).body);
  }
};
SKALD_ON_BOTH_DATABASES(Untold);

TEST_P(Untold, WithoutAWebhookADonationIsAcceptedAndNobodyIsTold) {
  start(bus, {.outbox = {}, .fallback_file = {}, .has_webhook = false});
  donate("r-1");
  site->run();
  const auto view = shown("r-1");
  EXPECT_EQ(view.at("outbox").at("status"), "COMPLETED");
  EXPECT_EQ(view.at("status"), "ACCEPTED");
  ASSERT_TRUE(view.as_object().contains("notice"));
  EXPECT_NE(view.at("notice").as_string().find("nobody is told"), std::string::npos);
  EXPECT_TRUE(bus.sent.empty());
  EXPECT_TRUE(invariants_hold());

  sql("DELETE FROM skald_outbox");  // as retention does
  EXPECT_EQ(shown("r-1"), view) << "it stays so for ever";
  EXPECT_TRUE(invariants_hold());
  const Response listed = site->call("GET", "/donation/donations?status=ACCEPTED");
  EXPECT_NE(listed.body.find("nobody is told"), std::string::npos);
}

TEST_P(Untold, AWebhookThatComesLaterTellsWhatIsGivenFromThenOn) {
  start(bus, {.outbox = {}, .fallback_file = {}, .has_webhook = false});
  donate("r-1");
  site->run();
  crash();
  start();
  donate("r-2");
  site->run();
  ASSERT_EQ(bus.sent.size(), 1u);
  EXPECT_EQ(shown("r-1").at("status"), "ACCEPTED");
  EXPECT_EQ(shown("r-2").at("status"), "ANNOUNCED");
  EXPECT_FALSE(shown("r-2").as_object().contains("notice"));
  EXPECT_EQ(site->call("POST", "/donation/reconcile", R"({"repair":true})").status, 200);
  EXPECT_TRUE(invariants_hold());
}

}  // namespace
}  // namespace skald::test
