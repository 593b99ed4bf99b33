#include "skald/json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace skald {
namespace {

enum class Colour { red, dark_blue };
BOOST_DESCRIBE_ENUM(Colour, red, dark_blue)

struct Inner {
  std::string some_name;
  bool operator==(const Inner&) const = default;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (some_name))

struct Outer {
  std::int64_t amount = 0;
  std::optional<std::string> note;
  std::vector<Inner> parts;
  Colour colour = Colour::red;
  bool operator==(const Outer&) const = default;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (amount, note, parts, colour))

std::string error_of(std::string_view text) {
  try {
    from_json<Outer>(text);
  } catch (const Invalid& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Json, WritesMembersInCamelCaseAndLeavesAbsentOptionalsOut) {
  const Outer value{5, std::nullopt, {{"a\"\n"}}, Colour::dark_blue};
  EXPECT_EQ(to_json(value), R"({"amount":5,"parts":[{"someName":"a\"\n"}],"colour":"dark_blue"})");
}

TEST(Json, ErrorsNameThePlace) {
  EXPECT_NE(error_of(R"({"amount":1,"parts":[{"someName":7}],"colour":"red"})").find("/parts/0/someName"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"amount":1.5,"parts":[],"colour":"red"})").find("/amount"), std::string::npos);
  EXPECT_NE(error_of(R"({"amount":99999999999999999999,"parts":[],"colour":"red"})").find("/amount"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"parts":[],"colour":"red"})").find("required"), std::string::npos);
  EXPECT_NE(error_of(R"({"amount":1,"parts":[],"colour":"red","more":1})").find("/more"), std::string::npos);
  EXPECT_NE(error_of(R"({"amount":1,"parts":[],"colour":"pink"})").find("/colour"), std::string::npos);
}

TEST(Json, TellsMalformedTextFromBadValues) {
  EXPECT_THROW(from_json<Outer>("{"), Malformed);
  EXPECT_THROW(from_json<Outer>("\xff"), Malformed);
  EXPECT_THROW(from_json<Outer>(std::string(100, '[')), Malformed);
  EXPECT_THROW(from_json<Outer>("[]"), Invalid);
}

TEST(Json, AMemberThatIsThereTwiceIsMalformed) {
  for (const char* text : {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})", R"([{"x":{"a":1,"a":2}}])",
                           R"({"a":1,"\u0061":2})", R"({"":1,"":2})", R"({"a":{"b":1},"a":{}})"})
    EXPECT_THROW(json::parse(text), Malformed) << text;
  std::string many = "{\"first\":0";
  for (int i = 0; i < 100; ++i) many += ",\"m" + std::to_string(i) + "\":" + std::to_string(i);
  EXPECT_NO_THROW(json::parse(many + "}"));
  EXPECT_THROW(json::parse(many + ",\"first\":1}"), Malformed);
  for (const char* text : {R"({"a":{"a":{"a":1}}})", R"([{"a":1},{"a":1}])", R"({"a":1,"A":2,"ab":3})"})
    EXPECT_NO_THROW(json::parse(text)) << text;
}

TEST(Json, MoreValuesThanAreWantedAreRefused) {
  EXPECT_NO_THROW(json::parse("[1,2,3]", 4));
  for (const char* text : {"[1,2,3,4]", "[{},{},{},{}]", R"({"a":[[]],"b":"","c":null})", R"(["",true,1.5,-1])"})
    EXPECT_THROW(json::parse(text, 4), Invalid) << text;
}

TEST(Json, ANameWithANulInsideIsNoName) {
  for (const char* name : {R"("red\u0000")", R"("red\u0000x")", R"("\u0000red")"})
    EXPECT_THROW(from_json<Colour>(name), Invalid) << name;
  EXPECT_EQ(from_json<Colour>("\"red\""), Colour::red);
}

TEST(Json, APlaceIsNotCutInsideOfACharacter) {
  const std::string name = "a" + [] {
    std::string out;
    for (int i = 0; i < 40; ++i) out += "\xc3\xa4";
    return out;
  }();
  EXPECT_EQ(json::child("", name).size(), 64u);
  EXPECT_EQ(json::child("", name).back(), '\xa4');
}

TEST(Json, RefusesNulBecausePostgreSqlCannotStoreIt) {
  EXPECT_THROW(from_json<Inner>("{\"someName\":\"a\\u0000b\"}"), Invalid);
}

RC_GTEST_PROP(Json, RoundTripsAnyText, (const std::vector<std::uint8_t>& bytes)) {
  std::string text;
  for (auto b : bytes) text += static_cast<char>(b % 127 + 1);
  const Inner value{text};
  RC_ASSERT(from_json<Inner>(to_json(value)) == value);
}

}  // namespace
}  // namespace skald
