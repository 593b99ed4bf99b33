// The proofs that the seed of the donation service names, on both databases.
#include <filesystem>
#include <set>

#include "base/hash.h"
#include "donation_site.h"
#include "outbox/integrity.h"
#include "outbox/retention.h"
#include "store/tables/attempt.h"
#include "store/tables/dead_letter.h"

namespace skald::test {
namespace {

using donation::Status;

class Proof : public DonationTest {};
SKALD_ON_BOTH_DATABASES(Proof);

Outcome fails(const Message&) { return Outcome::failed("the receiver answered 503"); }
Outcome refuses(const Message&) { return Outcome::refused("the receiver answered 410"); }

TEST_P(Proof, ContentHash) {
  start();
  const auto taken = donate("r-1");
  const Entry stored = *entry("r-1");
  EXPECT_EQ(stored.content_hash, hex(sha256(unambiguous({taken.id, "donation.accepted", stored.event.payload}))));
  EXPECT_EQ(taken.outbox.content_hash, stored.content_hash);
  // A separator inside of a field cannot make two different contents look alike.
  EXPECT_NE(
      outbox::content_hash({.id = "", .type = "b|c", .key = "", .subject = "a", .payload = "d", .traceparent = ""}, ""),
      outbox::content_hash({.id = "", .type = "c", .key = "", .subject = "a|b", .payload = "d", .traceparent = ""},
                           ""));
  EXPECT_NE(outbox::content_hash(stored.event, "a key"), stored.content_hash);
  site->run();
  EXPECT_EQ(show("r-1").outbox.content_hash, stored.content_hash);
}

TEST_P(Proof, StalledRecovery) {
  start();
  bus.answer = nullptr;
  donate("r-1");
  site->run();
  ASSERT_EQ(entry("r-1")->status, EntryStatus::PROCESSING);
  crash();

  ScriptedBus healthy;
  start(healthy);
  site->run();
  ASSERT_EQ(healthy.sent.size(), 1u);
  EXPECT_EQ(healthy.sent[0].event.id, bus.sent[0].event.id);
  EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
  EXPECT_EQ(observer.of("outbox_stalled_recovered_total"), 1);
  const auto attempts =
      db().read_result([&](Transaction& tx) { return tables::attempt::of(tx, healthy.sent[0].event.id); });
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0].outcome, "CRASHED");
  EXPECT_TRUE(invariants_hold());
}

TEST_P(Proof, DeadLetters) {
  start();
  bus.answer = refuses;
  const auto taken = donate("r-1");
  site->run();
  EXPECT_EQ(show("r-1").status, Status::UNDELIVERED);
  EXPECT_EQ(show("r-1").outbox.status, EntryStatus::DEAD_LETTER);
  EXPECT_EQ(reason_of_dead_letter(taken.outbox.id), "REFUSED");
  EXPECT_TRUE(invariants_hold());

  db().write("replay", [&](Transaction& tx) { site->engine.replay(tx, taken.outbox.id, "kim the admin"); });
  EXPECT_EQ(show("r-1").status, Status::ACCEPTED);
  EXPECT_FALSE(show("r-1").outcome_at);
  bus.answer = [](const Message&) { return Outcome::ok(); };
  site->run();
  EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
  ASSERT_EQ(bus.sent.size(), 2u);
  EXPECT_EQ(bus.sent[0].event, bus.sent[1].event);

  bus.answer = refuses;
  const auto second = donate("r-2");
  site->run();
  db().write("discard", [&](Transaction& tx) {
    site->engine.discard(tx, second.outbox.id, "kim the admin", "the donor asked for it");
  });
  EXPECT_EQ(show("r-2").status, Status::UNDELIVERED);
  EXPECT_EQ(count("skald_audit"), 2);
  EXPECT_TRUE(invariants_hold());
}

TEST_P(Proof, Integrity) {
  start();
  const auto forged = donate("r-1");
  donate("r-2", "lee");
  sql("UPDATE skald_outbox SET payload = "
      "'{\"requestId\":\"r-1\",\"donor\":\"kim\",\"amount\":999999,\"currency\":\"EUR\"}' WHERE key = 'kim'");
  site->run();
  ASSERT_EQ(bus.sent.size(), 1u);
  EXPECT_EQ(request_id_of(bus.sent[0]), "r-2");
  EXPECT_EQ(reason_of_dead_letter(forged.outbox.id), "INTEGRITY");
  EXPECT_EQ(show("r-1").status, Status::UNDELIVERED);
  EXPECT_EQ(site->alerts, std::vector<std::string>{"INTEGRITY"});
  EXPECT_EQ(observer.of("outbox_integrity_failures_total"), 1);
  EXPECT_FALSE(invariants_hold()) << "what was changed by hand stays in sight";
}

