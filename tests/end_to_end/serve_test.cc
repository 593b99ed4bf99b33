// The program as somebody uses it: serve, donate, see the webhook, kill, restart.
#include <gmock/gmock.h>

#include <set>

#include "end_to_end/skald_process.h"
#include "http/raw_client.h"
#include "support/http_receiver.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using testing::HasSubstr;

std::string gift(const std::string& id, const std::string& donor) {
  return R"({"requestId":")" + id + R"(","donor":")" + donor +
         R"(","amount":500,"currency":"EUR","message":"for the choir"})";
}

class ServeTest : public testing::Test {
 protected:
  std::vector<std::string> arguments() const {
    return {"--data", folder_.path().string(), "--outbox-backoff-first", "1s"};
  }
  SkaldServer::Variables variables() const {
    return {{"SKALD_DONATION_WEBHOOK", receiver_.url()}, {"SKALD_WEBHOOK_ALLOW_PRIVATE", "1"}};
  }
  // Distinct announced requestIds in the order of their first arrival, once there are that many.
  std::vector<std::string> wait_for_announced(std::size_t count) {
    std::size_t arrived = 0;
    while (true) {
      std::vector<std::string> order;
      std::set<std::string> seen;
      const auto requests = receiver_.requests();
      for (const auto& request : requests) {
        const std::string id(json::parse(request.body).at("data").at("requestId").as_string());
        if (seen.insert(id).second) order.push_back(id);
      }
      if (order.size() >= count) return order;
      arrived = requests.size() + 1;
      receiver_.wait_for_requests(arrived);
    }
  }

  TemporaryFolder folder_;
  HttpReceiver receiver_;
};

TEST_F(ServeTest, ADonationIsAnnouncedAndTheProgramStopsWhenAsked) {
  SkaldServer server(arguments(), variables());
  const HttpAnswer taken = server.request("POST", "/donation/donations", gift("r1", "kim"));
  EXPECT_EQ(taken.status, 201) << taken.body;
  receiver_.wait_for_requests(1);
  EXPECT_THAT(receiver_.requests()[0].body, HasSubstr("\"requestId\":\"r1\""));
  EXPECT_TRUE(receiver_.requests()[0].headers.contains("webhook-signature"));

  EXPECT_EQ(server.request("GET", "/donation/donations/r1").status, 200);
  EXPECT_EQ(server.request("POST", "/donation/donations", gift("r1", "kim")).status, 200);
  EXPECT_EQ(server.request("POST", "/donation/donations", gift("r1", "lee")).status, 422);
  EXPECT_THAT(server.request("GET", "/metrics").body, HasSubstr("skald_http_requests_total"));
  EXPECT_EQ(server.request("GET", "/readyz").status, 200);

  EXPECT_EQ(server.stop(), 0);
  EXPECT_THAT(server.log(), HasSubstr("counts as admin"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "server.json"));
}

TEST_F(ServeTest, NothingIsLostByAKillInTheMiddle) {
  constexpr int kDonations = 30;
  // Four are answered; then one of each donor is under way when the process dies.
  for (int i = 0; i < 4; ++i) receiver_.next({});
  receiver_.always({.manner = HttpReceiver::Manner::hang});
  {
    SkaldServer server(arguments(), variables());
    for (int i = 0; i < kDonations; ++i) {
      const auto taken = server.request("POST", "/donation/donations",
                                        gift("r" + std::to_string(100 + i), "donor" + std::to_string(i % 3)));
      ASSERT_EQ(taken.status, 201) << taken.body;
    }
    receiver_.wait_for_requests(7);
    server.kill_hard();
  }
  receiver_.always({});
  SkaldServer server(arguments(), variables());
  const auto order = wait_for_announced(kDonations);
  std::map<int, std::string> last;
  for (const std::string& id : order) {
    std::string& before = last[std::stoi(id.substr(1)) % 3];
    EXPECT_LT(before, id) << "out of order for its donor";
    before = id;
  }
  std::map<std::string, std::string> bytes;
  for (const auto& request : receiver_.requests()) {
    const auto [known, first] = bytes.emplace(request.headers.at("webhook-id"), request.body);
    EXPECT_EQ(known->second, request.body) << "a repeat with other bytes";
  }
  EXPECT_EQ(bytes.size(), static_cast<std::size_t>(kDonations));
  EXPECT_EQ(server.request("GET", "/donation/invariants").json().at("ok").as_bool(), true);
}

