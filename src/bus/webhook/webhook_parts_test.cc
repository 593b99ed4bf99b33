// The webhook's parts that need no network.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "bus/webhook/discord.h"
#include "bus/webhook/retry_after.h"
#include "bus/webhook/signature.h"
#include "bus/webhook/target.h"
#include "skald/error.h"

namespace skald {
namespace {

TEST(WebhookSignature, MatchesThePublishedExample) {
  const std::string key = webhook_key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  EXPECT_EQ(webhook_signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, R"({"test": 2432232314})"),
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, TakesASecretWithoutThePrefixAsItIs) {
  EXPECT_EQ(webhook_key("a secret of ours"), "a secret of ours");
}

TEST(WebhookSignature, RefusesABrokenOrShortSecretWithoutShowingIt) {
  for (const char* secret : {"whsec_", "whsec_not base64!", "whsec_A", "not base64!", "whsec_bm90IGJhc2U2NCE="}) {
    try {
      webhook_key(secret);
      ADD_FAILURE() << secret;
    } catch (const Invalid& error) {
      EXPECT_EQ(error.code(), "WEBHOOK_SECRET");
      EXPECT_EQ(std::string(error.what()).find("not base64!"), std::string::npos);
    }
  }
}

TEST(RetryAfter, ReadsSecondsAndDatesAndBoundsThem) {
  const Time now = parse_time("2026-11-15T20:00:00.9Z");
  EXPECT_EQ(parse_retry_after("120", now), Duration(120s));
  EXPECT_EQ(parse_retry_after("0", now), Duration(0s));
  EXPECT_EQ(parse_retry_after("86400", now), Duration(24h));
  EXPECT_EQ(parse_retry_after("86401", now), Duration(24h));
  EXPECT_EQ(parse_retry_after("99999999999999999999999", now), Duration(24h));
  EXPECT_EQ(parse_retry_after("Sun, 15 Nov 2026 20:01:30 GMT", now), Duration(90s));
  EXPECT_EQ(parse_retry_after("Sunday, 15-Nov-26 20:01:30 GMT", now), Duration(90s));
  EXPECT_EQ(parse_retry_after("Sun, 15 Nov 2026 19:00:00 GMT", now), Duration(0s));
  EXPECT_EQ(parse_retry_after("Sun, 15 Nov 2099 20:00:00 GMT", now), Duration(24h));
}

TEST(RetryAfter, IgnoresWhatIsNeither) {
  const Time now = parse_time("2026-11-15T20:00:00Z");
  for (const char* value : {"", "soon", "-5", "1e9", "\x01\x02"})
    EXPECT_EQ(parse_retry_after(value, now), std::nullopt) << value;
}

TEST(WebhookTarget, TakesHttpAndHttps) {
  EXPECT_EQ(read_webhook_target("https://hooks.example.org:8443/a/b?c=d").host, "hooks.example.org");
  EXPECT_EQ(read_webhook_target("http://10.0.0.1/").host, "10.0.0.1");
}

TEST(WebhookTarget, RefusesOtherSchemesCredentialsAndNonsenseWithoutShowingThem) {
  for (const std::string& url :
       {std::string("file:///etc/passwd"), std::string("ftp://example.org/tokentoken"), std::string("gopher://x/"),
        std::string("https://user:tokentoken@example.org/"), std::string("https://user@example.org/"), std::string(""),
        std::string("example.org/hook"), std::string("https://"), std::string("https://exa mple.org/"),
        std::string("https://example.org/a\r\nX-Injected: 1"), "https://example.org/" + std::string(2048, 'a'),
        std::string("https://example.org/\0x", 22)}) {
    try {
      read_webhook_target(url);
      ADD_FAILURE() << url;
    } catch (const Invalid& error) {
      EXPECT_EQ(error.code(), "WEBHOOK_URL");
      EXPECT_EQ(std::string(error.what()).find("tokentoken"), std::string::npos);
    }
  }
}

TEST(WebhookTarget, KnowsATokenOfItsUrlWhenItSeesOne) {
  const auto target = read_webhook_target("https://discord.com/api/webhooks/123456789012/aToken_of-68?key=abcdefgh");
  EXPECT_TRUE(target.betrayed_by("Cannot POST /api/webhooks/123456789012/aToken_of-68"));
  EXPECT_TRUE(target.betrayed_by("unknown key abcdefgh"));
  EXPECT_FALSE(target.betrayed_by("the api takes no hooks now"));
}

TEST(Discord, PingsNobody) {
  const auto body = boost::json::parse(discord_body("@everyone hello"));
  EXPECT_EQ(body.at("content").as_string(), "@everyone hello");
  EXPECT_TRUE(body.at("allowed_mentions").at("parse").as_array().empty());
}

TEST(Discord, CutsAt2000CharactersNeverInsideOfOne) {
  const auto content = [](const std::string& text) {
    return std::string(boost::json::parse(discord_body(text)).at("content").as_string());
  };
  EXPECT_EQ(content(std::string(2000, 'a')).size(), 2000u);
  EXPECT_EQ(content(std::string(5000, 'a')).size(), 2000u);
  std::string umlauts, faces;
  for (int i = 0; i < 3000; ++i) umlauts += "\xc3\xa4", faces += "\xf0\x9f\x98\x80";
  EXPECT_EQ(content(umlauts).size(), 4000u);
  EXPECT_EQ(content("a" + faces).size(), 1u + 999 * 4);
  EXPECT_EQ(content("\xff\xfe bad"), "?? bad");
}

TEST(Discord, ShowsAStrangersTextAsWrittenOnOneLine) {
  EXPECT_EQ(escape_markdown("**bold** _it_ `code` ||spoiler|| ~~gone~~"),
            R"(\*\*bold\*\* \_it\_ \`code\` \|\|spoiler\|\| \~\~gone\~\~)");
  EXPECT_EQ(escape_markdown("[x](https://evil.example)<@123> @everyone"),
            R"(\[x\]\(https\://evil\.example\)\<\@123\> \@everyone)");
  EXPECT_EQ(escape_markdown("hi\n# Kim gave 1000\r\n> x"), R"(hi \# Kim gave 1000  \> x)");
  EXPECT_EQ(escape_markdown("plain text, \xc3\xa4"), "plain text, \xc3\xa4");
  EXPECT_EQ(escape_markdown("a\\*b"), R"(a\\\*b)");
}

}  // namespace
}  // namespace skald