TEST_P(Proof, IntegrityIsCheckedInRecovery) {
  start();
  bus.answer = nullptr;
  const auto taken = donate("r-1");
  site->run();
  crash();
  sql("UPDATE skald_outbox SET payload = '{}' WHERE key = 'kim'");
  ScriptedBus healthy;
  start(healthy);
  site->run();
  EXPECT_TRUE(healthy.sent.empty());
  EXPECT_EQ(reason_of_dead_letter(taken.outbox.id), "INTEGRITY");
}

TEST_P(Proof, Atomicity) {
  start();
  EXPECT_THROW(db().write("take and fail",
                          [&](Transaction& tx) {
                            tx.execute(
                                "INSERT INTO donation (request_id, donor, amount, currency, status, event_id, "
                                "content_hash, created_at, version) "
                                "VALUES ('r-1', 'kim', 1, 'EUR', 'ACCEPTED', 'e-1', 'h', 0, 0)");
                            tx.emit({.id = "e-1",
                                     .type = "donation.accepted",
                                     .key = "kim",
                                     .subject = "r-1",
                                     .payload = "{}",
                                     .traceparent = ""});
                            throw Refused("NO", "changed my mind");
                          }),
               Refused);
  EXPECT_EQ(count("donation"), 0);
  EXPECT_EQ(count("skald_outbox"), 0);

  sql("ALTER TABLE skald_outbox RENAME TO hidden");
  EXPECT_GE(site->call("POST", "/donation/donations", gift_json("r-2")).status, 500);
  sql("ALTER TABLE hidden RENAME TO skald_outbox");
  EXPECT_EQ(count("donation"), 0) << "no donation without its entry";
  EXPECT_EQ(donate("r-2").status, Status::ACCEPTED);
  EXPECT_EQ(count("donation"), 1);
  EXPECT_EQ(count("skald_outbox"), 1);
}

TEST_P(Proof, RetentionLeavesTheDonationComplete) {
  start();
  const auto taken = donate("r-1");
  site->run();
  sql("UPDATE skald_outbox SET updated_at = 0");
  EXPECT_EQ(outbox::forget_completed(db(), 7 * 24h), 1);
  EXPECT_EQ(count("skald_outbox"), 0);
  const auto later = show("r-1");
  EXPECT_EQ(later.status, Status::ANNOUNCED);
  EXPECT_TRUE(later.outcome_at);
  EXPECT_EQ(later.outbox.id, taken.outbox.id);
  EXPECT_EQ(later.outbox.status, EntryStatus::COMPLETED);
  EXPECT_EQ(later.outbox.content_hash, taken.outbox.content_hash);
  EXPECT_TRUE(invariants_hold());
}

// ---- "Fail if wrong" ----

TEST_P(Proof, F1_NoDualWrite) {
  start();
  for (int i = 0; i < 20; ++i) donate("r-" + std::to_string(i), "donor-" + std::to_string(i % 3));
  EXPECT_TRUE(bus.sent.empty());
  crash();  // after the commits, before anything was sent
  ScriptedBus healthy;
  start(healthy);
  EXPECT_TRUE(invariants_hold());
  site->run();
  std::set<std::string> announced;
  for (const Message& message : healthy.sent) announced.insert(request_id_of(message));
  EXPECT_EQ(announced.size(), 20u);
  EXPECT_EQ(count("donation WHERE status = 'ANNOUNCED'"), 20);
}

TEST_P(Proof, F2_NoZombieBeyondLimit) {
  start();
  bus.answer = nullptr;
  donate("r-1");
  site->run();
  crash();
  ScriptedBus healthy;
  site = std::make_unique<Site>(env(), db(), healthy, SiteOptions{});
  const Instant died = clock.steady();
  while (entry("r-1")->status == EntryStatus::PROCESSING) {
    ASSERT_LT(clock.steady() - died, 10s);
    site->beat();
    site->run();
    clock.advance(OutboxOptions{}.beat);
  }
  EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
}

TEST_P(Proof, F2_AnOldZombieIsAViolationInSight) {
  start();
  bus.answer = nullptr;
  donate("r-1");
  site->run();
  EXPECT_TRUE(invariants_hold());
  sql("UPDATE skald_outbox SET locked_at = locked_at - 301000000");
  EXPECT_FALSE(invariants_hold());
}

