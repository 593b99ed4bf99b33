#include "skald/lenient_json.h"

#include <gmock/gmock.h>

#include "base/edition.h"

namespace skald {
namespace {

using testing::HasSubstr;

struct Seat {
  std::string name;
  std::int64_t row = 0;
};
BOOST_DESCRIBE_STRUCT(Seat, (), (name, row))

struct Trip {
  std::string id;
  std::vector<Seat> seats;
  std::map<std::string, Seat> by_day;
  std::optional<Seat> guide;
  bool paid = true;
};
BOOST_DESCRIBE_STRUCT(Trip, (), (id, seats, by_day, guide, paid))

TEST(LenientJson, PassesOverWhatItDoesNotKnowAtEveryDepth) {
  const auto trip = from_lenient_json<Trip>(
      R"({"id":"t","new":{"a":[1,{}]},"seats":[{"name":"a","row":1,"colour":"red"}],"paid":false,)"
      R"("byDay":{"mon":{"name":"b","row":2,"x":null}},"guide":{"name":"c","row":3,"y":1e400}})");
  EXPECT_EQ(trip.seats.at(0).row, 1);
  EXPECT_EQ(trip.by_day.at("mon").name, "b");
  EXPECT_EQ(trip.guide->row, 3);
  EXPECT_FALSE(trip.paid);
}

TEST(LenientJson, GivesListsMapsAndFlagsThatAreMissingWhatANewObjectHas) {
  const auto trip = from_lenient_json<Trip>(R"({"id":"t"})");
  EXPECT_TRUE(trip.seats.empty());
  EXPECT_TRUE(trip.by_day.empty());
  EXPECT_FALSE(trip.guide);
  EXPECT_TRUE(trip.paid);
}

TEST(LenientJson, MakesUpNeitherTextNorNumbersAndFitsNothing) {
  for (const char* text :
       {R"({})", R"({"id":null})", R"({"id":7})", R"({"id":"t","seats":null})", R"({"id":"t","seats":{}})",
        R"({"id":"t","seats":[{"name":"a"}]})", R"({"id":"t","seats":[{"name":"a","row":1e30}]})",
        R"({"id":"t","seats":[{"name":"a","row":99999999999999999999}]})", R"({"id":"t","seats":[3]})",
        R"({"id":"t","paid":"yes"})", R"({"id":"t","byDay":[]})", R"([])", R"("t")", "3", "null"})
    EXPECT_THROW(from_lenient_json<Trip>(text), Invalid) << text;
  EXPECT_THROW(from_lenient_json<Trip>(R"({"id":"t","id":"u"})"), Malformed);
  EXPECT_THROW(from_lenient_json<Trip>(R"({"id":"t","deep":)" + std::string(1000, '[') + std::string(1000, ']') + "}"),
               Malformed);
}

TEST(LenientJson, WhatClientsSendIsReadStrictlyStill) {
  EXPECT_THROW(from_json<Seat>(R"({"name":"a","row":1,"colour":"red"})"), Invalid);
}

TEST(Edition, WhatNeedsANewerReaderIsRefusedWithASentence) {
  const auto read = [](const std::string& least) {
    return read_edition<Seat>(R"({"name":"a","row":1,"least":)" + least + "}", "a seat", 2).row;
  };
  EXPECT_EQ(read("1"), 1);
  EXPECT_EQ(read("2"), 1);
  EXPECT_EQ(read_edition<Seat>(R"({"name":"a","row":1})", "a seat", 2).row, 1);
  try {
    read("3");
    ADD_FAILURE() << "it was read";
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "VERSION_TOO_NEW");
    EXPECT_THAT(error.what(), HasSubstr("a seat needs a reader that knows version 3"));
  }
  for (const char* wrong : {"\"3\"", "null", "{}", "1e99", "99999999999999999999", "1.5"})
    EXPECT_THROW(read(wrong), Invalid) << wrong;
}

TEST(Edition, AVersionThatIsTooNewIsToldBeforeAnythingElseThatIsWrong) {
  try {
    read_edition<Seat>(R"({"least":3,"title":"a"})", "a seat", 2);
    ADD_FAILURE() << "it was read";
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "VERSION_TOO_NEW");
  }
}

}  // namespace
}  // namespace skald
