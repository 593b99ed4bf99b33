// The notify service: who hears what, and once.
#include "end_to_end/course_site.h"
#include "notify/notify.h"
#include "notify/text.h"

namespace skald::test {
namespace {

using notify::Channel;
using notify::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

golf::BookingNews news(const std::string& booking, const std::string& customer = "kim") {
  return {booking, "BK-7Q2M4X", customer, "slot", 4, parse_time("2099-05-01T07:30:00Z"), {120000, "KRW"}, {}, {}};
}

golf::BookingNews failed(const std::string& code, const std::string& message = "") {
  auto out = news("b1");
  out.reason = golf::Reason{code, message};
  return out;
}

// Takes everything, and notes it.
class NotedBus final : public Bus {
 public:
  void send(Message message, Done done) override {
    sent_.push_back(std::move(message));
    done_.push_back(std::move(done));
  }
  void poll(Duration, std::span<const int>) override {
    for (Done& done : std::exchange(done_, {})) done(Outcome::ok());
  }
  std::size_t in_flight() const override { return done_.size(); }
  const std::vector<Message>& sent() const { return sent_; }

 private:
  std::vector<Message> sent_;
  std::vector<Done> done_;
};

class NotifyTest : public GolfTest {
 protected:
  ~NotifyTest() override { engine_->stop(1s); }
  void open(Bus* webhook = nullptr) {
    notify::install(*engine_, *routes_, env_, {.webhook = webhook});
    start();
  }
  Listing<notify::NotificationView> shown(const Response& response) {
    EXPECT_EQ(response.status, 200) << response.body;
    return from_json<Listing<notify::NotificationView>>(response.body);
  }
  std::vector<notify::NotificationView> of(const std::string& booking) {
    return shown(call("GET", "/booking/bookings/" + booking + "/notifications")).items;
  }

  NotedBus bus_;
};
INSTANTIATE_TEST_SUITE_P(Databases, NotifyTest, testing::Values(Dialect::sqlite, Dialect::postgres), database_of);

TEST_P(NotifyTest, ACustomerIsToldOncePerKind) {
  open();
  take("e1", "booking.confirmed", "b1", news("b1"));
  take("e2", "booking.confirmed", "b1", news("b1"));
  take("e3", "booking.cancelled", "b1", news("b1"));
  const auto all = of("b1");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kind, Kind::CONFIRMED);
  EXPECT_EQ(all[0].channel, Channel::log);
  EXPECT_EQ(all[0].booking_id, "b1");
  EXPECT_EQ(all[0].text, notify::text_of(Kind::CONFIRMED, news("b1")));
  EXPECT_EQ(all[1].kind, Kind::CANCELLED);
  EXPECT_EQ(noted_.of("notify_duplicates_total"), 1);
  EXPECT_EQ(noted_.of("notify_sent_total"), 2);
  EXPECT_EQ(noted_.lines("a customer is told").size(), 2u);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_P(NotifyTest, OtherEventsOfBookingsAreNothingToTell) {
  open();
  land("e1", "booking.created", "b1", R"({"any":"thing"})");
  settle("b1");
  EXPECT_THAT(of("b1"), IsEmpty());
  EXPECT_EQ(number("SELECT COUNT(*) FROM skald_dead_letter"), 0);
}

TEST_P(NotifyTest, WhatCannotBeReadIsADeadLetter) {
  open();
  land("e1", "booking.failed", "b1", R"({"bookingId":"b1"})");
  take("e2", "booking.failed", "b1", news("b1", ""));
  EXPECT_EQ(number("SELECT COUNT(*) FROM skald_dead_letter"), 2);
  EXPECT_THAT(of("b1"), IsEmpty());
}

TEST_P(NotifyTest, TheWebhookCarriesWhatTheCustomerReads) {
  open(&bus_);
  take("e1", "booking.failed", "b1", failed("SLOT_FULL"));
  take("e2", "booking.failed", "b1", failed("SLOT_FULL"));
  const auto all = of("b1");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].channel, Channel::webhook);
  const auto events = told();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, "notification.sent");
  EXPECT_EQ(events[0].key, "b1");
  EXPECT_FALSE(events[0].traceparent.empty());
  const auto sent = from_json<notify::Sent>(events[0].payload);
  EXPECT_EQ(sent.id, all[0].id);
  EXPECT_EQ(sent.customer, "kim");
  EXPECT_EQ(sent.kind, Kind::FAILED);
  EXPECT_EQ(sent.text, all[0].text);
  EXPECT_EQ(sent.at, all[0].at);
  settle("b1");  // the end is behind it
  engine_->stop();
  ASSERT_EQ(bus_.sent().size(), 1u);
  EXPECT_EQ(bus_.sent()[0].event.payload, events[0].payload);
}

