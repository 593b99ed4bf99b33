// The booking system for tests: three services in each of its deployments, real threads,
// and events that a test may hold back, double, turn round or lose.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "booking/views.h"
#include "host/booking_system.h"
#include "http/router.h"
#include "support/jumping_clock.h"
#include "support/nats_server.h"
#include "support/test_database.h"

namespace skald::test {

inline const Caller kAdmin{.role = Role::admin, .subject = "ada"};
inline Caller customer(const std::string& name) { return {.role = Role::customer, .subject = name}; }

enum class Deployment {
  embedded,     // SQLite, one process
  shared,       // schemas of one PostgreSQL database, one process
  distributed,  // a PostgreSQL database each, and NATS between them
};
inline std::string name_of(const testing::TestParamInfo<Deployment>& which) {
  return which.param == Deployment::embedded ? "SQLite"
         : which.param == Deployment::shared ? "PostgreSQL"
                                             : "PostgreSQLAndNats";
}

class BookingTest : public testing::TestWithParam<Deployment> {
 protected:
  explicit BookingTest(Observer& observer = silent_observer());
  ~BookingTest() override;

  // Other processes on the same data, after these are gone.
  void restart() { restart({}); }
  void restart(booking::Options options);

  Response call(const Caller& caller, const std::string& method, const std::string& path, const std::string& body = "",
                std::map<std::string, std::string, std::less<>> headers = {});
  // A time of that many players, so long from now; its id.
  std::string offer(std::int64_t players, Duration from_now = std::chrono::days(10), std::int64_t price = 1000);
  golf::Slot slot(const std::string& id);
  booking::BookingView book(const std::string& slot, std::int64_t players = 1, const std::string& who = "kim");
  booking::BookingView show(const std::string& id);
  booking::BookingView becomes(const std::string& id, booking::Status status);
  booking::BookingView cancel(const std::string& id, const Caller& caller = customer("kim"));
  std::vector<std::string> history(const std::string& id);
  std::vector<std::string> told(const std::string& id);  // kinds of notifications
  std::int64_t count(const host::Unit& unit, const std::string& sql);
  void change(const host::Unit& unit, const std::string& sql);
  void until(const std::function<bool()>& ready, const std::string& what);
  // Until nothing is under way anywhere.
  void settle();
  void expect_invariants();

  // Letters are not taken and come again, as if the receivers' databases were away.
  void refuse_arrivals(bool refused) { refusing_ = refused; }
  // A handler of course throws for each reserve.
  void fail_reserves(bool failing) { failing_ = failing; }
  // Events of that type stay with the test from now on: their letters land without them.
  void hold(const std::string& type);
  std::vector<Message> held(const std::string& type, std::size_t at_least);
  // Lands what is held of that type, in order; it goes its way again.
  void let_go(const std::string& type);
  void land(const std::string& type, std::vector<Message> messages);

  std::unique_ptr<JumpingClock> clock_ = std::make_unique<JumpingClock>();
  std::unique_ptr<Random> random_ = system_random();
  Env env_;
  std::unique_ptr<http::Routes> routes_;
  host::Unit booking_, course_, notify_;
  std::unique_ptr<NatsServer> nats_;  // where it is distributed

 private:
  void open(booking::Options options);
  void connect(const host::BookingUnits& all);
  std::vector<Receipt> take(host::Unit& to, std::span<const Letter> letters);
  void keep_what_is_held(Letter& letter);
  bool is_quiet();
  std::array<host::Unit*, 3> units() { return {&booking_, &course_, &notify_}; }
  void open(host::Unit& unit, const std::string& name);
  void close();

  struct Way {
    host::Unit* to = nullptr;
    bool held = false;
    std::vector<Message> messages = {};
  };
  TemporaryFolder folder_;
  std::map<std::string, std::unique_ptr<ScratchPostgres>> servers_;
  std::atomic<bool> refusing_ = false, failing_ = false;
  std::mutex mutex_;  // guards ways_
  std::map<std::string, Way> ways_;
};

std::string code_of(const Response& response);

}  // namespace skald::test