TEST_P(Proof, F3_NoDistributedDoubleProcessing) {
  start();
  bus.answer = nullptr;
  const std::string id = donate("r-1").id;
  site->run();
  if (!on_postgres()) {
    EXPECT_THROW(open_sqlite(env(), {.path = database->address()}), Unavailable) << "one process per file";
    return;
  }
  // The first is stopped in the middle of its send; a second takes over.
  const auto second_db = open_postgres(env(), {.url = database->address(), .connections = 4});
  ScriptedBus second_bus;
  Site second(env(), *second_db, second_bus);
  outlive_lease(second);
  second.run();
  ASSERT_EQ(second_bus.sent.size(), 1u);
  EXPECT_EQ(second_bus.sent[0].event, bus.sent[0].event) << "a receiver can tell that it has it";
  const auto settled = db().read_result([&](Transaction& tx) { return tx.find<donation::Donation>(id).value(); });
  EXPECT_EQ(settled.status, Status::ANNOUNCED);

  // It wakes, its send has failed for good: nothing of that may count.
  bus.answer = refuses;
  site->run();
  site->beat();
  site->run();
  const auto after = db().read_result([&](Transaction& tx) { return tx.find<donation::Donation>(id).value(); });
  EXPECT_EQ(after.status, Status::ANNOUNCED);
  EXPECT_EQ(after.version, settled.version);
  EXPECT_EQ(entry("r-1")->status, EntryStatus::COMPLETED);
  EXPECT_EQ(count("skald_dead_letter"), 0);
}

TEST_P(Proof, F4_TripleSafetyNetLosesNothing) {
  const std::string file = folder.path() / "dead-letters";
  bool disk_broken = false;
  FileOps ops = FileOps::real();
  ops.write = [&, real = ops.write](int descriptor, std::string_view data) {
    if (!disk_broken) return real(descriptor, data);
    errno = EIO;
    return ssize_t{-1};
  };
  start(bus, {.outbox = {}, .fallback_file = file, .file_ops = ops});
  bus.answer = refuses;

  // The table cannot take it and the file cannot: it stays, and somebody is woken.
  sql("ALTER TABLE skald_dead_letter RENAME TO hidden");
  disk_broken = true;
  const auto taken = donate("r-1");
  site->run();
  EXPECT_NE(std::ranges::find(site->alerts, "DEAD_LETTER_UNSAVED"), site->alerts.end());
  EXPECT_GE(observer.of("dead_letter_unsaved_total"), 1);
  EXPECT_EQ(entry("r-1")->status, EntryStatus::FAILED);
  EXPECT_EQ(show("r-1").status, Status::ACCEPTED);

  // The disk is back: the file takes it.
  disk_broken = false;
  crash();
  start(bus, {.outbox = {}, .fallback_file = file, .file_ops = ops});
  make_due();
  site->run();
  EXPECT_EQ(observer.of("dead_letter_file_fallback_total"), 1);
  EXPECT_EQ(entry("r-1")->status, EntryStatus::DEAD_LETTER);
  EXPECT_TRUE(std::filesystem::exists(file));

  // The table is back: import, replay, delivered; the same event all along.
  sql("ALTER TABLE hidden RENAME TO skald_dead_letter");
  EXPECT_FALSE(invariants_hold()) << "a dead letter that lies in the file only is in sight";
  EXPECT_EQ(site->engine.import_dead_letters("admin").imported, 1);
  EXPECT_EQ(show("r-1").status, Status::UNDELIVERED);
  EXPECT_TRUE(invariants_hold());
  db().write("replay", [&](Transaction& tx) { site->engine.replay(tx, taken.outbox.id, "admin"); });
  bus.answer = [](const Message&) { return Outcome::ok(); };
  site->run();
  EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
  for (const Message& message : bus.sent) EXPECT_EQ(message.event, bus.sent[0].event);
}

// ---- The traps in the seed ----

TEST_P(Proof, Trap1_NoTransactionDuringSend) {
  start();
  bus.answer = nullptr;
  donate("r-1");
  site->run();
  ASSERT_EQ(bus.sent.size(), 1u) << "the send is under way";
  EXPECT_EQ(show("r-1").outbox.status, EntryStatus::PROCESSING) << "and others can see it";
  db().write("touch the row", [&](Transaction& tx) {
    if (on_postgres()) tx.query("SELECT 1 FROM skald_outbox WHERE key = 'kim' FOR UPDATE NOWAIT");
    tx.execute("UPDATE skald_outbox SET updated_at = updated_at WHERE key = 'kim'");
  });
  if (on_postgres()) {
    EXPECT_EQ(count("pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'"), 0);
  }
}

