// The booking system as it is deployed: a process for each service, a PostgreSQL database for
// each of three, NATS between them, and clients that know the gateway alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/json/serialize.hpp>
#include <functional>
#include <future>
#include <map>
#include <memory>

#include "end_to_end/skald_process.h"
#include "http/raw_client.h"
#include "runtime/wakeup.h"
#include "support/nats_server.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using testing::HasSubstr;

constexpr char kSecret[] = "a secret that is long enough for tokens";

class GatewayTest : public testing::Test {
 protected:
  GatewayTest() {
    for (const char* name : {"course", "notify", "booking", "user-api"}) start(name);
    admin_ = token("admin", "ada");
    kim_ = token("customer", "kim");
    until([this] { return ask(admin_, "GET", "/readyz").status == 200; });
  }

  void start(const std::string& name, SkaldServer::Variables variables = {}) {
    std::vector<std::string> arguments = {"--services", name,     "--bus",
                                          nats_.url(),  "--data", (folder_.path() / name).string()};
    if (name == "user-api") variables["SKALD_AUTH_SECRET"] = kSecret;
    else variables["SKALD_DB"] = databases_[name].url();
    processes_[name] = std::make_unique<SkaldServer>(arguments, variables);
  }
  void kill_hard(const std::string& name) { processes_.at(name)->kill_hard(); }

