// The order service in the program itself, with its provider as a process of its own.
#include <gtest/gtest.h>

#include "end_to_end/order_site.h"
#include "end_to_end/skald_process.h"

namespace skald::test {
namespace {

class OrderProgram : public testing::Test {
 protected:
  std::unique_ptr<SkaldServer> serve() {
    return std::make_unique<SkaldServer>(
        std::vector<std::string>{"--services", "donation,order", "--data", folder_.path().string()});
  }
  static std::string ended(SkaldServer& server, const std::string& id) {
    for (int i = 0; i < 2000; ++i) {
      const auto order = server.request("GET", "/order/orders/" + id).json();
      if (const std::string status(order.at("status").as_string()); status != "PENDING") return status;
      rest(5ms);
    }
    return "PENDING";
  }
  static std::string place(SkaldServer& server) {
    const HttpAnswer answer = server.request("POST", "/order/orders", R"({"sku":"lamp","quantity":1})");
    EXPECT_EQ(answer.status, 202) << answer.body;
    return std::string(answer.json().at("id").as_string());
  }
  static void offer(SkaldServer& server) {
    EXPECT_EQ(server
                  .request("POST", "/order/products",
                           R"({"sku":"lamp","name":"a lamp","price":250,"currency":"EUR","stock":10})")
                  .status,
              201);
  }

  // An order whose server is killed while it charges.
  std::string place_and_kill() {
    const auto server = serve();
    offer(*server);
    EXPECT_EQ(server->request("PUT", "/order/provider", R"({"latencyMs":2000})").status, 200);
    std::string id = place(*server);
    server->kill_hard();
    return id;
  }
  // As if all that is in flight had failed for too long; while no server runs.
  void park_sagas() {
    const auto clock = system_clock();
    const auto random = system_random();
    const auto db =
        open_sqlite({*clock, *random, silent_observer()}, {.path = (folder_.path() / "donation.db").string()});
    db->write("park", [](Transaction& tx) {
      tx.execute(
          "UPDATE skald_saga SET status = 'NEEDS_HELP', owner = NULL, wake_at = NULL, error_code = 'PROVIDER_AWAY' "
          "WHERE live = 1");
    });
  }

  TemporaryFolder folder_;
};

TEST_F(OrderProgram, ServesOrdersWithASandboxOfItsOwn) {
  const auto server = serve();
  offer(*server);
  EXPECT_EQ(ended(*server, place(*server)), "CONFIRMED");
  EXPECT_TRUE(server->request("GET", "/order/invariants").json().at("ok").as_bool());
  EXPECT_EQ(server->stop(), 0);
}

TEST_F(OrderProgram, AServerKilledWhileItChargesIsFollowedByOneThatFinishesTheOrder) {
  const std::string id = place_and_kill();
  const auto server = serve();
  EXPECT_EQ(ended(*server, id), "CONFIRMED");
  const auto invariants = server->request("GET", "/order/invariants");
  EXPECT_TRUE(invariants.json().at("ok").as_bool()) << invariants.body;
  EXPECT_EQ(server->request("GET", "/order/payments").json().at("items").as_array().size(), 1u);
  EXPECT_EQ(server->stop(), 0);
}

TEST_F(OrderProgram, AnAcceptedCancelOutlivesTheServerThatIsKilledBeforeItBegins) {
  std::string id;
  {
    const auto server = serve();
    offer(*server);
    EXPECT_EQ(server->request("PUT", "/order/provider", R"({"latencyMs":2000})").status, 200);
    id = place(*server);
    const HttpAnswer accepted =
        server->request("POST", "/order/orders/" + id + "/cancel", R"({"reason":"changed my mind"})");
    EXPECT_EQ(accepted.status, 202) << accepted.body;
    server->kill_hard();
  }
  const auto server = serve();
  const auto cancellation = [&] { return server->request("GET", "/order/orders/" + id).json().at("cancellation"); };
  for (int i = 0; i < 2000 && cancellation().at("status") == "PENDING"; ++i) rest(5ms);
  EXPECT_EQ(cancellation().at("status"), "DONE");
  EXPECT_EQ(cancellation().at("reason"), "changed my mind");
  EXPECT_EQ(ended(*server, id), "CANCELLED");
  EXPECT_TRUE(server->request("GET", "/order/invariants").json().at("ok").as_bool());
  EXPECT_EQ(server->stop(), 0);
}

TEST_F(OrderProgram, AfterAnOutageOneCommandLetsEverythingThatNeedsHelpGoOn) {
  const std::string id = place_and_kill();
  park_sagas();
  const auto server = serve();
  const auto parked = server->request("GET", "/api/sagas?status=NEEDS_HELP&code=PROVIDER_AWAY").json();
  ASSERT_EQ(parked.at("items").as_array().size(), 1u);
  const CommandResult retried = run_skald({"sagas", "retry", "--all", "--json", "--data", folder_.path().string()});
  EXPECT_EQ(retried.status, 0) << retried.err;
  EXPECT_EQ(json::parse(retried.out).at("retried").as_int64(), 1);
  EXPECT_EQ(retried.err, "") << "progress is for terminals";
  EXPECT_EQ(ended(*server, id), "CONFIRMED");
  EXPECT_EQ(server->stop(), 0);
}

}  // namespace
}  // namespace skald::test
