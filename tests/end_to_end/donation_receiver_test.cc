// Real webhooks to a receiver that misbehaves, and a database that goes away.
#include <libpq-fe.h>

#include "bus/webhook/webhook_bus.h"
#include "donation_site.h"
#include "store/sqlite/database.h"
#include "support/http_receiver.h"

namespace skald::test {
namespace {

using donation::Status;
using Manner = HttpReceiver::Manner;

class Fault : public DonationTest {
 protected:
  void SetUp() override {
    DonationTest::SetUp();
    open_bus(receiver_.url());
  }
  void TearDown() override { site.reset(); }

  void open_bus(const std::string& url) {
    if (site) crash();
    WebhookOptions options;
    options.url = url;
    options.secret = "a secret of the test";
    options.timeout = 400ms;
    options.allow_private = true;
    bus_ = std::make_unique<WebhookBus>(env(), options);
    start(*bus_);
  }

  // It fails once in some passing way, waits, and then arrives: same id, same bytes.
  void fails_then_arrives() {
    site->run();
    const auto waiting = show("r-1");
    EXPECT_EQ(waiting.status, Status::ACCEPTED);
    EXPECT_EQ(waiting.outbox.status, EntryStatus::FAILED) << waiting.outbox.last_error.value_or("");
    EXPECT_EQ(waiting.outbox.retry_count, 1);
    make_due();
    site->run();
    EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
    const auto requests = receiver_.requests();
    ASSERT_FALSE(requests.empty());
    for (const auto& request : requests) {
      EXPECT_EQ(request.headers.at("webhook-id"), waiting.outbox.id);
      EXPECT_EQ(request.body, requests[0].body);
    }
    EXPECT_TRUE(invariants_hold());
  }

  HttpReceiver receiver_;
  std::unique_ptr<WebhookBus> bus_;
};
SKALD_ON_BOTH_DATABASES(Fault);

TEST_P(Fault, NoneTheWebhookIsASignedCloudEventWithTheDonation) {
  const auto taken = donate("r-1");
  site->run();
  ASSERT_EQ(receiver_.requests().size(), 1u);
  const auto request = receiver_.requests()[0];
  EXPECT_EQ(request.headers.at("webhook-id"), taken.outbox.id);
  EXPECT_TRUE(request.headers.contains("webhook-timestamp"));
  EXPECT_TRUE(request.headers.at("webhook-signature").starts_with("v1,"));
  EXPECT_EQ(json::parse(request.body).at("data").at("requestId"), "r-1");
  EXPECT_EQ(json::parse(request.body).at("type"), "donation.accepted");
}

TEST_P(Fault, ReceiverAnswers500) {
  receiver_.next({.status = 500});
  donate("r-1");
  fails_then_arrives();
}

TEST_P(Fault, ReceiverHangs) {
  receiver_.next({.manner = Manner::hang});
  donate("r-1");
  fails_then_arrives();
}

TEST_P(Fault, ReceiverIsSlowerThanTheTimeout) {
  const auto gate = std::make_shared<Gate>();
  receiver_.next({.gate = gate});
  donate("r-1");
  site->run();
  gate->open();
  fails_then_arrives();
}

TEST_P(Fault, ReceiverClosesMidAnswer) {
  receiver_.next({.body = "half of this is never sent", .manner = Manner::close_mid_answer});
  donate("r-1");
  fails_then_arrives();
}

TEST_P(Fault, ReceiverRefusesConnections) {
  const RefusingPort port;
  open_bus("http://127.0.0.1:" + std::to_string(port.number()) + "/hook");
  donate("r-1");
  site->run();
  EXPECT_EQ(show("r-1").outbox.status, EntryStatus::FAILED);
  HttpReceiver back(port.number());
  make_due();
  site->run();
  EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
  EXPECT_EQ(back.requests().size(), 1u);
}

TEST_P(Fault, ReceiverSaysNoForGood) {
  receiver_.next({.status = 410});
  const auto taken = donate("r-1");
  site->run();
  EXPECT_EQ(show("r-1").status, Status::UNDELIVERED);
  EXPECT_EQ(reason_of_dead_letter(taken.outbox.id), "REFUSED");
  EXPECT_EQ(receiver_.requests().size(), 1u);
}

TEST_P(Fault, ReceiverAsksForTimeAndGetsIt) {
  receiver_.next({.status = 429, .headers = {"Retry-After: 600"}});
  donate("r-1");
  site->run();
  const Entry waiting = *entry("r-1");
  EXPECT_EQ(waiting.status, EntryStatus::FAILED);
  EXPECT_GE(waiting.next_retry_at - waiting.updated_at, 600s);
}

TEST_P(Fault, CrashBetweenSendAndCompletion) {
  const auto gate = std::make_shared<Gate>();
  receiver_.next({.gate = gate});
  donate("r-1");
  site->run_until([&] { return receiver_.requests().size() == 1; });
  crash();
  bus_.reset();
  gate->open();
  open_bus(receiver_.url());
  site->run();
  const auto requests = receiver_.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].headers.at("webhook-id"), requests[1].headers.at("webhook-id"));
  EXPECT_EQ(requests[0].body, requests[1].body);
  EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
}