TEST_P(Proof, Trap2_Backoff30_60_120) {
  start();
  bus.answer = fails;
  const auto taken = donate("r-1");
  for (const auto wait : {30s, 60s, 120s}) {
    site->run();
    const Entry failed = *entry("r-1");
    ASSERT_EQ(failed.status, EntryStatus::FAILED);
    EXPECT_GE(failed.next_retry_at - failed.updated_at, wait);
    EXPECT_LE(failed.next_retry_at - failed.updated_at, wait * 11 / 10) << "at most the jitter on top";
    EXPECT_EQ(show("r-1").outbox.next_retry_at, failed.next_retry_at);
    make_due();
  }
  EXPECT_EQ(show("r-1").outbox.retry_count, 3);
  site->run();
  EXPECT_EQ(bus.sent.size(), 4u);
  EXPECT_EQ(reason_of_dead_letter(taken.outbox.id), "RETRIES_EXHAUSTED");
  EXPECT_EQ(show("r-1").status, Status::UNDELIVERED);
}

TEST_P(Proof, Trap3_HashOverStoredBytes) {
  start();
  // Members in another order, escapes, and space: what JSONB would tidy up.
  const std::string body = R"({ "message" : "\u00e9\ud83d\ude00 \"quoted\" \\ a/b", "amount":500, "currency":"EUR",
                                "requestId":"r-1","donor":"b\u0061rbara"})";
  ASSERT_EQ(site->call("POST", "/donation/donations", body).status, 201);
  const Entry stored = *entry("r-1");
  EXPECT_EQ(stored.event.payload,
            "{\"requestId\":\"r-1\",\"donor\":\"barbara\",\"amount\":500,\"currency\":\"EUR\",\"message\":"
            "\"\u00e9\U0001F600 \\\"quoted\\\" \\\\ a/b\"}");
  EXPECT_TRUE(outbox::verify(stored, ""));
  site->run();
  ASSERT_EQ(bus.sent.size(), 1u);
  EXPECT_EQ(bus.sent[0].event.payload, stored.event.payload);
  const std::string envelope = cloud_event(bus.sent[0]);
  EXPECT_NE(envelope.find("\"data\":" + stored.event.payload), std::string::npos) << envelope;
  EXPECT_TRUE(invariants_hold());
}

TEST_P(Proof, Trap4_SameIdAfterCrash) {
  start();
  bus.answer = nullptr;  // it arrives; the answer is lost with the process
  donate("r-1");
  site->run();
  crash();
  ScriptedBus healthy;
  start(healthy);
  site->run();
  ASSERT_EQ(healthy.sent.size(), 1u);
  EXPECT_EQ(healthy.sent[0].event, bus.sent[0].event);
  EXPECT_EQ(cloud_event(healthy.sent[0]), cloud_event(bus.sent[0]));
  EXPECT_EQ(count("donation WHERE status = 'ANNOUNCED'"), 1);
}

// ---- Order ----

TEST_P(Proof, AFailingHeadMakesItsDonorWaitAndNobodyElse) {
  start();
  bus.answer = [](const Message& message) {
    return request_id_of(message) == "kim-1" ? fails(message) : Outcome::ok();
  };
  donate("kim-1", "kim");
  donate("kim-2", "kim");
  donate("lee-1", "lee");
  site->run();
  EXPECT_EQ(show("kim-2").status, Status::ACCEPTED);
  EXPECT_EQ(show("lee-1").status, Status::ANNOUNCED);
  bus.answer = [](const Message&) { return Outcome::ok(); };
  make_due();
  site->run();
  EXPECT_EQ(show("kim-2").status, Status::ANNOUNCED);
  std::vector<std::string> kim;
  for (const Message& message : bus.sent)
    if (message.event.key == "kim") kim.push_back(request_id_of(message));
  EXPECT_EQ(kim, (std::vector<std::string>{"kim-1", "kim-1", "kim-2"}));
}

TEST_P(Proof, ADeadHeadLetsItsDonorGoOn) {
  start();
  bus.answer = [](const Message& message) {
    return request_id_of(message) == "kim-1" ? refuses(message) : Outcome::ok();
  };
  donate("kim-1", "kim");
  donate("kim-2", "kim");
  site->run();
  EXPECT_EQ(show("kim-1").status, Status::UNDELIVERED);
  EXPECT_EQ(show("kim-2").status, Status::ANNOUNCED);
}

}  // namespace
}  // namespace skald::test
