// A donation server without threads: its paths are called in-process and its
// relay is stepped by the test, under a clock that only the test moves. Destroying
// a Site is a crash: nothing is handed over.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dead_letter/undertaker.h"
#include "donation/donation.h"
#include "donation/record.h"
#include "http/router.h"
#include "outbox/membership.h"
#include "outbox/relay.h"
#include "outbox/routing.h"
#include "support/hand_clock.h"
#include "support/test_database.h"

namespace skald::test {

class CountingObserver final : public Observer {
 public:
  void count(std::string_view metric, std::int64_t by = 1) override;
  std::int64_t of(const std::string& metric) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::int64_t> counts_;
};

// A receiver inside of the test. Without `answer` every send stays in flight.
class ScriptedBus final : public Bus {
 public:
  std::function<Outcome(const Message&)> answer = [](const Message&) { return Outcome::ok(); };
  std::vector<Message> sent;

  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake = {}) override;
  std::size_t in_flight() const override { return answer ? held_.size() : 0; }

 private:
  std::deque<std::pair<Message, Done>> held_;
};

struct SiteOptions {
  OutboxOptions outbox;
  std::string fallback_file;
  bool has_webhook = true;
  FileOps file_ops = FileOps::real();
};

class Site {
 public:
  Site(Env env, Database& db, Bus& bus, SiteOptions options = {});

  Response call(std::string method, std::string path, std::string body = "",
                std::map<std::string, std::string, std::less<>> headers = {});
  Response call_as(const Caller& caller, std::string method, std::string path, std::string body = "");
  // Joins or beats; takes over what the dead have left.
  void beat() { membership.run_once(); }
  // Until nothing is due and nothing is in flight. Joins at the first time.
  void run();
  // Until `happened`, also in the middle of sends.
  void run_until(const std::function<bool()>& happened);

 private:
  SiteOptions options_;
  Bus& bus_;
  FallbackFile file_;

 public:
  std::vector<std::string> alerts;  // their codes
  Engine engine;
  http::Routes routes;
  outbox::Routing routing;
  dead_letter::Undertaker undertaker;
  outbox::Membership membership;
  outbox::Relay relay;
};

class DonationTest : public ::testing::TestWithParam<Dialect> {
 protected:
  void SetUp() override;

  Env env() { return {clock, *random_, observer}; }
  Database& db() { return **database; }
  bool on_postgres() const { return GetParam() == Dialect::postgres; }

  // A new process on the data; on PostgreSQL it waits out the old one's lease.
  void start(Bus& bus, SiteOptions options = {});
  void start() { start(bus); }
  void crash();
  // Beats until it has seen every other worker stand still for a whole lease.
  void outlive_lease(Site& taker);

  // Asserts 201 or 200.
  donation::DonationView donate(const std::string& request_id, const std::string& donor = "kim",
                                const std::string& message = "thank you");
  donation::DonationView show(const std::string& request_id);
  std::optional<Entry> entry(const std::string& request_id);
  void sql(std::string_view statement);
  std::int64_t count(const std::string& from);
  // Every retry is due now.
  void make_due() { sql("UPDATE skald_outbox SET next_retry_at = 0 WHERE status = 2"); }
  std::string reason_of_dead_letter(const std::string& event_id);
  bool invariants_hold();

  HandClock clock;
  CountingObserver observer;
  TemporaryFolder folder;
  ScriptedBus bus;
  std::unique_ptr<TestDatabase> database;
  std::unique_ptr<Site> site;

 private:
  std::unique_ptr<Random> random_ = system_random();
};

std::string request_id_of(const Message& announcement);
std::string gift_json(const std::string& request_id, const std::string& donor = "kim",
                      const std::string& message = "thank you");

#define SKALD_ON_BOTH_DATABASES(suite)                                                             \
  INSTANTIATE_TEST_SUITE_P(Donation, suite, ::testing::Values(Dialect::sqlite, Dialect::postgres), \
                           [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; })

}  // namespace skald::test