// The whole server refuses us and ends our sessions, as a restart of it would.
class Outage {
 public:
  explicit Outage(const std::string& url) : name_(url.substr(url.rfind('/') + 1)) {
    name_ = name_.substr(0, name_.find('?'));
    run("ALTER DATABASE " + name_ + " WITH ALLOW_CONNECTIONS false");
    run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name_ + "'");
  }
  // PgBouncer refuses whoever comes first, and looks whether the server is back only then.
  void end(Database& db) {
    run("ALTER DATABASE " + name_ + " WITH ALLOW_CONNECTIONS true");
    for (bool answered = false; !answered;) {
      try {
        db.read([](Transaction& tx) { tx.query("SELECT 1"); });
        answered = true;
      } catch (const Unavailable&) {}
    }
  }

 private:
  static void run(const std::string& sql) {
    const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(std::getenv("SKALD_TEST_PG")), PQfinish);
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.get(), sql.c_str()), PQclear);
    ASSERT_TRUE(PQresultStatus(result.get()) == PGRES_COMMAND_OK || PQresultStatus(result.get()) == PGRES_TUPLES_OK)
        << PQerrorMessage(connection.get());
  }
  std::string name_;
};

TEST_P(Fault, DatabaseDown) {
  donate("r-1");
  if (on_postgres()) {
    Outage outage(database->address());
    EXPECT_EQ(site->call("POST", "/donation/donations", gift_json("r-2")).status, 503);
    EXPECT_EQ(site->call("GET", "/donation/donations/r-1").status, 503);
    site->run();  // the relay can do nothing, and says so
    EXPECT_TRUE(receiver_.requests().empty());
    EXPECT_GE(observer.of("outbox_relay_errors_total"), 1);
    outage.end(db());
  } else {
    auto& disk = dynamic_cast<sqlite::SqliteDatabase&>(db());
    disk.before_physical_commit = [] { throw Unavailable("DISK_FULL", "the disk is full"); };
    EXPECT_EQ(site->call("POST", "/donation/donations", gift_json("r-2")).status, 503);
    site->run();
    EXPECT_TRUE(receiver_.requests().empty()) << "nothing is sent that could not be claimed";
    EXPECT_GE(observer.of("outbox_relay_errors_total"), 1);
    disk.before_physical_commit = nullptr;
  }
  EXPECT_EQ(count("donation"), 1);
  donate("r-2");
  site->run();
  EXPECT_EQ(show("r-1").status, Status::ANNOUNCED);
  EXPECT_EQ(show("r-2").status, Status::ANNOUNCED);
  EXPECT_EQ(receiver_.requests().size(), 2u);
  EXPECT_TRUE(invariants_hold());
}

}  // namespace
}  // namespace skald::test
