// The booking system in the program itself: its traffic, and its death in the middle of it.
#include <gtest/gtest.h>

#include "end_to_end/skald_process.h"
#include "runtime/wakeup.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

class BookingProgram : public testing::TestWithParam<Dialect> {
 protected:
  BookingProgram() {
    if (GetParam() == Dialect::postgres) scratch_ = std::make_unique<ScratchPostgres>();
  }
  std::unique_ptr<SkaldServer> serve() {
    std::vector<std::string> arguments = {"--services", "booking,course,notify,user-api", "--data",
                                          folder_.path().string()};
    SkaldServer::Variables variables;
    if (scratch_) variables["SKALD_DB"] = scratch_->url();
    return std::make_unique<SkaldServer>(arguments, variables);
  }
  std::vector<std::string> demo(const std::string& rate, const std::string& seconds) {
    return {"demo", "booking", "--data", folder_.path().string(), "--rate", rate, "--seconds", seconds, "--json"};
  }
  static std::string id_of(const HttpAnswer& answer) {
    EXPECT_LT(answer.status, 300) << answer.body;
    return std::string(answer.json().at("id").as_string());
  }

  TemporaryFolder folder_;
  std::unique_ptr<ScratchPostgres> scratch_;
};
INSTANTIATE_TEST_SUITE_P(Both, BookingProgram, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "SQLite" : "PostgreSQL"; });

TEST_P(BookingProgram, TheDemoBooksAndCancelsAndEverythingAddsUp) {
  const auto server = serve();
  const CommandResult result = run_skald(demo("40", "3"), {}, server.get());
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const auto figures = json::parse(result.out).as_object();
  EXPECT_EQ(figures.at("sent").as_int64(), 120);
  EXPECT_GT(figures.at("confirmed").as_int64(), 0);  // how many is chance, and the speed of the machine
  EXPECT_GT(figures.at("cancelled").as_int64(), 0);
  EXPECT_EQ(figures.at("pending").as_int64(), 0);
  EXPECT_TRUE(figures.at("invariantsOk").as_bool());
  EXPECT_EQ(server->stop(), 0);
}

TEST_P(BookingProgram, TheDemoCanBookAndNothingElseAndFollowSomeOfIt) {
  const auto server = serve();
  auto words = demo("40", "2");
  words.insert(words.end(), {"--only-bookings", "--follow-one-in", "8"});
  const CommandResult result = run_skald(words, {}, server.get());
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  const auto figures = json::parse(result.out).as_object();
  EXPECT_EQ(figures.at("booked").as_int64(), 80);
  EXPECT_EQ(figures.at("confirmed").as_int64(), 10);  // of those that are followed
  EXPECT_EQ(figures.at("cancelled").as_int64(), 0);
  EXPECT_TRUE(figures.at("refused").as_object().empty()) << result.out;
  EXPECT_EQ(server->stop(), 0);
}

TEST_P(BookingProgram, TheDemoWithoutAServerSaysWhatToDo) {
  const CommandResult result = run_skald(demo("1", "1"));
  EXPECT_NE(result.status, 0);
  EXPECT_NE(result.err.find("skald serve"), std::string::npos) << result.err;
}

TEST_P(BookingProgram, AServerThatIsKilledAmidBookingsIsFollowedByOneThatAnswersAll) {
  auto server = serve();
  const std::string course = id_of(server->request("POST", "/booking/courses", R"({"name":"Riverside"})"));
  const std::string slot = id_of(server->request(
      "POST", "/booking/slots",
      R"({"courseId":")" + course + R"(","startsAt":"2090-01-01T09:00:00Z","maxPlayers":30,"pricePerPlayer":10})"));
  std::vector<std::string> bookings;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 8; ++i)
      bookings.push_back(
          id_of(server->request("POST", "/booking/bookings", R"({"slotId":")" + slot + R"(","players":1})")));
    server->kill_hard();
    server = serve();
  }
  for (const std::string& id : bookings) {
    std::string status = "PENDING";
    for (int i = 0; i < 4000 && status == "PENDING"; ++i) {
      status = server->request("GET", "/booking/bookings/" + id).json().at("status").as_string();
      server->log();
      if (status == "PENDING") runtime::Wakeup().wait(5ms);
    }
    EXPECT_EQ(status, "CONFIRMED") << id;
  }
  EXPECT_EQ(server->request("GET", "/booking/slots/" + slot).json().at("bookedPlayers").as_int64(), 24);
  const auto invariants = server->request("GET", "/booking/invariants");
  EXPECT_TRUE(invariants.json().at("ok").as_bool()) << invariants.body;
  EXPECT_EQ(server->stop(), 0);
}

TEST_P(BookingProgram, AServiceThatWouldStandAloneWithoutABusIsRefused) {
  const CommandResult result = run_skald({"serve", "--services", "booking", "--data", folder_.path().string()});
  EXPECT_EQ(result.status, 2);
  EXPECT_NE(result.err.find("name all four"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace skald::test
