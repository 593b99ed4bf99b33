// Each service of the booking system in a process of its own, with a database of its own.
#include <gtest/gtest.h>

#include <map>

#include "end_to_end/skald_process.h"
#include "runtime/wakeup.h"
#include "support/nats_server.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

class BookingProcesses : public testing::Test {
 protected:
  void serve(const std::string& service) {
    processes_[service] = std::make_unique<SkaldServer>(
        std::vector<std::string>{"--services", service, "--data", (folder_.path() / service).string(), "--bus",
                                 nats_.url(), "--outbox-backoff-first", "500ms"},
        SkaldServer::Variables{{"SKALD_DB", databases_[service].url()}});
  }
  void kill(const std::string& service) {
    processes_.at(service)->kill_hard();
    serve(service);
  }
  boost::json::value ask(const std::string& service, const std::string& method, const std::string& path,
                         const std::string& body = "") {
    const HttpAnswer answer = processes_.at(service)->request(method, path, body);
    EXPECT_LT(answer.status, 300) << answer.body;
    return answer.json();
  }
  std::string create(const std::string& service, const std::string& path, const std::string& body) {
    return std::string(ask(service, "POST", path, body).at("id").as_string());
  }
  // Within a minute, or a failure.
  void until(const std::function<bool()>& ready, const std::string& what) {
    for (int i = 0; i < 12'000; ++i) {
      if (ready()) return;
      for (const auto& [service, process] : processes_) process->log();
      runtime::Wakeup().wait(5ms);
    }
    FAIL() << "not in time: " << what;
  }
  std::string book(const std::string& slot) {
    HttpAnswer answer;
    until(
        [&] {
          answer = processes_.at("booking")->request("POST", "/booking/bookings",
                                                     R"({"slotId":")" + slot + R"(","players":1})");
          return answer.status == 202;  // once the slot's copy is there
        },
        "a booking");
    return std::string(answer.json().at("id").as_string());
  }

  TemporaryFolder folder_;
  NatsServer nats_;
  std::map<std::string, ScratchPostgres> databases_;
  std::map<std::string, std::unique_ptr<SkaldServer>> processes_;
};

TEST_F(BookingProcesses, BookingsAreConfirmedAndToldWhoeverIsKilledMeanwhile) {
  for (const char* service : {"booking", "course", "notify"}) serve(service);
  const std::string course = create("course", "/booking/courses", R"({"name":"Riverside"})");
  const std::string slot = create(
      "course", "/booking/slots",
      R"({"courseId":")" + course + R"(","startsAt":"2090-01-01T09:00:00Z","maxPlayers":40,"pricePerPlayer":10})");
  std::vector<std::string> bookings;
  for (const char* service : {"booking", "course", "notify"}) {
    for (int i = 0; i < 8; ++i) bookings.push_back(book(slot));
    kill(service);
  }
  nats_.restart();
  for (int i = 0; i < 8; ++i) bookings.push_back(book(slot));
  for (const std::string& id : bookings) {
    until([&] { return ask("booking", "GET", "/booking/bookings/" + id).at("status") == "CONFIRMED"; },
          "booking " + id + " is confirmed");
    const std::string told = "/booking/bookings/" + id + "/notifications";
    until([&] { return ask("notify", "GET", told).at("items").as_array().size() == 1; }, "its customer is told");
  }
  EXPECT_EQ(ask("course", "GET", "/booking/slots/" + slot).at("bookedPlayers").as_int64(), 32);
  const HttpAnswer metrics = processes_.at("course")->request("GET", "/metrics");
  EXPECT_NE(metrics.body.find("skald_bus_up 1"), std::string::npos);
  for (const auto& [service, process] : processes_) EXPECT_EQ(process->stop(), 0) << service;
}

TEST_F(BookingProcesses, SettingsThatContradictEachOtherAreRefusedAndSecretsNotShown) {
  const auto refused = [&](std::vector<std::string> more, const SkaldServer::Variables& variables = {}) {
    std::vector<std::string> arguments = {"serve", "--services", "course", "--data", folder_.path().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CommandResult result = run_skald(arguments, variables);
    EXPECT_EQ(result.status, 2) << result.err;
    return result.err;
  };
  EXPECT_NE(refused({"--bus", "carrier-pigeon:"}).find("bus must be memory:, or nats://"), std::string::npos);
  EXPECT_NE(refused({"--bus", nats_.url(), "--nats-ca", "ca.pem"}).find("tls://"), std::string::npos);
  const std::string both = refused({"--bus", nats_.url(), "--nats-user", "ada"},
                                   {{"SKALD_NATS_PASSWORD", "hush-hush"}, {"SKALD_NATS_TOKEN", "hush-token"}});
  EXPECT_EQ(both.find("hush"), std::string::npos) << both;
}

}  // namespace
}  // namespace skald::test
