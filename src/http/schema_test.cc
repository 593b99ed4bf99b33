#include "skald/schema.h"

#include <gtest/gtest.h>

#include "skald/http.h"

namespace skald {
namespace {

enum class Colour { red, dark_blue };
BOOST_DESCRIBE_ENUM(Colour, red, dark_blue)

struct Part {
  std::int32_t unit_price = 0;
};
BOOST_DESCRIBE_STRUCT(Part, (), (unit_price))

struct Whole {
  std::string name;
  std::optional<Colour> colour;
  Time made_at;
  std::vector<Part> parts;
  std::map<std::string, double> weights;
  RawJson extra;
  bool ready = false;
};
BOOST_DESCRIBE_STRUCT(Whole, (), (name, colour, made_at, parts, weights, extra, ready))

TEST(Schema, AStructIsDescribedAsTheDecoderReadsIt) {
  EXPECT_EQ(
      json_schema<Whole>(),
      R"({"type":"object","properties":{"name":{"type":"string"},"colour":{"type":"string","enum":["red","dark_blue"]},)"
      R"("madeAt":{"type":"string","format":"date-time"},"parts":{"type":"array","items":{"type":"object","properties":)"
      R"({"unitPrice":{"type":"integer","format":"int32"}},"required":["unitPrice"],)"
      R"("additionalProperties":false}},"weights":{"type":"object","additionalProperties":{"type":"number"}},"extra":{},)"
      R"("ready":{"type":"boolean"}},"required":["name","madeAt","parts","weights","extra","ready"],)"
      R"("additionalProperties":false})");
}

TEST(Schema, AListingIsDescribedAndEncoded) {
  EXPECT_EQ(to_json(Listing<Part>{{{7}}, "abc"}), R"({"items":[{"unitPrice":7}],"nextCursor":"abc"})");
  EXPECT_EQ(to_json(Listing<Part>{}), R"({"items":[]})");
  const Doc doc = describe<void, Listing<Part>>("Parts", 200, {"name"});
  EXPECT_TRUE(doc.paged);
  EXPECT_TRUE(doc.request_schema.empty());
  EXPECT_NE(doc.response_schema.find(R"("required":["items"])"), std::string::npos);
}

struct Order {
  std::int64_t amount = 0;
  std::optional<std::string> note;
  std::vector<Part> parts;
};
BOOST_DESCRIBE_STRUCT(Order, (), (amount, note, parts))

}  // namespace

template <>
struct Limits<Order> {
  static constexpr MemberLimit of[] = {{"amount", 1, 900}, {"note", 0, 20}, {"parts", 1, 3}};
};

namespace {

TEST(Schema, WhatAMemberMayBeBeyondItsTypeIsSaid) {
  const std::string schema = json_schema<Order>();
  EXPECT_NE(schema.find(R"("amount":{"type":"integer","format":"int64","minimum":1,"maximum":900})"), schema.npos);
  EXPECT_NE(schema.find(R"("note":{"type":"string","minLength":0,"maxLength":20})"), schema.npos) << schema;
  EXPECT_NE(schema.find(R"("minItems":1,"maxItems":3})"), schema.npos) << schema;
}

TEST(Schema, BodiesHaveNames) {
  const Doc doc = describe<Order, Listing<OfService<Part>>>("Parts");
  EXPECT_TRUE(doc.request_name.ends_with("::Order")) << doc.request_name;
  EXPECT_TRUE(doc.response_name.ends_with("::Part list")) << doc.response_name;
  EXPECT_EQ((describe<void, RawJson>("x").response_name), "");
}

TEST(Schema, AnAnswerWithoutABodyHasNone) { EXPECT_TRUE((describe<Part, void>("Drop", 204).response_schema.empty())); }

TEST(EnumFilter, IsOneOfItsNamesOrSaysWhichThereAre) {
  Request request;
  EXPECT_EQ(enum_filter<Colour>(request, "colour"), std::nullopt);
  request.query["colour"] = "dark_blue";
  EXPECT_EQ(enum_filter<Colour>(request, "colour"), Colour::dark_blue);
  request.query["colour"] = "green";
  EXPECT_THROW(enum_filter<Colour>(request, "colour"), Invalid);
  try {
    enum_filter<Colour>(request, "colour", "BAD_COLOUR");
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "BAD_COLOUR");
    EXPECT_STREQ(error.what(), "colour must be one of red, dark_blue");
  }
}

TEST(Page, LimitsAreBoundedAndCursorsComeBackAsTheyWent) {
  Request request;
  EXPECT_EQ(Page::of(request).limit, 50u);
  for (const char* bad : {"0", "201", "-1", "x", "", "5x"}) {
    request.query["limit"] = bad;
    EXPECT_THROW(Page::of(request), Invalid) << bad;
  }
  request.query["limit"] = "2";
  request.query["cursor"] = Page::cursor_at({"a", "\"7\""});
  EXPECT_EQ(Page::of(request).after(2), (std::vector<std::string>{"a", "\"7\""}));
  EXPECT_THROW(Page::of(request).after(1), Invalid);
  for (const char* bad : {"", "x", "!!", "bnVsbA"}) {
    request.query["cursor"] = bad;
    EXPECT_THROW(Page::of(request).after(1), Invalid) << bad;
  }
  EXPECT_EQ(Page{}.after(1), std::vector<std::string>{""});
}

TEST(Page, MoreRowsThanTheLimitGiveACursorToTheLastOneShown) {
  const Page page{2, std::nullopt};
  const auto cursor = [](const Part& part) { return Page::cursor_at({std::to_string(part.unit_price)}); };
  const auto more = page.cut(std::vector<Part>{{1}, {2}, {3}}, cursor);
  EXPECT_EQ(more.items.size(), 2u);
  EXPECT_EQ(more.next_cursor, Page::cursor_at({"2"}));
  EXPECT_FALSE(page.cut(std::vector<Part>{{1}, {2}}, cursor).next_cursor);
}

}  // namespace
}  // namespace skald