  static std::string token(const std::string& role, const std::string& subject) {
    const auto made = run_skald({"token", "--role", role, "--subject", subject}, {{"SKALD_AUTH_SECRET", kSecret}});
    EXPECT_EQ(made.status, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  static std::string bearer(const std::string& of) { return "Authorization: Bearer " + of; }

  HttpAnswer ask(const std::string& who, const std::string& method, const std::string& path,
                 const std::string& body = "", std::vector<std::string> headers = {}) {
    for (auto& [name, process] : processes_)
      if (process->pid() > 0) process->log();  // a log that nobody reads fills up
    headers.push_back(bearer(who));
    return processes_.at("user-api")->request(method, path, body, headers);
  }
  static std::string id_of(const HttpAnswer& answer) {
    EXPECT_LT(answer.status, 300) << answer.body;
    return std::string(answer.json().at("id").as_string());
  }
  std::string offer(int players) {
    const std::string course = id_of(ask(admin_, "POST", "/booking/courses", R"({"name":"Riverside"})"));
    return id_of(ask(admin_, "POST", "/booking/slots",
                     R"({"courseId":")" + course + R"(","startsAt":"2090-01-01T09:00:00Z","maxPlayers":)" +
                         std::to_string(players) + R"(,"pricePerPlayer":10})"));
  }
  static std::string booking_of(const std::string& slot) { return R"({"slotId":")" + slot + R"(","players":1})"; }
  std::string status_of(const std::string& booking) {
    const auto answer = ask(kim_, "GET", "/booking/bookings/" + booking);
    return answer.status == 200 ? std::string(answer.json().at("status").as_string()) : "";
  }
  static void until(const std::function<bool()>& ready) {
    for (int i = 0; i < 12'000; ++i) {
      if (ready()) return;
      runtime::Wakeup().wait(5ms);
    }
    FAIL() << "it did not happen";
  }

  NatsServer nats_;
  TemporaryFolder folder_;
  std::map<std::string, ScratchPostgres> databases_;
  std::map<std::string, std::unique_ptr<SkaldServer>> processes_;
  std::string admin_, kim_;
};

TEST_F(GatewayTest, DoctorWorksBesideAProcessWithoutADatabase) {
  const auto looked = [&] {
    return run_skald({"doctor", "--data", (folder_.path() / "user-api").string()}, {{"SKALD_AUTH_SECRET", kSecret}});
  };
  const CommandResult healthy = looked();
  EXPECT_EQ(healthy.status, 0) << healthy.out << healthy.err;
  EXPECT_THAT(healthy.out, HasSubstr("services user-api, database none, bus nats://"));
  kill_hard("course");
  const CommandResult ill = looked();
  EXPECT_EQ(ill.status, 1) << ill.out;
  EXPECT_THAT(ill.out, HasSubstr("fail  ready: NOT_READY: course"));
}

TEST_F(GatewayTest, ABookingGoesThroughAllProcessesAndItsStreamTellsIt) {
  const std::string slot = offer(4);
  const auto first = ask(kim_, "POST", "/booking/bookings", booking_of(slot), {"Idempotency-Key: k1"});
  ASSERT_EQ(first.status, 202) << first.body;
  EXPECT_THAT(first.head, HasSubstr("/booking/bookings/"));
  const std::string id = id_of(first);
  const auto again = ask(kim_, "POST", "/booking/bookings", booking_of(slot), {"Idempotency-Key: k1"});
  EXPECT_EQ(again.body, first.body);

  http::RawClient stream(processes_.at("user-api")->port());
  stream.send("GET /booking/bookings/" + id + "/events HTTP/1.1\r\nHost: 127.0.0.1:" +
              std::to_string(processes_.at("user-api")->port()) + "\r\n" + bearer(kim_) + "\r\n\r\n");
  EXPECT_THAT(stream.read_until("event: CONFIRMED"), HasSubstr("event: CREATED"));
  until([&] {
    return ask(kim_, "GET", "/booking/bookings/" + id + "/notifications").body.find("CONFIRMED") != std::string::npos;
  });
  EXPECT_EQ(ask(kim_, "POST", "/booking/bookings/" + id + "/cancel", R"({"reason":"rain"})").status, 200);
  EXPECT_THAT(stream.read_until("event: RELEASED"), HasSubstr("event: CANCELLED"));

  const auto story = ask(kim_, "GET", "/api/story/" + std::string(first.json().at("number").as_string()));
  for (const char* line : {"slot.reserved emitted", "CONFIRMED told by log", "CANCELLED by kim"})
    EXPECT_THAT(story.body, HasSubstr(line)) << "of course, notify and booking";
  EXPECT_EQ(ask(token("customer", "lee"), "GET", "/api/story/" + id).status, 404);

  const auto invariants = ask(admin_, "GET", "/booking/invariants");
  EXPECT_TRUE(invariants.json().at("ok").as_bool()) << invariants.body;
}

TEST_F(GatewayTest, TheIdThatAClientSeesIsInTheServicesLog) {
  processes_.erase("booking");
  start("booking", {{"SKALD_LOG_LEVEL", "debug"}});
  until([this] { return ask(admin_, "GET", "/readyz").status == 200; });
  const auto refused = ask(kim_, "GET", "/booking/bookings/nothing");
  EXPECT_EQ(refused.status, 404);
  const std::string id(refused.json().at("instance").as_string());
  EXPECT_THAT(refused.head, HasSubstr("x-request-id: " + id));
  EXPECT_THAT(processes_.at("booking")->log(), HasSubstr("\"requestId\":\"" + id + "\""));
}

TEST_F(GatewayTest, OthersBookingsAreNotThereForACustomer) {
  const std::string slot = offer(4);
  const std::string id = id_of(ask(kim_, "POST", "/booking/bookings", booking_of(slot)));
  const std::string lee = token("customer", "lee");
  for (const char* rest : {"", "/history", "/events"})
    EXPECT_EQ(ask(lee, "GET", "/booking/bookings/" + id + rest).status, 404) << rest;
  EXPECT_EQ(ask(lee, "POST", "/booking/bookings/" + id + "/cancel", R"({"reason":"mine"})").status, 404);
  EXPECT_EQ(ask(lee, "GET", "/booking/bookings").json().at("items").as_array().size(), 0u);
  EXPECT_EQ(ask(lee, "POST", "/booking/courses", R"({"name":"Mine"})").status, 403);
  EXPECT_EQ(processes_.at("user-api")->request("GET", "/booking/bookings").status, 401);
}

TEST_F(GatewayTest, ItsDocumentIsThatOfTheServicesInOneProcess) {
  SkaldServer embedded({"--services", "booking,course,notify,user-api", "--data", (folder_.path() / "all").string()});
  const auto paths = [](const HttpAnswer& answer) {
    std::map<std::string, std::string> out;
    const auto document = answer.json();
    for (const auto& [path, operations] : document.at("paths").as_object())
      if (!path.starts_with("/api")) out[path] = boost::json::serialize(operations);
    return out;
  };
  EXPECT_EQ(paths(ask(admin_, "GET", "/openapi.json")), paths(embedded.request("GET", "/openapi.json")));
  EXPECT_EQ(ask(admin_, "GET", "/api/outbox").status, 404) << "an operator asks each service";
}

TEST_F(GatewayTest, WhileAServiceIsAwayTheOthersAnswerAndItIsNamed) {
  const std::string slot = offer(4);
  kill_hard("notify");
  until([this] { return ask(admin_, "GET", "/readyz").body.find("notify") != std::string::npos; });
  const auto refused = ask(kim_, "GET", "/booking/bookings/1/notifications");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.head, HasSubstr("retry-after: 1"));
  const std::string id = id_of(ask(kim_, "POST", "/booking/bookings", booking_of(slot)));
  until([&] { return status_of(id) == "CONFIRMED"; });
  start("notify");
  until([&] {
    return ask(kim_, "GET", "/booking/bookings/" + id + "/notifications").body.find("CONFIRMED") != std::string::npos;
  });
  EXPECT_EQ(ask(admin_, "GET", "/readyz").status, 200);
}

// One that is killed takes with it what it was asked: whoever asked sends it again with its key.
TEST_F(GatewayTest, EachOfThemIsKilledAmidBookingsAndNothingIsLostOrDoneTwice) {
  const std::string slot = offer(100);
  std::vector<std::string> bookings;
  for (const char* name : {"booking", "course", "notify", "user-api", "booking"}) {
    for (int i = 0; i < 6; ++i) {
      if (i == 3) kill_hard(name), start(name);
      const std::string key = "Idempotency-Key: " + std::to_string(bookings.size());
      until([&] {
        const auto answer = ask(kim_, "POST", "/booking/bookings", booking_of(slot), {key});
        if (answer.status == 202) bookings.push_back(id_of(answer));
        else EXPECT_THAT(answer.status, testing::AnyOf(409, 503)) << answer.body;
        return answer.status == 202;
      });
    }
  }
  for (const std::string& id : bookings) until([&] { return status_of(id) == "CONFIRMED"; });
  const auto shown = ask(kim_, "GET", "/booking/slots/" + slot);
  EXPECT_EQ(shown.json().at("bookedPlayers").as_int64(), static_cast<std::int64_t>(bookings.size()));
  EXPECT_EQ(ask(kim_, "GET", "/booking/bookings?limit=200").json().at("items").as_array().size(), bookings.size());
  until([this] { return ask(admin_, "GET", "/booking/invariants").json().as_object().contains("ok"); });
  const auto invariants = ask(admin_, "GET", "/booking/invariants");
  EXPECT_TRUE(invariants.json().at("ok").as_bool()) << invariants.body;
}

// These send no key: whoever was answered 503 because nobody was there may send it again, and has
// booked once. Had a question been lost, there would be a booking that nobody was told of.
TEST_F(GatewayTest, AProcessThatIsAskedToEndAnswersWhatItWasAsked) {
  const std::string slot = offer(100);
  const SkaldServer& gateway = *processes_.at("user-api");
  std::atomic<int> made = 0;
  std::vector<std::future<void>> customers;
  for (int i = 0; i < 4; ++i)
    customers.push_back(std::async(std::launch::async, [&] {
      for (int mine = 0; mine < 15;) {
        const auto answer = gateway.request("POST", "/booking/bookings", booking_of(slot), {bearer(kim_)});
        if (answer.status == 202) {
          ++mine, ++made;
        } else {
          EXPECT_THAT(answer.body, HasSubstr("NATS_UNAVAILABLE"));
          runtime::Wakeup().wait(200ms);  // each one is a line of a log that nobody reads meanwhile
        }
      }
    }));
  until([&] { return made >= 20; });
  EXPECT_EQ(processes_.at("booking")->stop(), 0);
  start("booking");
  for (auto& customer : customers) customer.get();
  EXPECT_EQ(ask(kim_, "GET", "/booking/bookings?limit=200").json().at("items").as_array().size(), 60u);
}

}  // namespace
}  // namespace skald::test
