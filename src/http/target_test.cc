#include "http/target.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "skald/error.h"

namespace skald::http {
namespace {

TEST(Target, SegmentsAndQueryAreDecoded) {
  const Target target = parse_target("/a%20b/c%2Fd?x=1+2&y=%C3%A9&flag");
  EXPECT_EQ(target.segments, (std::vector<std::string>{"a b", "c/d"}));
  EXPECT_EQ(target.path, "/a%20b/c%2Fd");
  EXPECT_EQ(target.query.at("x"), "1 2");
  EXPECT_EQ(target.query.at("y"), "\xc3\xa9");
  EXPECT_EQ(target.query.at("flag"), "");
}

TEST(Target, ThePathIsCanonicalHoweverItWasEncoded) {
  EXPECT_EQ(parse_target("/donat%69ons").path, "/donations");
  EXPECT_EQ(parse_target("/a%2fb").path, "/a%2Fb");
}

TEST(Target, TheRootHasNoSegments) {
  EXPECT_TRUE(parse_target("/").segments.empty());
  EXPECT_EQ(parse_target("/").path, "/");
}

TEST(Target, WhatIsNotStrictlyEncodedIsRefused) {
  for (const char* bad : {"", "a", "*", "http://x/", "/%", "/%4", "/%zz", "/%00", "/?a=%00", "/%ff", "/\xc3\xa9",
                          "/a b", "/#x", "/?a=1&a=2", "/\x7f"})
    EXPECT_THROW(parse_target(bad), Malformed) << bad;
}

TEST(Target, LengthSegmentsAndFieldsAreBounded) {
  EXPECT_THROW(parse_target("/" + std::string(kTargetBytesMax, 'a')), Malformed);
  std::string deep, wide = "/?";
  for (int i = 0; i < 33; ++i) deep += "/a";
  for (int i = 0; i < 65; ++i) wide += "f" + std::to_string(i) + "&";
  EXPECT_THROW(parse_target(deep), Malformed);
  EXPECT_THROW(parse_target(wide), Malformed);
}

RC_GTEST_PROP(Target, EverySegmentSurvivesEncodingAndDecoding, ()) {
  const auto text = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
  RC_PRE(text.size() < 1000);
  const Target target = parse_target("/" + encode_segment(text));
  RC_ASSERT(target.segments == std::vector<std::string>{text});
}

RC_GTEST_PROP(Target, ArbitraryBytesAreTakenOrRefusedAsMalformed, (const std::string& bytes)) {
  try {
    parse_target("/" + bytes);
  } catch (const Malformed&) {}
}

}  // namespace
}  // namespace skald::http
