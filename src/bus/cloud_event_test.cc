#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "skald/bus.h"

namespace skald {
namespace {

Message donation() {
  Message message;
  message.event = {.id = "01J",
                   .type = "donation.accepted",
                   .key = "kim",
                   .subject = "req-1",
                   .payload = R"({"b":1, "a":1e400})",
                   .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"};
  message.source = "/donation";
  message.time = parse_time("2026-11-15T20:41:08.123456Z");
  return message;
}

TEST(CloudEvent, IsTheStructuredEnvelopeWithThePayloadsBytesLast) {
  EXPECT_EQ(cloud_event(donation()),
            R"({"specversion":"1.0","id":"01J","source":"/donation","type":"donation.accepted","subject":"req-1",)"
            R"("time":"2026-11-15T20:41:08.123456Z","datacontenttype":"application/json","partitionkey":"kim",)"
            R"("traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","data":{"b":1, "a":1e400}})");
}

TEST(CloudEvent, LeavesOutWhatIsEmpty) {
  Message message = donation();
  message.event.subject.clear();
  message.event.traceparent.clear();
  message.event.key.clear();
  message.event.payload.clear();
  EXPECT_EQ(cloud_event(message), R"({"specversion":"1.0","id":"01J","source":"/donation","type":"donation.accepted",)"
                                  R"("time":"2026-11-15T20:41:08.123456Z","datacontenttype":"application/json"})");
}

TEST(CloudEvent, IsTheSameAtEveryAttempt) {
  Message message = donation();
  const std::string first = cloud_event(message);
  message.attempt = 7;
  EXPECT_EQ(cloud_event(message), first);
}

TEST(CloudEvent, TellsWhereItArrivesOutOfOrder) {
  Message message = donation();
  EXPECT_FALSE(boost::json::parse(cloud_event(message)).as_object().contains("outoforder"));
  message.out_of_order = true;
  EXPECT_TRUE(boost::json::parse(cloud_event(message)).at("outoforder").as_bool());
}

TEST(CloudEvent, EscapesEveryMemberThatIsText) {
  Message message = donation();
  message.event.key = "\"}\n\\\x01";
  message.event.subject = "\",\"data\":\"forged";
  const auto value = boost::json::parse(cloud_event(message));
  EXPECT_EQ(value.at("partitionkey").as_string(), message.event.key);
  EXPECT_EQ(value.at("subject").as_string(), message.event.subject);
}

}  // namespace
}  // namespace skald
