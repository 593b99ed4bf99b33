// What can be set of the edge, seen from outside: by file, environment and flag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "end_to_end/skald_process.h"
#include "http/raw_client.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using testing::HasSubstr;

constexpr char kSecret[] = "a secret that is long enough for everybody";

class EdgeSettingsTest : public testing::Test {
 protected:
  std::vector<std::string> with(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--data", folder_.path().string(), "--services", "donation"});
    return arguments;
  }
  std::string file(const std::string& text) const {
    const auto path = folder_.path() / "skald.toml";
    std::ofstream(path) << text;
    return path.string();
  }
  // "" where none could be made.
  std::string bearer(const std::string& subject, SkaldServer::Variables variables = {}) const {
    variables["SKALD_AUTH_SECRET"] = kSecret;
    const auto made = run_skald({"token", "--role", "system", "--subject", subject}, variables);
    EXPECT_EQ(made.status, 0) << made.err;
    return "Authorization: Bearer " + made.out.substr(0, made.out.find('\n'));
  }
  static std::string get(const SkaldServer& server, const std::string& path, const std::string& more = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(server.port()) + "\r\n" + more + "\r\n";
  }
  // The status of an answer on a connection that stays open.
  static int ask(http::RawClient& client, const std::string& request) {
    client.send(request);
    const std::string answer = client.read_until("\r\n\r\n");
    return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3));
  }

  TemporaryFolder folder_;
};

TEST_F(EdgeSettingsTest, TheLimitOfOpenFilesIsRaised) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{128, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto server = std::make_unique<SkaldServer>(with({"--http-peer-share", "1"}));
  const rlimit enough{std::min<rlim_t>(before.rlim_max, 4096), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &enough), 0);
  std::vector<std::unique_ptr<http::RawClient>> clients;
  for (int i = 0; i < 300; ++i) {
    clients.push_back(std::make_unique<http::RawClient>(server->port()));
    ASSERT_EQ(ask(*clients.back(), get(*server, "/healthz")), 200) << i;
  }
  clients.clear();
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(EdgeSettingsTest, ConnectionsAreBoundedInAllAndForOneAddress) {
  SkaldServer server(with({"--http-connections-max", "4"}), {{"SKALD_HTTP_PEER_SHARE", "0.25"}});
  http::RawClient first(server.port());
  EXPECT_EQ(ask(first, get(server, "/healthz")), 200);
  EXPECT_THAT(http::RawClient(server.port()).read_to_end(), HasSubstr(" 503 "));
  http::RawClient elsewhere(server.port(), 20, "127.0.0.2");
  EXPECT_EQ(ask(elsewhere, get(server, "/healthz")), 200);
}

TEST_F(EdgeSettingsTest, StreamsAreBoundedInAllAndForOneCaller) {
  SkaldServer server(with({"--config", file("[http]\nstreams_max = 2\nstreams_per_subject = 1\n")}),
                     {{"SKALD_AUTH_SECRET", kSecret}});
  const auto open = [&](http::RawClient& client, const std::string& subject) {
    return ask(client, get(server, "/api/stream", bearer(subject) + "\r\n"));
  };
  http::RawClient a(server.port()), b(server.port()), c(server.port()), d(server.port());
  EXPECT_EQ(open(a, "kim"), 200);
  EXPECT_EQ(open(b, "kim"), 429);
  EXPECT_EQ(open(c, "lee"), 200);
  EXPECT_EQ(open(d, "max"), 503);
}

TEST_F(EdgeSettingsTest, RatesAreLimitedForOneCallerAndForOneAddress) {
  SkaldServer server(with({"--http-rate-per-address", "30"}),
                     {{"SKALD_AUTH_SECRET", kSecret}, {"SKALD_HTTP_RATE_PER_SUBJECT", "2"}});
  const std::string kim = bearer("kim") + "\r\n";
  http::RawClient client(server.port());
  const auto burst = [](http::RawClient& from, const std::string& request, int count) {
    std::string all, answers;
    for (int i = 0; i < count; ++i) all += request;
    from.send(all);
    for (int i = 0; i < count; ++i) answers += from.read_response();
    return answers;
  };
  EXPECT_THAT(burst(client, get(server, "/api/workers", kim), 20), HasSubstr("RATE_LIMITED")) << "two a second";
  http::RawClient guesser(server.port(), 20, "127.0.0.9");
  const std::string answers = burst(guesser, get(server, "/api/workers"), 400);
  EXPECT_THAT(answers, HasSubstr("MISSING_TOKEN"));
  EXPECT_THAT(answers, HasSubstr("429 Too Many Requests"));
  EXPECT_THAT(answers, HasSubstr("retry-after: 1"));
  const std::string metrics = server.request("GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("skald_http_rate_limited_total"));
  EXPECT_THAT(metrics, HasSubstr("skald_http_unauthorized_total"));
  EXPECT_EQ(server.stop(), 0);
  EXPECT_THAT(server.log(), HasSubstr("\"peer\":\"127.0.0.9\""));
}

TEST_F(EdgeSettingsTest, MetricsWantATokenWhereThatIsSet) {
  SkaldServer server(with({"--http-metrics-token"}), {{"SKALD_AUTH_SECRET", kSecret}});
  EXPECT_EQ(server.request("GET", "/metrics").status, 401);
  EXPECT_EQ(server.request("GET", "/metrics", "", {bearer("prometheus")}).status, 200);
  EXPECT_EQ(server.request("GET", "/healthz").status, 200);
}

TEST_F(EdgeSettingsTest, TokensMustBeForThisServerAndOfItsIssuer) {
  const SkaldServer::Variables names = {{"SKALD_AUTH_AUDIENCE", "shop"}, {"SKALD_AUTH_ISSUER", "ops"}};
  SkaldServer server(with({"--auth-audience", "shop", "--auth-issuer", "ops"}), {{"SKALD_AUTH_SECRET", kSecret}});
  EXPECT_EQ(server.request("GET", "/api/workers", "", {bearer("kim", names)}).status, 200);
  EXPECT_EQ(server.request("GET", "/api/workers", "", {bearer("kim")}).status, 401);
  EXPECT_EQ(server.request("GET", "/api/workers", "", {bearer("kim", {{"SKALD_AUTH_AUDIENCE", "shop"}})}).status, 401);
  EXPECT_EQ(server.request("GET", "/api/workers", "", {bearer("kim", {{"SKALD_AUTH_ISSUER", "ops"}})}).status, 401);
}

}  // namespace
}  // namespace skald::test
