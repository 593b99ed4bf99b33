// Donations held against the outbox after somebody broke the tables by hand.
#include <algorithm>

#include "donation/reconciliation.h"
#include "donation_site.h"

namespace skald::test {
namespace {

using donation::Status;

class ReconciliationProof : public DonationTest {
 protected:
  boost::json::value reconcile(bool repair) {
    const Response response =
        site->call("POST", "/donation/reconcile", repair ? R"({"repair":true})" : R"({"repair":false})");
    EXPECT_EQ(response.status, 200) << response.body;
    return json::parse(response.body);
  }
  // "KIND count/repaired id…", by kind
  static std::vector<std::string> differences(const boost::json::value& report) {
    std::vector<std::string> out;
    for (const auto& difference : report.at("differences").as_array()) {
      std::string line(difference.at("kind").as_string());
      line += " " + std::to_string(difference.at("count").as_int64()) + "/" +
              std::to_string(difference.at("repaired").as_int64());
      for (const auto& id : difference.at("ids").as_array()) line += " " + std::string(id.as_string());
      out.push_back(line);
    }
    std::ranges::sort(out);
    return out;
  }
};
SKALD_ON_BOTH_DATABASES(ReconciliationProof);

TEST_P(ReconciliationProof, Reconciliation) {
  start();
  for (const char* id : {"gone", "late", "fine", "forged"}) donate(id, id);
  const std::string event_id = show("gone").outbox.id;
  site->run();
  donate("open");
  EXPECT_EQ(reconcile(false).at("ok"), true);
  EXPECT_TRUE(invariants_hold());

  sql("UPDATE donation SET status = 'ACCEPTED', outcome_at = NULL WHERE asked_id = 'gone'");
  sql("DELETE FROM skald_outbox WHERE key = 'gone'");
  sql("UPDATE donation SET status = 'UNDELIVERED' WHERE asked_id = 'late'");
  sql("UPDATE donation SET amount = 501 WHERE asked_id = 'forged'");
  db().write("an entry of nobody", [](Transaction& tx) {
    tx.emit({.id = "orphan-1",
             .type = "donation.accepted",
             .key = "nobody",
             .subject = "fine",
             .payload = "{}",
             .traceparent = ""});
  });
  EXPECT_FALSE(invariants_hold());
  const auto found = reconcile(false);
  EXPECT_EQ(found.at("ok"), false);
  EXPECT_EQ(found.at("donations"), 5);
  EXPECT_EQ(differences(found), (std::vector<std::string>{"CONTENT_DISAGREES 1/0 forged", "MISSING_ENTRY 1/0 gone",
                                                          "ORPHAN_ENTRY 1/0 orphan-1", "STATUS_DISAGREES 1/0 late"}));
  EXPECT_EQ(differences(reconcile(false)), differences(found)) << "looking changes nothing";

  const auto repaired = reconcile(true);
  EXPECT_EQ(repaired.at("ok"), false) << "two of them need a person";
  EXPECT_EQ(differences(repaired),
            (std::vector<std::string>{"CONTENT_DISAGREES 1/0 forged", "MISSING_ENTRY 1/1 gone",
                                      "ORPHAN_ENTRY 1/0 orphan-1", "STATUS_DISAGREES 1/1 late"}));
  EXPECT_EQ(differences(reconcile(false)),
            (std::vector<std::string>{"CONTENT_DISAGREES 1/0 forged", "ORPHAN_ENTRY 1/0 orphan-1"}));
  EXPECT_EQ(show("late").status, Status::ANNOUNCED);
  EXPECT_EQ(show("gone").outbox.id, event_id) << "emitted again under the same id";
  bus.sent.clear();
  site->run();
  EXPECT_EQ(show("gone").status, Status::ANNOUNCED);
}

TEST_P(ReconciliationProof, ReconciliationByTheHourRepairsInPages) {
  start();
  // Two pages of donations; every tenth has lost its entry.
  for (int i = 0; i < 620; ++i) donate("r-" + std::to_string(i), "donor-" + std::to_string(i % 50));
  sql("DELETE FROM skald_outbox WHERE id IN (SELECT event_id FROM donation WHERE asked_id LIKE 'r-%7')");
  const auto report = donation::reconcile_all(site->engine);
  EXPECT_EQ(report.donations, 620);
  EXPECT_EQ(report.entries, 620);
  EXPECT_EQ(report.count_of(donation::Kind::MISSING_ENTRY), 62);
  EXPECT_EQ(report.repaired(), 62);
  EXPECT_EQ(report.differences.at(0).ids.size(), 50u) << "the list is bounded";
  EXPECT_TRUE(invariants_hold());
  site->run();
  EXPECT_EQ(count("donation WHERE status = 'ANNOUNCED'"), 620);
}

TEST_P(ReconciliationProof, AReconciliationCursorThatNobodyGaveIsRefused) {
  start();
  EXPECT_EQ(site->call("POST", "/donation/reconcile", R"({"repair":false,"cursor":"bm8"})").status, 422);
  EXPECT_EQ(site->call("POST", "/donation/reconcile", "{}").status, 422);
}

}  // namespace
}  // namespace skald::test
