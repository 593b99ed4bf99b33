#include "http/forwarding_router.h"

#include <gtest/gtest.h>

#include "http/fake_env.h"
#include "http/remote_call.h"
#include "http/router.h"

namespace skald::http {
namespace {

// Two processes: what reaches the near one is answered by the far one, as bytes in between.
struct ForwardingTest : testing::Test {
  FakeEnv fake;
  Routes near{fake.env, Authenticator(fake.env, std::nullopt), "1"},
      far{fake.env, Authenticator(fake.env, "a secret"), "1"};
  ForwardingRouter router{near, [this](const Request& request) {
                            const Request arrived = read_call(write_call(request));
                            return read_answer(write_answer(far.dispatch_as(arrived.caller, arrived)));
                          }};

  // As a service does, once for each of the two.
  template <class F>
  void install(F&& add) {
    add(static_cast<Router&>(far));
    add(static_cast<Router&>(router));
  }
  Response ask(const std::string& method, const std::string& path, const std::string& body = "") {
    Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    return near.dispatch_as({Role::customer, "kim"}, request);
  }
};

TEST_F(ForwardingTest, ARequestArrivesWithItsCallerItsQueryAndItsBody) {
  install([](Router& to) {
    to.act("/things/{id}", Access::customer, {}, [](const Request& request) {
      return Response::text(request.caller.subject + "|" + request.param("id") + "|" +
                            request.query_value("q").value_or("-") + "|" + request.body);
    });
  });
  EXPECT_EQ(ask("POST", "/things/a%2Fb?q=1+2", "[1]").body, "kim|a/b|1 2|[1]");
}

TEST_F(ForwardingTest, ARefusalComesBackAsItIs) {
  install([](Router& to) {
    to.get("/x", Access::customer, {}, [](const Request&) -> Response { throw Conflict("TAKEN", "somebody has it"); });
  });
  const Response response = ask("GET", "/x");
  EXPECT_EQ(response.status, 409);
  EXPECT_NE(response.body.find("TAKEN"), std::string::npos);
}

TEST_F(ForwardingTest, AccessIsCheckedOnBothSides) {
  install([](Router& to) { to.get("/admin", Access::admin, {}, [](const Request&) { return Response::text("in"); }); });
  EXPECT_EQ(ask("GET", "/admin").status, 403);
  EXPECT_EQ(far.dispatch_as({Role::customer, "kim"},
                            [] {
                              Request request;
                              request.method = "GET";
                              request.path = "/admin";
                              return request;
                            }())
                .status,
            403);
}

TEST_F(ForwardingTest, AStreamGoesOnBehindWhatWasTold) {
  int told = 2;  // events that there are
  install([&](Router& to) {
    to.stream("/events", Access::customer, {}, [&](const Request& request) {
      const std::string seen(request.header("last-event-id"));
      return Stream{"topic", [&told, at = seen.empty() ? 0 : std::stoi(seen)]() mutable -> std::optional<std::string> {
                      if (at == 3) return std::nullopt;
                      std::string part;
                      while (at < told) part += "id: " + std::to_string(++at) + "\n\n";
                      return part;
                    }};
    });
  });
  Request request;
  request.method = "GET";
  request.path = "/events";
  const Reply reply = near.answer(request);
  ASSERT_TRUE(reply.stream.has_value());
  EXPECT_EQ(reply.stream->topic, "topic");
  EXPECT_EQ(reply.stream->next(), "id: 1\n\nid: 2\n\n");
  EXPECT_EQ(reply.stream->next(), "");
  told = 3;
  EXPECT_EQ(reply.stream->next(), "id: 3\n\n");
  EXPECT_EQ(reply.stream->next(), std::nullopt);
}

TEST_F(ForwardingTest, AStreamThatIsRefusedThereIsRefusedHere) {
  install([](Router& to) {
    to.stream("/events", Access::customer, {},
              [](const Request&) -> Stream { throw NotFound("NOTHING", "there is nothing to tell of"); });
  });
  EXPECT_EQ(ask("GET", "/events").status, 404);
}

}  // namespace
}  // namespace skald::http
