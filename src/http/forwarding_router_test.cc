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
  bool away = false;
  ForwardingRouter router{near, [this](const Request& request) {
                            if (away) throw Unavailable("AWAY", "nobody answers");
                            const Request arrived = read_call(write_call(request, trace_of(request)));
                            return read_answer(write_answer(far.dispatch_as(arrived.caller, arrived)));
                          }};

  // As a service does, once for each of the two.
  template <class F>
  void install(F&& add) {
    add(static_cast<Router&>(far));
    add(static_cast<Router&>(router));
  }
  static Request request_of(const std::string& method, const std::string& path, const std::string& body = "",
                            std::map<std::string, std::string, std::less<>> headers = {}) {
    Request request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.headers = std::move(headers);
    return request;
  }
  Response ask(const std::string& method, const std::string& path, const std::string& body = "",
               std::map<std::string, std::string, std::less<>> headers = {}) {
    return near.dispatch_as({Role::customer, "kim"}, request_of(method, path, body, std::move(headers)));
  }
};

TEST_F(ForwardingTest, ARequestArrivesWithItsCallerItsQueryAndItsBody) {
  install([](Router& to) {
    to.act("/things/{id}", Access::customer, {.query = {"q"}}, [](const Request& request) {
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

TEST_F(ForwardingTest, TheFarSideLogsUnderTheIdThatTheClientSees) {
  install([](Router& to) {
    to.get("/x", Access::customer, {}, [](const Request& request) { return Response::text(request.request_id); });
    to.get("/bad", Access::customer, {}, [](const Request&) -> Response { throw Conflict("TAKEN", "it is taken"); });
  });
  for (const char* path : {"/x", "/bad"}) {
    const Response response = ask("GET", path);
    const std::string id = response.headers.at("x-request-id");
    EXPECT_NE(response.body.find(id), std::string::npos) << response.body;
    int lines = 0;
    for (const auto& [level, line] : fake.observer.lines) lines += line.find("\"requestId\":\"" + id) != line.npos;
    EXPECT_EQ(lines, 2) << "one of each side";
  }
}

TEST_F(ForwardingTest, AccessIsCheckedOnBothSides) {
  install([](Router& to) { to.get("/admin", Access::admin, {}, [](const Request&) { return Response::text("in"); }); });
  EXPECT_EQ(ask("GET", "/admin").status, 403);
  EXPECT_EQ(far.dispatch_as({Role::customer, "kim"}, request_of("GET", "/admin")).status, 403);
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
  const Reply reply = near.answer({.request = request_of("GET", "/events")});
  ASSERT_TRUE(reply.stream.has_value());
  EXPECT_EQ(reply.stream->topic, "topic");
  EXPECT_EQ(reply.stream->next(), "id: 1\n\nid: 2\n\n");
  EXPECT_EQ(reply.stream->next(), "");
  away = true;
  EXPECT_EQ(reply.stream->next(), "") << "a service that starts again ends no stream";
  away = false;
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
  away = true;
  EXPECT_EQ(ask("GET", "/events").status, 503);
}

TEST_F(ForwardingTest, AKeyTravelsSoThatWhatWasSentTwiceHappensOnce) {
  const auto db = open_sqlite(fake.env, {.path = ":memory:"});
  migrate_api_keys(*db);
  int done = 0;
  install([&](Router& to) {
    to.post(*db, "/things", Access::customer, {}, [&](const Request& request, Transaction&) {
      return Response{201, std::to_string(++done) + std::string(request.header("authorization")), "text/plain", {}};
    });
    to.act_once(*db, "/deeds", Access::customer, {},
                [&](const Request&) { return Response::text(std::to_string(++done)); });
  });
  const std::map<std::string, std::string, std::less<>> headers = {{"idempotency-key", "k"},
                                                                   {"authorization", "Bearer secret"}};
  EXPECT_EQ(ask("GET", "/openapi.json").body, far.dispatch(request_of("GET", "/openapi.json")).body);
  EXPECT_EQ(ask("POST", "/things", "{}", headers).body, "1") << "a token stays where it was shown";
  const Response again = ask("POST", "/things", "{}", headers);
  EXPECT_EQ(again.body, "1");
  EXPECT_EQ(again.headers.at("idempotency-replayed"), "true");
  EXPECT_EQ(ask("POST", "/things", "[]", headers).status, 422);
  EXPECT_EQ(ask("POST", "/deeds", "{}", headers).body, "2");
  EXPECT_EQ(ask("POST", "/deeds", "{}", headers).body, "2");
}

TEST_F(ForwardingTest, TheTraceGoesOnThere) {
  std::string there;
  install([&](Router& to) {
    to.get("/x", Access::customer, {}, [&](const Request& request) {
      there = request.traceparent;
      return Response::text("");
    });
  });
  const std::string trace = "0af7651916cd43dd8448eb211c80319c";
  const Response response = ask("GET", "/x", "", {{"traceparent", "00-" + trace + "-b7ad6b7169203331-01"}});
  EXPECT_EQ(there.substr(3, 32), trace);
  EXPECT_EQ(response.headers.at("traceparent").substr(3, 32), trace);
  EXPECT_NE(there, response.headers.at("traceparent"));
}

TEST_F(ForwardingTest, WhatIsNoTextIsRefusedHere) {
  install([](Router& to) {
    to.act("/x", Access::customer, {}, [](const Request&) { return Response::text("in"); });
    to.get("/y", Access::customer, {}, [](const Request& request) { return Response::text("in" + request.body); });
  });
  EXPECT_EQ(ask("POST", "/x", "{}", {{"idempotency-key", "\xff"}}).status, 400);
  EXPECT_EQ(ask("POST", "/x", std::string("\0", 1)).status, 400);
  EXPECT_EQ(ask("GET", "/y", "\xff").body, "in");
}

// As processes of the version before and of a later one write it.
TEST(RemoteCall, ProcessesOfTwoVersionsUnderstandEachOther) {
  const std::string before = R"({"method":"PUT","path":"/x","query":{},"headers":{},"body":"{}","role":"admin",)"
                             R"("subject":"kim","traceparent":""})";
  const std::string later = R"({"version":2,"least":1,"tenant":{"id":7},)" + before.substr(1);
  for (const std::string& text : {before, later}) {
    const Request request = read_call(text);
    EXPECT_EQ(request.method, "PUT");
    EXPECT_EQ(request.caller.subject, "kim");
  }
  EXPECT_EQ(read_answer(R"({"status":204,"contentType":"","body":""})").status, 204);
  EXPECT_EQ(write_call(read_call(before), "").find("version"), std::string::npos) << "the first ones read strictly";
  EXPECT_EQ(read_answer(R"({"version":9,"status":200,"contentType":"","headers":{},"body":"b","cost":1})").body, "b");
}

TEST(RemoteCall, WhatNeedsANewerReaderOrNamesAnUnknownRoleIsRefused) {
  const auto code_of = [](const std::string& members) -> std::string {
    try {
      read_call(R"({"method":"GET","path":"/x","body":"","subject":"kim","traceparent":"",)" + members + "}");
      return "read";
    } catch (const Error& error) {
      return error.code();
    }
  };
  EXPECT_EQ(code_of(R"("role":"admin")"), "read");
  EXPECT_EQ(code_of(R"("role":"admin","version":2,"least":2)"), "VERSION_TOO_NEW");
  EXPECT_NE(code_of(R"("role":"auditor")"), "read");
  EXPECT_NE(code_of(R"("tenant":1)"), "read") << "no role at all";
}

}  // namespace
}  // namespace skald::http
