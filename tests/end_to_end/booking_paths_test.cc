// Bookings as their customers and admins make, read and change them.
#include <latch>

#include "end_to_end/booking_site.h"
#include "runtime/worker_pool.h"

namespace skald::test {
namespace {

using booking::BookingView;
using booking::Status;
using testing::ElementsAre;
using testing::HasSubstr;

class BookingPaths : public BookingTest {
 protected:
  Response post(const std::string& slot_id, const std::string& players, const Caller& who = customer("kim"),
                const std::string& key = "") {
    std::map<std::string, std::string, std::less<>> headers;
    if (!key.empty()) headers["idempotency-key"] = key;
    return call(who, "POST", "/booking/bookings", R"({"slotId":")" + slot_id + R"(","players":)" + players + "}",
                headers);
  }
};
INSTANTIATE_TEST_SUITE_P(Deployed, BookingPaths, testing::Values(Deployment::embedded, Deployment::shared), name_of);

TEST_P(BookingPaths, ABookingIsConfirmedByItself) {
  const std::string slot_id = offer(4, std::chrono::days(10), 2500);
  const BookingView made = book(slot_id, 3);
  EXPECT_THAT(made.number, testing::MatchesRegex("BK-[A-Z0-9]{6}"));
  EXPECT_EQ(made.status, Status::PENDING);
  EXPECT_EQ(made.price.amount, 7500);
  const BookingView confirmed = becomes(made.id, Status::CONFIRMED);
  EXPECT_EQ(confirmed.number, made.number);
  EXPECT_EQ(slot(slot_id).booked_players, 3);
  until([&] { return told(made.id) == std::vector<std::string>{"CONFIRMED"}; }, "the customer is told");
  EXPECT_THAT(history(made.id), ElementsAre("CREATED", "CONFIRMED"));
  EXPECT_EQ(show(made.number).id, made.id);
  expect_invariants();
}

TEST_P(BookingPaths, AKeyThatIsSentAgainAnswersAsAtFirst) {
  const std::string slot_id = offer(1);
  const Response first = post(slot_id, "1", customer("kim"), "k1");
  ASSERT_EQ(first.status, 202);
  becomes(from_json<BookingView>(first.body).id, Status::CONFIRMED);
  settle();
  // The slot is full by now: what was answered counts, not what would be answered today.
  const Response again = post(slot_id, "1", customer("kim"), "k1");
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(code_of(post(slot_id, "2", customer("kim"), "k1")), "KEY_REUSED");
  EXPECT_EQ(post(slot_id, "1", customer("lee"), "k1").status, 409);  // another's key is another key
  EXPECT_EQ(count(booking_, "SELECT COUNT(*) FROM booking_record"), 1);
}

TEST_P(BookingPaths, WhatCannotGoWellIsRefusedAtOnce) {
  const std::string slot_id = offer(2);
  EXPECT_EQ(code_of(post("nowhere", "1")), "SLOT_NOT_FOUND");
  EXPECT_EQ(post("nowhere", "1").status, 404);
  EXPECT_EQ(code_of(post(slot_id, "0")), "BAD_PLAYERS");
  EXPECT_EQ(post(slot_id, "3").status, 422);
  EXPECT_EQ(code_of(post("a b", "1")), "BAD_SLOT_ID");
  becomes(book(slot_id, 2).id, Status::CONFIRMED);
  settle();
  EXPECT_EQ(code_of(post(slot_id, "1")), "SLOT_FULL");
  EXPECT_EQ(post(slot_id, "1").status, 409);
  const std::string closed = offer(2);
  ASSERT_EQ(call(kAdmin, "POST", "/booking/slots/" + closed + "/close").status, 200);
  settle();
  EXPECT_EQ(code_of(post(closed, "1")), "SLOT_CLOSED");
  const std::string started = offer(2);
  for (const auto& [unit, table] : {std::pair(&course_, "course_slot"), std::pair(&booking_, "booking_slot")})
    change(*unit, std::string("UPDATE ") + table + " SET starts_at = 1 WHERE id = '" + started + "'");
  EXPECT_EQ(code_of(post(started, "1")), "SLOT_STARTED");
  EXPECT_EQ(post(started, "1").status, 422);
  EXPECT_EQ(count(booking_, "SELECT COUNT(*) FROM booking_record"), 1);
}

TEST_P(BookingPaths, ARefusalByAnOldCopyIsConfirmedWithCourseFirst) {
  const std::string slot_id = offer(2), missing = offer(2);
  change(booking_, "UPDATE booking_slot SET booked_players = 2, version = 0 WHERE id = '" + slot_id + "'");
  change(booking_, "DELETE FROM booking_slot WHERE id = '" + missing + "'");
  becomes(book(slot_id, 2).id, Status::CONFIRMED);
  becomes(book(missing, 2).id, Status::CONFIRMED);
  expect_invariants();
}

TEST_P(BookingPaths, ADeclinedChargeFailsAndGivesTheSeatsBack) {
  restart({.charge_max = 1500});
  const std::string slot_id = offer(4);
  becomes(book(slot_id, 1).id, Status::CONFIRMED);
  const BookingView dear = book(slot_id, 2);
  EXPECT_EQ(becomes(dear.id, Status::FAILED).reason->code, "PAYMENT_DECLINED");
  until([&] { return slot(slot_id).booked_players == 1; }, "the seats are free");
  expect_invariants();
}

TEST_P(BookingPaths, WhatIsPaidBackDependsOnWhoCancelsAndWhen) {
  using namespace std::chrono;
  restart({.refund_last_day = 30});
  const auto percent = [&](Duration before, const Caller& who) {
    const BookingView made = book(offer(4, before), 1);
    becomes(made.id, Status::CONFIRMED);
    return cancel(made.id, who).refund->amount;
  };
  EXPECT_EQ(percent(days(7) + 1min, customer("kim")), 1000);
  EXPECT_EQ(percent(days(7) - 1min, customer("kim")), 800);
  EXPECT_EQ(percent(days(3) - 1min, customer("kim")), 500);
  EXPECT_EQ(percent(days(1) - 1min, customer("kim")), 300);
  EXPECT_EQ(percent(hours(1), kAdmin), 1000);
  EXPECT_EQ(percent(hours(1), {.role = Role::system, .subject = "system"}), 1000);
  expect_invariants();
}

TEST_P(BookingPaths, EachStateAllowsWhatItAllowsAndARefusalIsRecordedNowhere) {
  const std::string slot_id = offer(10);
  const auto decide = [&](const std::string& id, const std::string& what, const Caller& who = kAdmin) {
    return call(who, "POST", "/booking/bookings/" + id + "/" + what);
  };
  const BookingView played = book(slot_id), absent = book(slot_id), late = book(slot_id), undone = book(slot_id);
  for (const BookingView& one : {played, absent, late, undone}) becomes(one.id, Status::CONFIRMED);
  settle();
  EXPECT_EQ(code_of(decide(played.id, "complete")), "NOT_STARTED");
  cancel(undone.id);
  settle();
  booking_.database->write("time goes by",
                           [](Transaction& tx) { tx.execute("UPDATE booking_record SET starts_at = 1"); });
  EXPECT_EQ(code_of(decide(late.id, "cancel", customer("kim"))), "CANCEL_TOO_LATE");
  EXPECT_EQ(decide(played.id, "complete", customer("kim")).status, 403);
  EXPECT_EQ(decide(played.id, "complete").status, 200);
  EXPECT_EQ(decide(absent.id, "no-show").status, 200);
  EXPECT_EQ(show(absent.id).refund->amount, 0);
  for (const BookingView& one : {played, absent, undone})
    for (const char* what : {"cancel", "complete", "no-show"}) {
      const auto before = history(one.id);
      EXPECT_EQ(code_of(decide(one.id, what)), "INVALID_TRANSITION") << what;
      EXPECT_EQ(history(one.id), before);
    }
  EXPECT_EQ(decide(late.id, "cancel").status, 200);  // an admin may, at any time
  expect_invariants();
}

TEST_P(BookingPaths, ACustomerNeverSeesOrTouchesAnothersBooking) {
  const std::string slot_id = offer(4);
  const BookingView hers = book(slot_id, 1, "kim");
  becomes(hers.id, Status::CONFIRMED);
  settle();
  const Caller lee = customer("lee");
  const std::string path = "/booking/bookings/" + hers.id;
  EXPECT_EQ(call(lee, "GET", path).status, 404);
  EXPECT_EQ(call(lee, "GET", "/booking/bookings/" + hers.number).status, 404);
  EXPECT_EQ(call(lee, "POST", path + "/cancel").status, 404);
  EXPECT_EQ(call(lee, "GET", path + "/history").status, 404);
  EXPECT_EQ(call(lee, "GET", path + "/events").status, 404);
  for (const char* list : {"/booking/bookings?customer=kim", "/booking/bookings"})
    EXPECT_THAT(call(lee, "GET", list).body, testing::Not(HasSubstr(hers.id))) << list;
  EXPECT_THAT(call(lee, "GET", path + "/notifications").body, testing::Not(HasSubstr(hers.number)));
  EXPECT_THAT(call(lee, "GET", "/booking/ledger?bookingId=" + hers.id).body, testing::Not(HasSubstr("sales")));
  EXPECT_EQ(code_of(call(lee, "POST", "/booking/bookings",
                         R"({"slotId":")" + slot_id + R"(","players":1,"customer":"kim"})")),
            "NOT_YOURS");
  EXPECT_EQ(call(customer("kim"), "GET", path).status, 200);
  EXPECT_THAT(call(customer("kim"), "GET", "/booking/ledger?bookingId=" + hers.id).body, HasSubstr("sales"));
}

TEST_P(BookingPaths, ListsAreFilteredAndPaged) {
  const std::string slot_id = offer(10), other = offer(10);
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(book(slot_id).id);
  book(other, 1, "lee");
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const Response response = call(customer("kim"), "GET", "/booking/bookings?limit=2" + cursor);
    const auto page = from_json<Listing<BookingView>>(response.body);
    for (const BookingView& one : page.items) seen.insert(seen.begin(), one.id);
    cursor = page.next_cursor ? "&cursor=" + *page.next_cursor : "";
  } while (!cursor.empty());
  EXPECT_EQ(seen, ids);
  const auto found = from_json<Listing<BookingView>>(call(kAdmin, "GET", "/booking/bookings?slotId=" + other).body);
  ASSERT_EQ(found.items.size(), 1u);
  EXPECT_EQ(found.items[0].customer, "lee");
  EXPECT_EQ(call(kAdmin, "GET", "/booking/bookings?status=GONE").status, 422);
}

TEST_P(BookingPaths, AStreamTellsWhatHappensAsItHappens) {
  const std::string slot_id = offer(4);
  hold("slot.reserve");
  const BookingView made = book(slot_id);
  Request request;
  request.method = "GET";
  request.path = "/booking/bookings/" + made.id + "/events";
  request.headers["last-event-id"] = "0";
  const http::Reply reply = routes_->answer({.request = request});
  ASSERT_TRUE(reply.stream.has_value());
  EXPECT_EQ(reply.stream->topic, "booking/" + made.id);
  EXPECT_THAT(*reply.stream->next(), HasSubstr("event: CREATED"));
  EXPECT_EQ(*reply.stream->next(), "");
  let_go("slot.reserve");
  becomes(made.id, Status::CONFIRMED);
  EXPECT_THAT(*reply.stream->next(), HasSubstr("event: CONFIRMED"));
  cancel(made.id);
  until([&] { return history(made.id).back() == "RELEASED"; }, "the seats are free again");
  EXPECT_THAT(*reply.stream->next(), testing::AllOf(HasSubstr("event: CANCELLED"), HasSubstr("event: RELEASED")));
  EXPECT_EQ(reply.stream->next(), std::nullopt);
}

TEST_P(BookingPaths, AThousandCustomersOnTheLastFourSeatsAllGetAnAnswerAndFourSeatsAreSold) {
  constexpr int kCustomers = 1000;
  const std::string slot_id = offer(4);
  std::mutex mutex;
  std::vector<std::string> accepted;
  int refused = 0;
  {
    runtime::WorkerPool crowd(32);
    std::latch done(kCustomers);
    for (int i = 0; i < kCustomers; ++i)
      crowd.post([&, i] {
        const Response response = post(slot_id, "1", customer("c" + std::to_string(i)));
        {
          const std::lock_guard lock(mutex);
          if (response.status == 202) accepted.push_back(from_json<BookingView>(response.body).id);
          else if (response.status == 409 && code_of(response) == "SLOT_FULL") ++refused;
          else ADD_FAILURE() << response.body;
        }
        done.count_down();
      });
    done.wait();
  }
  EXPECT_EQ(accepted.size() + static_cast<std::size_t>(refused), kCustomers);
  int sold = 0;
  for (const std::string& id : accepted) {
    until([&] { return show(id).status != Status::PENDING; }, "an answer");
    const BookingView view = show(id);
    if (view.status == Status::CONFIRMED) ++sold;
    else EXPECT_EQ(view.reason->code, "SLOT_FULL");
  }
  EXPECT_EQ(sold, 4);
  EXPECT_EQ(slot(slot_id).booked_players, 4);
  EXPECT_EQ(slot(slot_id).status, golf::SlotStatus::FULLY_BOOKED);
  expect_invariants();
}

TEST_P(BookingPaths, AnInvariantThatIsBrokenIsNamed) {
  const std::string slot_id = offer(4);
  const BookingView made = book(slot_id, 2);
  becomes(made.id, Status::CONFIRMED);
  settle();
  change(course_, "UPDATE course_reservation SET players = 1 WHERE booking_id = '" + made.id + "'");
  change(booking_, "UPDATE booking_posting SET amount = amount + 1 WHERE account = 'sales'");
  const std::string body = call(kAdmin, "GET", "/booking/invariants").body;
  for (const char* name : {"ledger-balanced", "charged-when-confirmed", "seats-as-booked"})
    EXPECT_THAT(body, HasSubstr(std::string(R"({"name":")") + name + R"(","ok":false)")) << body;
}

}  // namespace
}  // namespace skald::test
