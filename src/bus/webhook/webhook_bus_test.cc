#include "bus/webhook/webhook_bus.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <optional>

#include "bus/webhook/discord.h"
#include "bus/webhook/signature.h"
#include "conformance/bus_conformance.h"
#include "skald/error.h"
#include "support/http_receiver.h"

namespace skald::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Manner = HttpReceiver::Manner;

constexpr char kSecret[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

struct FixedClock final : Clock {
  Time now() const override { return time; }
  Instant steady() const override { return Instant(time.time_since_epoch()); }
  Time time = parse_time("2026-11-15T20:00:00.7Z");
};

struct NoRandom final : Random {
  std::uint64_t next() override { return 4; }
};

// A receiver and a bus to it.
struct Exchange {
  FixedClock clock;
  NoRandom random;
  Env env{clock, random, silent_observer()};
  HttpReceiver receiver;
  std::unique_ptr<WebhookBus> bus;

  WebhookOptions options(const std::string& path = "/hook") {
    WebhookOptions result;
    result.url = receiver.url(path);
    result.secret = kSecret;
    result.allow_private = true;
    return result;
  }
  void open(WebhookOptions chosen) { bus = std::make_unique<WebhookBus>(env, std::move(chosen)); }
};

class WebhookHarness {
 public:
  WebhookHarness() { exchange_.open(exchange_.options()); }
  Bus& bus() { return *exchange_.bus; }
  void fail_next(int count) {
    while (count-- > 0) exchange_.receiver.next({.status = 503});
  }
  void refuse_next(int count) {
    while (count-- > 0) exchange_.receiver.next({.status = 400});
  }
  std::vector<BusArrival> arrivals() {
    std::vector<BusArrival> out;
    for (auto& request : exchange_.receiver.requests()) {
      const std::size_t data = request.body.find("\"data\":") + 7;
      out.push_back(
          {request.headers.at("webhook-id"), request.body.substr(data, request.body.size() - data - 1), request.body});
    }
    return out;
  }
  void drop_bus() { exchange_.bus.reset(); }

 private:
  Exchange exchange_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Webhook, BusConformance, WebhookHarness);

class WebhookBusTest : public ::testing::Test, protected Exchange {
 protected:
  Outcome send(Message message = make_message("event-1")) {
    if (!bus) open(options());
    std::optional<Outcome> result;
    bus->send(std::move(message), [&](Outcome outcome) { result = std::move(outcome); });
    while (!result) bus->poll(1s);
    return *result;
  }
  Outcome send_to(const std::string& url) {
    WebhookOptions chosen = options();
    chosen.url = url;
    open(std::move(chosen));
    return send();
  }
};

TEST_F(WebhookBusTest, PostsASignedCloudEvent) {
  const Message message = make_message("event-1");
  EXPECT_EQ(send(message).verdict, Verdict::delivered);
  const auto requests = receiver.requests();
  ASSERT_EQ(requests.size(), 1u);
  const auto& request = requests[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/hook");
  EXPECT_EQ(request.body, cloud_event(message));
  EXPECT_EQ(request.headers.at("content-type"), "application/cloudevents+json");
  EXPECT_THAT(request.headers.at("user-agent"), ::testing::MatchesRegex("skald/[0-9.]+"));
  EXPECT_EQ(request.headers.at("webhook-id"), "event-1");
  EXPECT_EQ(request.headers.at("webhook-timestamp"), "1794772800");
  EXPECT_EQ(request.headers.at("webhook-signature"),
            webhook_signature(webhook_key(kSecret), "event-1", 1794772800, request.body));
}

TEST_F(WebhookBusTest, DiscordGetsTheTemplatesTextUnsigned) {
  WebhookOptions chosen = options();
  chosen.secret.clear();
  chosen.format = WebhookOptions::Format::discord;
  chosen.discord_text = [](const Message& message) { return "**New**: " + escape_markdown(message.event.key); };
  open(chosen);
  EXPECT_EQ(send().verdict, Verdict::delivered);
  const auto request = receiver.requests().at(0);
  EXPECT_EQ(boost::json::parse(request.body).at("content").as_string(), "**New**: donor\\-1");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_FALSE(request.headers.contains("webhook-signature"));
}

TEST_F(WebhookBusTest, WhatTheTemplateThrowsIsTheOutcome) {
  WebhookOptions chosen = options();
  chosen.format = WebhookOptions::Format::discord;
  chosen.discord_text = [](const Message&) -> std::string { throw Invalid("BAD", "no donor in the payload"); };
  open(chosen);
  const Outcome outcome = send();
  EXPECT_EQ(outcome.verdict, Verdict::refused);
  EXPECT_EQ(outcome.error, "no donor in the payload");
}

TEST_F(WebhookBusTest, TheStatusDecides) {
  const auto verdict = [&](int status) {
    receiver.next({.status = status});
    return send().verdict;
  };
  for (int status : {200, 201, 202, 204, 299}) EXPECT_EQ(verdict(status), Verdict::delivered) << status;
  for (int status : {408, 425, 429, 500, 501, 502, 503, 504, 599}) EXPECT_EQ(verdict(status), Verdict::retry) << status;
  for (int status : {300, 302, 304, 400, 401, 403, 404, 409, 410, 413, 422, 451})
    EXPECT_EQ(verdict(status), Verdict::refused) << status;
}

TEST_F(WebhookBusTest, RetryAfterIsHonoured) {
  receiver.next({.status = 429, .headers = {"Retry-After: 17"}});
  EXPECT_EQ(send().retry_after, Duration(17s));
  receiver.next({.status = 503, .headers = {"retry-after: Sun, 15 Nov 2026 20:02:00 GMT"}});
  EXPECT_EQ(send().retry_after, Duration(2min));
  receiver.next({.status = 503, .headers = {"Retry-After: 31536000"}});
  EXPECT_EQ(send().retry_after, Duration(24h));
  receiver.next({.status = 503});
  EXPECT_EQ(send().retry_after, std::nullopt);
}

TEST_F(WebhookBusTest, ARedirectIsRefusedAndNotFollowed) {
  receiver.next({.status = 307, .headers = {"Location: " + receiver.url("/elsewhere")}});
  const Outcome outcome = send();
  EXPECT_EQ(outcome.verdict, Verdict::refused);
  EXPECT_THAT(outcome.error, HasSubstr("redirects are not followed"));
  EXPECT_EQ(receiver.requests().size(), 1u);
}

TEST_F(WebhookBusTest, AReceiverThatClosesOrTalksNonsenseMeansRetry) {
  for (Manner manner : {Manner::close, Manner::close_mid_answer, Manner::garbage}) {
    receiver.next({.body = "half of this", .manner = manner});
    const Outcome outcome = send();
    EXPECT_EQ(outcome.verdict, Verdict::retry) << static_cast<int>(manner);
    EXPECT_FALSE(outcome.error.empty());
  }
  EXPECT_EQ(send().verdict, Verdict::delivered);
}

TEST_F(WebhookBusTest, AReceiverThatHangsMeansRetryAfterTheTimeout) {
  WebhookOptions chosen = options();
  chosen.timeout = 30ms;
  open(chosen);
  receiver.next({.manner = Manner::hang});
  EXPECT_EQ(send().verdict, Verdict::retry);
}

TEST_F(WebhookBusTest, AReceiverThatIsNotThereMeansRetry) {
  int port = 0;
  { port = HttpReceiver().port(); }
  EXPECT_EQ(send_to("http://127.0.0.1:" + std::to_string(port) + "/").verdict, Verdict::retry);
}

TEST_F(WebhookBusTest, AFailedTlsHandshakeMeansRetry) {
  const Outcome outcome = send_to("https://127.0.0.1:" + std::to_string(receiver.port()) + "/");
  EXPECT_EQ(outcome.verdict, Verdict::retry);
  EXPECT_TRUE(receiver.requests().empty());
}

TEST_F(WebhookBusTest, ANameThatCannotBeResolvedMeansRetry) {
  EXPECT_EQ(send_to("http://no-such-host.invalid/").verdict, Verdict::retry);
}

TEST_F(WebhookBusTest, ABodyWithoutEndIsReadNoFurtherThanNeeded) {
  receiver.next({.status = 200, .body = std::string(1000, 'x'), .manner = Manner::endless});
  EXPECT_EQ(send().verdict, Verdict::delivered);
  receiver.next({.status = 400, .body = std::string(1000, 'x'), .manner = Manner::endless});
  const Outcome outcome = send();
  EXPECT_EQ(outcome.verdict, Verdict::refused);
  EXPECT_LT(outcome.error.size(), 300u);
}

TEST_F(WebhookBusTest, EndlessHeadersMeanRetry) {
  receiver.next({.headers = std::vector<std::string>(3000, "X-Filler: " + std::string(100, 'x'))});
  const Outcome outcome = send();
  EXPECT_EQ(outcome.verdict, Verdict::retry);
  EXPECT_THAT(outcome.error, HasSubstr("headers are too long"));
}

TEST_F(WebhookBusTest, TheErrorShowsTheAnswerButNeverATokenOfTheUrlOrTheSecret) {
  open(options("/hooks/tokentoken?key=queryquery"));
  receiver.next({.status = 400, .body = "amount is missing"});
  EXPECT_EQ(send().error, "127.0.0.1 answered 400: amount is missing");
  for (const char* echo : {"Cannot POST /hooks/tokentoken", "bad key queryquery", kSecret}) {
    receiver.next({.status = 400, .body = echo});
    EXPECT_EQ(send().error, "127.0.0.1 answered 400");
  }
}

TEST_F(WebhookBusTest, PrivateAddressesAreRefusedBeforeAConnectionIsMade) {
  const std::string port = ":" + std::to_string(receiver.port());
  for (const std::string host : {"127.0.0.1", "localhost", "2130706433", "0x7f.1", "0.0.0.0", "[::1]",
                                 "[::ffff:127.0.0.1]", "169.254.169.254", "10.0.0.1"}) {
    WebhookOptions chosen = options();
    chosen.allow_private = false;
    chosen.url = "http://" + host + port + "/";
    open(chosen);
    const Outcome outcome = send();
    EXPECT_EQ(outcome.verdict, Verdict::refused) << host;
    EXPECT_THAT(outcome.error, HasSubstr("private address")) << host;
  }
  EXPECT_EQ(receiver.connections(), 0);
}

TEST_F(WebhookBusTest, ProxiesOfTheEnvironmentAreNotUsed) {
  setenv("http_proxy", receiver.url("").c_str(), 1);
  setenv("all_proxy", receiver.url("").c_str(), 1);
  const Outcome outcome = send_to("http://no-such-host.invalid/");
  unsetenv("http_proxy");
  unsetenv("all_proxy");
  EXPECT_EQ(outcome.verdict, Verdict::retry);
  EXPECT_EQ(receiver.connections(), 0);
}

TEST_F(WebhookBusTest, AnIdThatWouldBreakTheHeaderIsRefused) {
  for (const std::string& id :
       {std::string("a\r\nX-Injected: 1"), std::string(), std::string(257, 'a'), std::string("\xc3\xa4")}) {
    EXPECT_EQ(send(make_message(id)).verdict, Verdict::refused);
  }
  EXPECT_EQ(receiver.connections(), 0);
}

TEST_F(WebhookBusTest, ConnectionsAreUsedAgain) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(send(make_message(std::to_string(i))).verdict, Verdict::delivered);
  EXPECT_EQ(receiver.connections(), 1);
}

TEST_F(WebhookBusTest, NoMoreExchangesAtOnceThanAllowed) {
  WebhookOptions chosen = options();
  chosen.in_flight_max = 3;
  open(chosen);
  const auto gate = std::make_shared<Gate>();
  receiver.always({.gate = gate});
  int delivered = 0;
  for (int i = 0; i < 10; ++i)
    bus->send(make_message(std::to_string(i)),
              [&](Outcome outcome) { delivered += outcome.verdict == Verdict::delivered; });
  while (receiver.requests().size() < 3) bus->poll(10ms);
  for (int i = 0; i < 20; ++i) bus->poll(1ms);
  EXPECT_EQ(receiver.requests().size(), 3u);
  EXPECT_EQ(bus->in_flight(), 10u);
  gate->open();
  while (bus->in_flight() > 0) bus->poll(1s);
  EXPECT_EQ(delivered, 10);
  EXPECT_LE(receiver.connections(), 3);
}

TEST_F(WebhookBusTest, OneSlowAnswerDoesNotHoldUpTheOthers) {
  open(options());
  const auto gate = std::make_shared<Gate>();
  receiver.next({.gate = gate});
  bool slow = false;
  bus->send(make_message("slow"), [&](Outcome) { slow = true; });
  while (receiver.requests().empty()) bus->poll(10ms);
  EXPECT_EQ(send(make_message("fast")).verdict, Verdict::delivered);
  EXPECT_FALSE(slow);
  gate->open();
  while (!slow) bus->poll(1s);
}

TEST_F(WebhookBusTest, OptionsThatCannotWorkAreRefused) {
  const auto code = [&](auto change) -> std::string {
    WebhookOptions chosen = options();
    change(chosen);
    try {
      open(chosen);
    } catch (const Invalid& error) {
      return error.code();
    }
    return "accepted";
  };
  EXPECT_EQ(code([](auto& o) { o.url = "ftp://example.org/"; }), "WEBHOOK_URL");
  EXPECT_EQ(code([](auto& o) { o.secret = ""; }), "WEBHOOK_SECRET");
  EXPECT_EQ(code([](auto& o) { o.secret = "whsec_?"; }), "WEBHOOK_SECRET");
  EXPECT_EQ(code([](auto& o) { o.format = WebhookOptions::Format::discord; }), "WEBHOOK_FORMAT");
  EXPECT_EQ(code([](auto& o) { o.timeout = 0s; }), "WEBHOOK_LIMIT");
  EXPECT_EQ(code([](auto& o) { o.in_flight_max = 0; }), "WEBHOOK_LIMIT");
}

}  // namespace
}  // namespace skald::test
