// The sandbox provider as a child that may end: the server starts it again, and says so meanwhile.
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "end_to_end/skald_process.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using testing::HasSubstr;

class ProviderWatch : public testing::Test {
 protected:
  pid_t provider() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(server_.pid()) + "/task")) {
      pid_t child = 0;
      if (std::ifstream(task.path() / "children") >> child) return child;
    }
    return 0;
  }
  void until(const std::string& what, const std::function<bool()>& ready) {
    for (int tries = 0; tries < 3000; ++tries) {
      if (ready()) return;
      server_.log();
      poll(nullptr, 0, 10);
    }
    FAIL() << what << "\n" << server_.log();
  }
  void until_ready(bool ready) {
    until(ready ? "ready" : "not ready", [&] { return (server_.request("GET", "/readyz").status == 200) == ready; });
  }
  void expect_an_order_is_paid() {
    const HttpAnswer placed = server_.request("POST", "/order/orders", R"({"sku":"lamp","quantity":1})");
    ASSERT_EQ(placed.status, 202) << placed.body;
    const std::string path = "/order/orders/" + std::string(placed.json().at("id").as_string());
    until("the order ends", [&] { return server_.request("GET", path).json().at("status").as_string() != "PENDING"; });
    EXPECT_EQ(server_.request("GET", path).json().at("status").as_string(), "CONFIRMED");
  }

  TemporaryFolder folder_;
  SkaldServer server_{{"--services", "donation,order", "--data", folder_.path().string()}};
};

TEST_F(ProviderWatch, OneThatEndsIsStartedAgainAndToldOfWhileItCannotBe) {
  ASSERT_EQ(server_
                .request("POST", "/order/products",
                         R"({"sku":"lamp","name":"a lamp","price":250,"currency":"EUR","stock":10})")
                .status,
            201);
  const pid_t first = provider();
  ASSERT_GT(first, 0);
  kill(first, SIGKILL);
  until("another one runs", [&] { return provider() > 0 && provider() != first; });
  until_ready(true);
  expect_an_order_is_paid();

  // It cannot open its books.
  const auto books = folder_.path() / "sandbox-provider.db", aside = folder_.path() / "aside.db";
  std::filesystem::rename(books, aside);
  std::filesystem::create_directory(books);
  kill(provider(), SIGKILL);
  until_ready(false);
  EXPECT_THAT(server_.request("GET", "/readyz").body, HasSubstr("sandbox payment provider"));
  EXPECT_THAT(server_.request("GET", "/metrics").body, HasSubstr("\nskald_provider_up 0\n"));
  const CommandResult doctor = run_skald({"doctor", "--data", folder_.path().string()}, {}, &server_);
  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("fail  ready: NOT_READY: the sandbox payment provider"));

  std::filesystem::remove(books);
  std::filesystem::rename(aside, books);
  until_ready(true);
  EXPECT_THAT(server_.request("GET", "/metrics").body, HasSubstr("\nskald_provider_up 1\n"));
  expect_an_order_is_paid();
  EXPECT_EQ(server_.stop(), 0);
  EXPECT_THAT(server_.log(), HasSubstr("provider has ended and is started again"));
}

}  // namespace
}  // namespace skald::test
