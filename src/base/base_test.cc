#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "skald/error.h"
#include "skald/event.h"
#include "skald/time.h"

namespace skald {
namespace {

TEST(Time, FormatsAndParsesRfc3339) {
  EXPECT_EQ(format_time(from_micros(0)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_time(from_micros(1'700'000'000'123'456)), "2023-11-14T22:13:20.123456Z");
  EXPECT_EQ(to_micros(parse_time("2023-11-14T23:13:20.5+01:00")), 1'700'000'000'500'000);
}

TEST(Time, RefusesWhatIsNoTime) {
  for (const char* bad :
       {"", "2023", "2023-13-01T00:00:00Z", "2023-02-30T00:00:00Z", "2023-01-01T24:00:00Z", "2023-01-01T00:00:00",
        "2023-01-01T00:00:00Zx", "2023-01-01T00:00:00.Z", "2023-01-01T00:00:00+25:00"})
    EXPECT_THROW(parse_time(bad), Invalid) << bad;
}

TEST(Time, RefusesWhatLiesBeyondTheYear9999InUtc) {
  for (const char* bad :
       {"9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z", "9999-12-31T12:00:00-23:59", "0000-01-01T00:00:00+00:01"})
    EXPECT_THROW(parse_time(bad), Invalid) << bad;
  EXPECT_EQ(format_time(parse_time("9999-12-31T23:59:59.999999Z")), "9999-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_time(parse_time("9999-12-31T23:59:59+01:00")), "9999-12-31T22:59:59Z");
  EXPECT_EQ(format_time(parse_time("0000-01-01T00:00:00Z")), "0000-01-01T00:00:00Z");
}

TEST(Time, ARefusalIsTextAlsoWhereWhatItShowsIsCut) {
  try {
    parse_time(
        "a\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3"
        "\xa4\xc3\xa4"
        "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4");
    FAIL();
  } catch (const Invalid& error) {
    EXPECT_TRUE(is_utf8(error.what())) << error.what();
  }
}

RC_GTEST_PROP(Time, RoundTrips, (std::int64_t micros)) {
  const auto time = from_micros(micros % 4'000'000'000'000'000 / 2 + 1'000'000'000'000'000);
  RC_ASSERT(parse_time(format_time(time)) == time);
}

TEST(Hash, MatchesKnownVectors) {
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Hash, FieldsCannotRunIntoEachOther) {
  EXPECT_NE(unambiguous({"ab", "c"}), unambiguous({"a", "bc"}));
  EXPECT_NE(unambiguous({"1:a", "b"}), unambiguous({"1", "ab"}));
}

RC_GTEST_PROP(Base64, RoundTrips, (const std::string& data)) {
  RC_ASSERT(base64_decode(base64(data)) == data);
  RC_ASSERT(base64_decode(base64url(data)) == data);
}

TEST(Base64, RefusesOtherCharacters) {
  EXPECT_THROW(base64_decode("a*=="), Malformed);
  EXPECT_THROW(base64_decode("a"), Malformed);
}

TEST(Partition, NumbersAreStableForEver) {
  // Stored rows carry these: a change here loses the order of keys in old databases.
  EXPECT_EQ(partition_of("kim"), 45);
  EXPECT_EQ(partition_of(""), 18);
  std::set<int> used;
  for (int i = 0; i < 2000; ++i) used.insert(partition_of("key-" + std::to_string(i)));
  EXPECT_EQ(used.size(), static_cast<std::size_t>(kPartitions));
}

TEST(Text, CutsBetweenCharacters) {
  EXPECT_EQ(cut_text("한국", 4), "한");
  EXPECT_EQ(cut_text("한국", 6), "한국");
  EXPECT_EQ(cut_text("a\xff z", 10), "a? z");
}

TEST(Text, KnowsWhatIsNoUtf8) {
  EXPECT_TRUE(is_utf8("한국어 ok \xf0\x9f\x98\x80"));
  for (const char* bad : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    EXPECT_FALSE(is_utf8(bad));
}

}  // namespace
}  // namespace skald
