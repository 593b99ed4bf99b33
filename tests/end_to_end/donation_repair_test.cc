// A donation whose announcement was changed by hand is put right from the donation itself.
#include "donation_site.h"
#include "store/tables/dead_letter.h"

namespace skald::test {
namespace {

using donation::Status;

class Repair : public DonationTest {
 protected:
  // Changes what will be sent, and lets the relay find out.
  std::string tamper(const std::string& request_id) {
    const std::string id = show(request_id).outbox.id;
    sql("UPDATE skald_outbox SET payload = '{\"requestId\":\"" + request_id +
        "\",\"donor\":\"kim\",\"amount\":999999,\"currency\":\"EUR\"}' WHERE id = '" + id + "'");
    site->run();
    EXPECT_EQ(reason_of_dead_letter(id), "INTEGRITY");
    return id;
  }
  std::optional<tables::dead_letter::DeadLetter> letter(const std::string& id) {
    return db().read_result([&](Transaction& tx) { return tables::dead_letter::find(tx, id); });
  }
  boost::json::value reconcile(bool repair) {
    const Response response = site->call_as({Role::admin, "ada"}, "POST", "/donation/reconcile",
                                            repair ? R"({"repair":true})" : R"({"repair":false})");
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  }
  boost::json::value shown(const std::string& request_id) {
    return json::parse(site->call("GET", "/donation/donations/" + request_id).body);
  }
  void expect_put_right(const std::string& old_id) {
    const auto report = reconcile(true);
    EXPECT_EQ(report.at("ok"), true) << report;
    const auto view = shown("r-1");
    const std::string new_id(view.at("outbox").at("id").as_string());
    EXPECT_NE(new_id, old_id);
    EXPECT_EQ(view.at("status"), "ACCEPTED");
    ASSERT_TRUE(view.at("outbox").as_object().contains("replaces")) << view;
    EXPECT_EQ(std::string(view.at("outbox").at("replaces").as_string()), old_id);
    EXPECT_EQ(letter(old_id)->state, tables::dead_letter::State::DISCARDED);
    EXPECT_TRUE(invariants_hold()) << "repaired and not yet announced";

    bus.sent.clear();
    site->run();
    ASSERT_EQ(bus.sent.size(), 1u);
    EXPECT_EQ(bus.sent[0].event.id, new_id);
    EXPECT_EQ(from_json<donation::Gift>(bus.sent[0].event.payload).amount, 500);
    EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
    EXPECT_TRUE(invariants_hold());
    EXPECT_EQ(reconcile(true).at("found"), 0) << "once";
  }
};
SKALD_ON_BOTH_DATABASES(Repair);

TEST_P(Repair, ATamperedDonationIsAnnouncedFromItsOwnRow) {
  start();
  donate("r-1");
  donate("r-2", "lee");
  const std::string old_id = tamper("r-1");
  EXPECT_FALSE(invariants_hold());
  expect_put_right(old_id);
  EXPECT_NE(letter(old_id)->note.find(std::string(shown("r-1").at("outbox").at("id").as_string())), std::string::npos)
      << "the letter says what replaced it: " << letter(old_id)->note;
  EXPECT_EQ(count("skald_audit WHERE actor = 'ada' AND action = 'dead-letter.discard' AND target = '" + old_id + "'"),
            1);
}

TEST_P(Repair, WhatAnOperatorHasDiscardedIsPutRightToo) {
  start();
  donate("r-1");
  const std::string old_id = tamper("r-1");
  db().write("replay", [&](Transaction& tx) { site->engine.replay(tx, old_id, "ada"); });
  site->run();
  EXPECT_EQ(letter(old_id)->state, tables::dead_letter::State::DEAD) << "a replay dies again";
  db().write("discard", [&](Transaction& tx) { site->engine.discard(tx, old_id, "ada", "no use"); });
  expect_put_right(old_id);
}

TEST_P(Repair, AForgedHashDoesNotMakeTheDonationsRowDoubtful) {
  start();
  donate("r-1");
  sql("UPDATE skald_outbox SET content_hash = 'forged'");
  const std::string old_id = tamper("r-1");
  expect_put_right(old_id);
}

TEST_P(Repair, ARowThatWasChangedItselfIsLeftToAPerson) {
  start();
  donate("r-1");
  const std::string old_id = tamper("r-1");
  sql("UPDATE donation SET amount = 7");
  const auto report = reconcile(true);
  EXPECT_EQ(report.at("ok"), false);
  EXPECT_EQ(report.at("repaired"), 0);
  EXPECT_EQ(show("r-1").outbox.id, old_id);
  EXPECT_EQ(letter(old_id)->state, tables::dead_letter::State::DEAD);
}

}  // namespace
}  // namespace skald::test
