#include "bus/cloud_event_reader.h"

#include <gmock/gmock.h>

#include "conformance/bus_conformance.h"
#include "skald/error.h"

namespace skald::test {
namespace {

std::string complaint(const std::string& text) {
  try {
    read_cloud_event(text);
  } catch (const Invalid& error) {
    return error.what();
  }
  return "read";
}

TEST(CloudEventReader, ReadsWhatWasWritten) {
  for (const char* payload : {R"({"z":1,"a":2,"z":3})", R"({ "big" : 1e400 , "x":[{"data":"}\"]"}] })", "null", "-0",
                              R"("just \"text\", }")", "[1, 2,\t3]", ""}) {
    Message message = make_message("id-1", payload);
    message.event.traceparent = "00-1-2-01";
    message.event.key = "k \"quoted\" \xc3\xa4";
    message.out_of_order = true;
    const Message read = read_cloud_event(cloud_event(message));
    EXPECT_EQ(read.event, message.event) << payload;
    EXPECT_EQ(read.source, message.source);
    EXPECT_EQ(read.time, message.time);
    EXPECT_TRUE(read.out_of_order);
  }
}

TEST(CloudEventReader, TakesMembersInAnyOrderAndKeepsTheBytesOfTheData) {
  const Message read = read_cloud_event(
      "\n { \"data\" :\t{ \"a\": [1 , {\"data\":2}] } "
      ",\"extra\":{\"data\":3},\"type\":\"t\",\"id\":\"1\",\"source\":\"/s\", "
      "\"time\":\"2026-11-15T20:00:00Z\",\"specversion\":\"1.0\"}");
  EXPECT_EQ(read.event.payload, "{ \"a\": [1 , {\"data\":2}] }");
  EXPECT_EQ(read.event.key, "");
  EXPECT_FALSE(read.out_of_order);
}

TEST(CloudEventReader, ReadsALaterVersionThatOnlyAdds) {
  EXPECT_EQ(read_cloud_event(R"({"specversion":"1.7","id":"1","type":"t","source":"s","time":"2026-11-15T20:00:00Z",)"
                             R"("new":[{"a":1e400}],"data":{"b":1}})")
                .event.payload,
            R"({"b":1})");
  EXPECT_THAT(complaint(R"({"specversion":"2.0","id":"1"})"), ::testing::HasSubstr("1.0"));
  EXPECT_THAT(complaint(R"({"specversion":"10","id":"1"})"), ::testing::HasSubstr("1.0"));
}

TEST(CloudEventReader, SaysWhyItCannotRead) {
  EXPECT_THAT(complaint("nonsense"), ::testing::HasSubstr("not JSON"));
  EXPECT_THAT(complaint("{\"data\":"), ::testing::HasSubstr("not JSON"));
  EXPECT_THAT(complaint("[]"), ::testing::HasSubstr("no object"));
  EXPECT_THAT(complaint("{}"), ::testing::HasSubstr("specversion is missing"));
  EXPECT_THAT(complaint(R"({"specversion":"1.0","id":7})"), ::testing::HasSubstr("id is not text"));
  EXPECT_THAT(complaint(R"({"specversion":"1.0","id":"1","type":"t","source":"s","time":"soon"})"),
              ::testing::Not("read"));
  EXPECT_THAT(complaint(R"({"specversion":"1.0","id":"1","type":"t","source":"s","time":"2026-11-15T20:00:00Z",)"
                        R"("data_base64":"AA=="})"),
              ::testing::HasSubstr("binary"));
  for (const char* twice : {R"("id":"2")", R"("i\u0064":"2")", R"("data":2,"data":3)"})
    EXPECT_THAT(complaint(R"({"specversion":"1.0","id":"1","type":"t","source":"s","time":"2026-11-15T20:00:00Z",)" +
                          std::string(twice) + "}"),
                ::testing::HasSubstr("twice"));
}

TEST(SplitCloudEvents, GivesEachEventOfABatchAndAnythingElseAsItIs) {
  using ::testing::ElementsAre;
  EXPECT_THAT(split_cloud_events(R"({"a":[1,2]})"), ElementsAre(R"({"a":[1,2]})"));
  EXPECT_THAT(split_cloud_events("no JSON"), ElementsAre("no JSON"));
  EXPECT_THAT(split_cloud_events(""), ElementsAre(""));
  EXPECT_THAT(split_cloud_events(R"([{"a":[1,2]},{"b":"],\"["}])"), ElementsAre(R"({"a":[1,2]})", R"({"b":"],\"["})"));
  EXPECT_THAT(split_cloud_events(" [ ] "), ElementsAre());
  EXPECT_THAT(split_cloud_events("[1,,2]"), ElementsAre("1", "", "2"));  // nothing that is no event is passed over
}

TEST(SplitCloudEvents, RefusesABatchThatDoesNotEnd) {
  for (const char* text : {"[", "[{}", "[{\"a\":\"]", "[{},", "[\"\\"})
    EXPECT_THROW(split_cloud_events(text), Malformed) << text;
}

}  // namespace
}  // namespace skald::test
