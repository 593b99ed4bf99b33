#include "outbox/backoff.h"

#include <gtest/gtest.h>

#include "outbox/integrity.h"

namespace skald::outbox {
namespace {

class Fixed final : public Random {
 public:
  explicit Fixed(std::uint64_t value) : value_(value) {}
  std::uint64_t next() override { return value_; }

 private:
  std::uint64_t value_;
};

TEST(Backoff, Is30Then60Then120Seconds) {
  Fixed none(0);
  const OutboxOptions options;
  EXPECT_EQ(backoff(options, 1, std::nullopt, none), 30s);
  EXPECT_EQ(backoff(options, 2, std::nullopt, none), 60s);
  EXPECT_EQ(backoff(options, 3, std::nullopt, none), 120s);
}

TEST(Backoff, JitterAddsAtMostItsShare) {
  Fixed most(~std::uint64_t{0});
  const Duration wait = backoff({}, 1, std::nullopt, most);
  EXPECT_GT(wait, 32s);
  EXPECT_LE(wait, 33s);
}

TEST(Backoff, HonoursAReceiversWishUpToADay) {
  Fixed none(0);
  EXPECT_EQ(backoff({}, 1, 300s, none), 300s);
  EXPECT_EQ(backoff({}, 1, 5s, none), 30s);
  EXPECT_EQ(backoff({}, 1, 1000h, none), 24h);
}

TEST(Integrity, CoversEveryFieldAndCannotBeForgedWithoutTheKey) {
  Entry entry;
  entry.event = {.id = "1", .type = "t", .key = "k", .subject = "s", .payload = "{\"b\":1,\"a\":2}", .traceparent = ""};
  entry.content_hash = content_hash(entry.event, "secret");
  EXPECT_TRUE(verify(entry, "secret"));
  for (auto member : {&Event::type, &Event::subject, &Event::payload}) {
    Entry changed = entry;
    changed.event.*member += " ";
    EXPECT_FALSE(verify(changed, "secret"));
    changed.content_hash = content_hash(changed.event, "");
    EXPECT_FALSE(verify(changed, "secret")) << "a plain hash must not pass where a key is configured";
  }
}

TEST(Integrity, FieldsCannotTradePlaces) {
  EXPECT_NE(content_hash({.id = "", .type = "bc", .key = "k", .subject = "a", .payload = "", .traceparent = ""}, ""),
            content_hash({.id = "", .type = "c", .key = "k", .subject = "ab", .payload = "", .traceparent = ""}, ""));
}

}  // namespace
}  // namespace skald::outbox
