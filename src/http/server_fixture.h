// A real server on a free port, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <thread>

#include "http/fake_env.h"
#include "http/jwt.h"
#include "http/raw_client.h"
#include "http/server.h"

namespace skald::http {
class ServerTest : public testing::Test {
 protected:
  explicit ServerTest(std::optional<std::string> secret = std::nullopt)
      : routes_(fake_.env, Authenticator(fake_.env, std::move(secret)), "1") {}

  ServerOptions options{.port = 0};

  void SetUp() override {
    db_ = open_sqlite(fake_.env, {.path = ":memory:"});
    migrate_api_keys(*db_);
    routes_.get("/hello/{name}", Access::customer, {},
                [](const Request& r) { return Response::text("hello " + r.param("name")); });
    routes_.get("/slow", Access::customer, {}, [this](const Request&) {
      entered_.set_value();
      released_.get_future().wait();
      return Response::text("slow done");
    });
    routes_.post(*db_, "/echo", Access::customer, {},
                 [](const Request& r, Transaction&) { return Response{201, r.body, "application/json", {}}; });
    routes_.stream("/events", Access::customer, {}, [this](const Request&) {
      return Stream{"news", [this, told = 0]() mutable -> std::optional<std::string> {
                      std::string out;
                      for (const int last = told_.load(); told < last;)
                        out += "data: " + std::to_string(++told) + "\n\n";
                      if (ended_) return std::nullopt;
                      return out;
                    }};
    });
  }
  void TearDown() override {
    if (server_) server_->stop(5s);
    if (thread_.joinable()) thread_.join();
    pool_.join();
  }

  void start() {
    server_ = std::make_unique<Server>(fake_.env, options, routes_, publisher_,
                                       [this](std::function<void()> job) { boost::asio::post(pool_, std::move(job)); });
    thread_ = std::thread([this] { server_->run(); });
  }
  RawClient connect() { return RawClient(server_->port()); }
  RawClient connect_from(std::string_view address) { return RawClient(server_->port(), 20, address); }
  static std::string get(std::string_view path, std::string_view more = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n";
  }
  static std::string post(std::string_view body, std::string_view more = "") {
    return "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           std::string(more) + "\r\n" + std::string(body);
  }
  static int status(const std::string& response) { return response.size() < 12 ? 0 : std::stoi(response.substr(9, 3)); }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
  std::string ask(const std::string& request) {
    RawClient client = connect();
    client.send(request);
    return client.read_response();
  }
  int first_status(const std::string& request) {
    RawClient client = connect();
    client.send(request);
    return status(client.read_until("\r\n\r\n"));
  }
  void expect_alive() { EXPECT_TRUE(has(ask(get("/hello/you")), "hello you")); }

  FakeEnv fake_;
  std::unique_ptr<Database> db_;
  Routes routes_;
  Publisher publisher_;
  boost::asio::thread_pool pool_{4};
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::promise<void> entered_, released_;
  std::atomic<int> told_ = 0;
  std::atomic<bool> ended_ = false;
};

// The same where every request needs a token.
class GuardedServerTest : public ServerTest {
 protected:
  GuardedServerTest() : ServerTest(kGuardedSecret) {}
  std::string bearer(const std::string& subject) {
    const Time now = fake_.clock.now();
    return "Authorization: Bearer " + sign_token(kGuardedSecret, {subject, Role::customer, now, now + 1h}) + "\r\n";
  }

 private:
  static constexpr char kGuardedSecret[] = "a secret of the tests, long enough";
};

}  // namespace skald::http