TEST_F(ServeTest, CommandsReachTheRunningServerAndTheDatabaseWithoutOne) {
  receiver_.always({.status = 400});
  const std::vector<std::string> data = {"--data", folder_.path().string()};
  const auto command = [&](std::vector<std::string> words) {
    words.insert(words.end(), data.begin(), data.end());
    return run_skald(words);
  };
  std::string id;
  {
    SkaldServer server(arguments(), variables());
    server.request("POST", "/donation/donations", gift("r1", "kim"));
    receiver_.wait_for_requests(1);
    std::string letters;
    while (letters.find("\"id\"") == letters.npos) letters = command({"dlq", "list", "--json"}).out;
    id = json::parse(letters).at("items").at(0).at("id").as_string();
    EXPECT_THAT(command({"dlq", "list"}).out, HasSubstr("REFUSED"));
    EXPECT_EQ(command({"doctor"}).status, 0);
    EXPECT_EQ(server.stop(), 0);
  }
  EXPECT_THAT(command({"outbox", "show", id}).out, HasSubstr("DEAD_LETTER"));
  const auto discarded = command({"dlq", "discard", id, "--reason", "the receiver is gone", "--json"});
  EXPECT_EQ(discarded.status, 0) << discarded.err;
  EXPECT_THAT(discarded.out, HasSubstr("DISCARDED"));
  EXPECT_EQ(command({"dlq", "replay", id}).status, 1);
  EXPECT_EQ(command({"dlq", "show", "nothing"}).status, 1);
  EXPECT_THAT(command({"migrate"}).out, HasSubstr("donation"));
}

TEST_F(ServeTest, TokensDecideWhoMayDoWhat) {
  SkaldServer server(arguments(), {{"SKALD_AUTH_SECRET", "a secret that is long enough for everybody"}});
  const auto bearer = [&](const std::string& role) {
    const auto made = run_skald({"token", "--role", role, "--subject", "kim", "--data", folder_.path().string()},
                                {{"SKALD_AUTH_SECRET", "a secret that is long enough for everybody"}});
    EXPECT_EQ(made.status, 0) << made.err;
    return "Authorization: Bearer " + made.out.substr(0, made.out.size() - 1);
  };
  EXPECT_EQ(server.request("GET", "/api/outbox").status, 401);
  EXPECT_EQ(server.request("GET", "/api/outbox", "", {bearer("customer")}).status, 403);
  EXPECT_EQ(server.request("GET", "/api/outbox", "", {bearer("admin")}).status, 200);
  EXPECT_EQ(server.request("GET", "/healthz").status, 200);
}

TEST_F(ServeTest, OnLoopbackWithoutASecretTokensMayBeUsedButNeedNot) {
  SkaldServer server(arguments());
  const auto token =
      run_skald({"token", "--role", "customer", "--subject", "kim", "--data", folder_.path().string()}).out;
  EXPECT_EQ(server.request("GET", "/api/outbox").status, 200);
  EXPECT_EQ(
      server.request("GET", "/api/outbox", "", {"Authorization: Bearer " + token.substr(0, token.size() - 1)}).status,
      403);
}

TEST_F(ServeTest, TheOverviewIsStreamedWhenItChanges) {
  SkaldServer server(arguments());
  http::RawClient client(server.port());
  client.send("GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n\r\n");
  EXPECT_THAT(client.read_until("\"deadLetters\":0"), HasSubstr("event: overview"));
}

TEST_F(ServeTest, ListeningToTheWorldNeedsASecret) {
  const auto refused = run_skald({"serve", "--listen", "0.0.0.0:0", "--data", folder_.path().string()});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("SKALD_AUTH_SECRET"));
}

TEST_F(ServeTest, APortInUseIsSaidPlainly) {
  SkaldServer server(arguments());
  const TemporaryFolder other;
  const auto refused =
      run_skald({"serve", "--listen", "127.0.0.1:" + std::to_string(server.port()), "--data", other.path().string()});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("CANNOT_LISTEN"));
}

TEST_F(ServeTest, ASecondServerOnTheSameDataIsRefused) {
  SkaldServer server(arguments());
  const auto refused = run_skald({"serve", "--listen", "127.0.0.1:0", "--data", folder_.path().string()});
  EXPECT_EQ(refused.status, 1);
  EXPECT_EQ(server.request("GET", "/readyz").status, 200);
}

TEST(CommandLineTest, MistakesAreToldWithExitCodeTwo) {
  EXPECT_EQ(run_skald({"serve", "--http-threads", "0"}).status, 2);
  EXPECT_EQ(run_skald({"bogus"}).status, 2);
  EXPECT_EQ(run_skald({}).status, 2);
  EXPECT_EQ(run_skald({"worker", "--db", "memory:"}).status, 2);
  EXPECT_EQ(run_skald({"doctor"}, {{"SKALD_AUTH_SECRET", "fifteen letters"}}).status, 2);
  EXPECT_EQ(run_skald({"--help"}).status, 0);
  EXPECT_THAT(run_skald({"--version"}).out, HasSubstr("skald 0."));
}

// It delivers, and to nobody is not what its operator meant: a server that keeps
// its donations to itself needs no worker.
TEST(CommandLineTest, AWorkerNeedsToKnowWhomToTell) {
  const auto refused = run_skald({"worker", "--db", "postgresql://127.0.0.1:1/none"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("SKALD_DONATION_WEBHOOK"));
}

}  // namespace
}  // namespace skald::test
