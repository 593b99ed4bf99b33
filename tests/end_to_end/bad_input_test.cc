// What strangers send: a clear 4xx, and the server stays alive.
#include <gmock/gmock.h>

#include "end_to_end/skald_process.h"
#include "http/raw_client.h"
#include "skald/controls.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

class BadInputTest : public testing::Test {
 protected:
  void expect_refused(const HttpAnswer& answer, const std::string& what) {
    EXPECT_GE(answer.status, 400) << what;
    EXPECT_LT(answer.status, 500) << what << ": " << answer.body;
    EXPECT_TRUE(answer.is_problem()) << what << ": " << answer.head << answer.body;
  }
  void TearDown() override { EXPECT_EQ(server_.request("GET", "/readyz").status, 200) << "the server must live on"; }

  TemporaryFolder folder_;
  SkaldServer server_{{"--data", folder_.path().string()}};
};

TEST_F(BadInputTest, BodiesThatAreNoDonation) {
  const std::string bodies[] = {"{",
                                "[]",
                                "null",
                                "\"x\"",
                                "{}",
                                "{\"requestId\":1}",
                                std::string("\0", 1),
                                "\xff\xfe",
                                "{\"a\":" + std::string(200, '['),
                                R"({"requestId":"a","donor":"kim","amount":"500","currency":"EUR","message":"x"})",
                                R"({"requestId":"a","donor":"kim","amount":1e400,"currency":"EUR","message":"x"})",
                                R"({"requestId":"a","donor":"kim","amount":-5,"currency":"EUR","message":"x"})",
                                R"({"requestId":"a","donor":"kim","amount":5,"currency":"EUR","message":7})",
                                R"({"requestId":"a","donor":"kim","amount":5,"currency":"EUR","message":"x","more":1})",
                                R"({"requestId":"","donor":"","amount":5,"currency":"","message":""})"};
  for (const std::string& body : bodies) expect_refused(server_.request("POST", "/donation/donations", body), body);
}

TEST_F(BadInputTest, SqlInEveryFieldIsTextOrRefusedAndNothingElse) {
  const std::string sql = "x'); DROP TABLE donation; --";
  const std::string quoted = to_json(sql);
  for (const std::string field : {"requestId", "donor", "message", "currency"}) {
    std::map<std::string, std::string> values = {
        {"requestId", to_json("r-" + field)}, {"donor", "\"kim\""}, {"currency", "\"EUR\""}, {"message", "\"hi\""}};
    values[field] = quoted;
    std::string body = "{\"amount\":5";
    for (const auto& [name, value] : values) body += ",\"" + name + "\":" + value;
    const HttpAnswer answer = server_.request("POST", "/donation/donations", body + "}");
    EXPECT_TRUE(answer.status == 201 || (answer.status >= 400 && answer.status < 500)) << field << answer.body;
  }
  const std::string encoded = "%27%3B%20DROP%20TABLE%20donation%3B--";
  for (const std::string target : {"/api/outbox?status=", "/api/outbox?cursor=", "/api/outbox?limit=",
                                   "/donation/donations/", "/api/outbox/", "/api/dead-letters/"})
    expect_refused(server_.request("GET", target + encoded), target);
  for (const std::string target : {"/api/outbox?key=", "/api/outbox?type=", "/api/dead-letters?reason="})
    EXPECT_EQ(server_.request("GET", target + encoded).status, 200) << target;
  EXPECT_EQ(server_.request("GET", "/donation/donations").status, 200);
}

// With them one name looks like another, or drives the terminal that shows it.
TEST_F(BadInputTest, NamesWithCharactersThatSteerAreRefused) {
  for (const std::string nasty : {"\x1b[2J", "\u009b2J", "\u202e", "\u2066", "\u200f", "\u2028", "\u2029"}) {
    const std::string name = to_json("kim" + nasty + "lee");
    const auto refused = [&](const std::string& target, const std::string& body) {
      const HttpAnswer answer = server_.request("POST", target, body);
      EXPECT_EQ(answer.status, 422) << target << body << answer.body;
    };
    const std::string gift = R"({"requestId":"r","amount":5,"currency":"EUR",)";
    refused("/donation/donations", gift + R"("message":"x","donor":)" + name + "}");
    refused("/donation/donations", gift + R"("donor":"kim","message":)" + name + "}");
    refused("/order/products", R"({"sku":"a","price":1,"currency":"EUR","stock":1,"name":)" + name + "}");
    refused("/order/orders", R"({"sku":"a","quantity":1,"customer":)" + name + "}");
    refused("/booking/courses", "{\"name\":" + name + "}");
    refused("/booking/bookings", R"({"slotId":"01K9Z3V5W7X9Y1A3C5E7G9J1K3","players":1,"customer":)" + name + "}");
    const auto token =
        run_skald({"token", "--role", "customer", "--subject", "kim" + nasty, "--data", folder_.path().string()});
    EXPECT_NE(token.status, 0);
    EXPECT_FALSE(has_controls(token.err, "\n")) << token.err;
  }
  const HttpAnswer lines =
      server_.request("POST", "/donation/donations",
                      R"({"requestId":"r","donor":"kim","amount":5,"currency":"EUR","message":"two\nlines"})");
  EXPECT_EQ(lines.status, 201) << lines.body;
}

// What is typed comes back in the complaint.
TEST_F(BadInputTest, AComplaintOfTheProgramSteersNoTerminal) {
  for (const std::string nasty : {"\x1b[2J", "\u009b2J", "\u202e"})
    for (const char* how : {"--json", "--help"}) {
      const auto complained = run_skald({"outbox", "list", "--status" + nasty, how});
      EXPECT_EQ(complained.status, 2);
      EXPECT_FALSE(has_controls(complained.err, "\n\t")) << complained.err;
    }
}

TEST_F(BadInputTest, TooMuch) {
  expect_refused(server_.request("GET", "/healthz", "", {"X-Big: " + std::string(100'000, 'a')}), "a huge header");
  expect_refused(server_.request("POST", "/donation/donations", std::string(3'000'000, 'x')), "a huge body");
  expect_refused(server_.request("GET", "/" + std::string(9'000, 'a')), "a long target");
  http::RawClient client(server_.port());
  client.send("POST /donation/donations HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server_.port()) +
              "\r\nContent-Length: 1073741824\r\n\r\n");
  EXPECT_THAT(client.read_response(), testing::HasSubstr("413"));
}

TEST_F(BadInputTest, WrongPathsMethodsAndHosts) {
  expect_refused(server_.request("GET", "/nothing"), "no such path");
  expect_refused(server_.request("DELETE", "/donation/donations"), "no such method");
  expect_refused(server_.request("GET", "/donation/donations/%zz"), "a bad escape");
  expect_refused(server_.request("GET", "/api/outbox", "", {"Authorization: Bearer nonsense"}), "a bad token");
  expect_refused(server_.request("POST", "/donation/donations", "{}", {"Origin: http://evil.example"}),
                 "another origin");
  http::RawClient client(server_.port());
  client.send("GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_THAT(client.read_response(), testing::HasSubstr("problem+json"));
  http::RawClient garbage(server_.port());
  garbage.send("\x16\x03\x01 this is not HTTP\r\n\r\n");
  EXPECT_THAT(garbage.read_response(), testing::HasSubstr("400"));
}

}  // namespace
}  // namespace skald::test