TEST_P(NotifyTest, CustomersSeeTheirOwnNotificationsAndNoOthers) {
  open();
  take("e1", "booking.confirmed", "b1", news("b1", "kim"));
  const auto seen_by = [&](Role role, const std::string& who) {
    return shown(call_as(role, who, "GET", "/booking/bookings/b1/notifications")).items.size();
  };
  EXPECT_EQ(seen_by(Role::customer, "kim"), 1u);
  EXPECT_EQ(seen_by(Role::customer, "lee"), 0u);
  EXPECT_EQ(seen_by(Role::admin, "lee"), 1u);
}

TEST_P(NotifyTest, WhatOneTransactionTellsIsShownInTheOrderOfItsEvents) {
  notify::install(*engine_, *routes_, env_, {.webhook = nullptr});
  for (const std::string booking : {"b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"}) {
    land(booking + ".1", "booking.confirmed", booking, to_json(news(booking)));
    land(booking + ".2", "booking.cancelled", booking, to_json(news(booking)));
  }
  start();  // and finds them all
  for (const std::string booking : {"b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"}) {
    settle(booking);
    const auto all = of(booking);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].kind, Kind::CONFIRMED);
    EXPECT_EQ(all[1].kind, Kind::CANCELLED);
  }
}

TEST_P(NotifyTest, NotificationsArePaged) {
  open();
  take("e1", "booking.confirmed", "b1", news("b1"));
  take("e2", "booking.cancelled", "b1", news("b1"));
  const std::string path = "/booking/bookings/b1/notifications?limit=1";
  const auto first = shown(call("GET", path));
  ASSERT_TRUE(first.next_cursor);
  const auto second = shown(call("GET", path + "&cursor=" + *first.next_cursor));
  EXPECT_EQ(second.items.at(0).kind, Kind::CANCELLED);
  EXPECT_FALSE(second.next_cursor);
}

TEST(NotificationText, NamesNumberStartPlayersAndPrice) {
  EXPECT_EQ(notify::text_of(Kind::CONFIRMED, news("b1")),
            "Your booking BK-7Q2M4X for 4 players on 2099-05-01 07:30 UTC is confirmed. Price: 120000 KRW.");
  auto one = news("b1");
  one.players = 1;
  one.price = {2505, "EUR"};
  EXPECT_EQ(notify::text_of(Kind::CONFIRMED, one),
            "Your booking BK-7Q2M4X for 1 player on 2099-05-01 07:30 UTC is confirmed. Price: 25.05 EUR.");
}

TEST(NotificationText, DiffersByTheReason) {
  std::set<std::string> texts;
  for (const char* code : {"SLOT_FULL", "SLOT_BUSY", "SLOT_CLOSED", "SLOT_NOT_FOUND", "SLOT_STARTED", "SLOT_RELEASED",
                           "SAGA_TIMEOUT", "PAYMENT_DECLINED"}) {
    const std::string text = notify::text_of(Kind::FAILED, failed(code, "words for a log"));
    EXPECT_THAT(text, HasSubstr("could not be made: "));
    EXPECT_THAT(text, Not(HasSubstr("words for a log"))) << code;
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 8u);
  EXPECT_THAT(notify::text_of(Kind::FAILED, failed("NEW_CODE", "the greens are wet")), HasSubstr("the greens are wet"));
}

TEST(NotificationText, NamesTheRefund) {
  auto cancelled = failed("CUSTOMER", "it\nrains");
  cancelled.refund = golf::Refund{80, 96000, "KRW"};
  EXPECT_EQ(notify::text_of(Kind::CANCELLED, cancelled),
            "Your booking BK-7Q2M4X for 4 players on 2099-05-01 07:30 UTC is cancelled: it rains. Refund: 80 %, 96000 "
            "KRW.");
  cancelled.refund = golf::Refund{0, 0, "KRW"};
  EXPECT_THAT(notify::text_of(Kind::CANCELLED, cancelled), HasSubstr("There is no refund."));
}

TEST(NotificationText, CutsOthersWordsBetweenCharacters) {
  std::string words;
  for (int i = 0; i < 100; ++i) words += "비";
  const std::string text = notify::text_of(Kind::CANCELLED, failed("ADMIN", words));
  EXPECT_LT(text.size(), 350u);
  EXPECT_THAT(text, HasSubstr("비…."));
}

}  // namespace
}  // namespace skald::test
