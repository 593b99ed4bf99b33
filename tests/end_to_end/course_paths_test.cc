// The paths of the course service.
#include "end_to_end/course_fixture.h"

namespace skald::test {
namespace {

using golf::SlotStatus;
using testing::ElementsAre;
using testing::IsEmpty;

class CoursePaths : public CourseTest {
 protected:
  std::string body(const std::string& more, const std::string& starts = "2099-05-01T07:30:00Z") {
    return "{\"courseId\":\"" + course_ + "\",\"startsAt\":\"" + starts + "\"" + more + "}";
  }
  Listing<golf::Slot> slots(const std::string& query) {
    const Response response = call("GET", "/booking/slots" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    return from_json<Listing<golf::Slot>>(response.body);
  }
  std::vector<std::string> ids(const std::string& query) {
    std::vector<std::string> out;
    for (const golf::Slot& one : slots(query).items) out.push_back(one.id);
    return out;
  }
  std::vector<std::string> bookings(const std::string& query) {
    const Response response = call("GET", "/booking/reservations" + query);
    EXPECT_EQ(response.status, 200) << response.body;
    std::vector<std::string> out;
    for (const auto& one : from_json<Listing<golf::Reservation>>(response.body).items) out.push_back(one.booking_id);
    return out;
  }
  void expect_refused(const Response& response, int status, const std::string& code) {
    EXPECT_EQ(response.status, status) << response.body;
    if (response.status >= 400) {
      EXPECT_EQ(problem_of(response), code);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, CoursePaths, testing::Values(Dialect::sqlite, Dialect::postgres), database_of);

TEST_P(CoursePaths, CoursesAreMadeListedAndShown) {
  const Response made = call("POST", "/booking/courses", R"({"name":"언덕 9홀"})");
  ASSERT_EQ(made.status, 201);
  const auto hill = from_json<course::Course>(made.body);
  EXPECT_EQ(hill.name, "언덕 9홀");
  EXPECT_EQ(call("GET", "/booking/courses/" + hill.id).body, made.body);
  const auto first = from_json<Listing<course::Course>>(call("GET", "/booking/courses?limit=1").body);
  ASSERT_EQ(first.items.size(), 1u);
  ASSERT_TRUE(first.next_cursor);
  const auto rest =
      from_json<Listing<course::Course>>(call("GET", "/booking/courses?limit=1&cursor=" + *first.next_cursor).body);
  ASSERT_EQ(rest.items.size(), 1u);
  EXPECT_NE(rest.items[0].id, first.items[0].id);
  EXPECT_FALSE(rest.next_cursor);
  expect_refused(call("GET", "/booking/courses/nowhere"), 404, "COURSE_NOT_FOUND");
}

TEST_P(CoursePaths, ANewSlotIsShownAndTold) {
  const Response made =
      call("POST", "/booking/slots", body(R"(,"maxPlayers":4,"pricePerPlayer":2500,"currency":"EUR")"));
  ASSERT_EQ(made.status, 201) << made.body;
  const auto id = from_json<golf::Slot>(made.body).id;
  EXPECT_EQ(made.body, R"({"id":")" + id + R"(","courseId":")" + course_ +
                           R"(","startsAt":"2099-05-01T07:30:00Z","maxPlayers":4,"bookedPlayers":0,)"
                           R"("pricePerPlayer":2500,"currency":"EUR","status":"AVAILABLE","version":1})");
  EXPECT_EQ(call("GET", "/booking/slots/" + id).body, made.body);
  ASSERT_THAT(told_types(), ElementsAre("slot.changed"));
  EXPECT_EQ(told()[0].payload, made.body);
  EXPECT_EQ(slot(offer(4)).currency, "KRW");
  expect_refused(call("GET", "/booking/slots/nowhere"), 404, "SLOT_NOT_FOUND");
}

TEST_P(CoursePaths, BadInputIsRefusedAndLeavesNothing) {
  expect_refused(call("POST", "/booking/courses", R"({"name":""})"), 422, "BAD_NAME");
  expect_refused(call("POST", "/booking/courses", R"({"name":"   "})"), 422, "BAD_NAME");
  expect_refused(call("POST", "/booking/courses", R"({"name":"a\u0001b"})"), 422, "BAD_NAME");
  expect_refused(call("POST", "/booking/courses", "{\"name\":\"" + std::string(201, 'x') + "\"}"), 422, "BAD_NAME");
  EXPECT_EQ(call("POST", "/booking/courses", "{").status, 400);
  EXPECT_EQ(call("POST", "/booking/courses", R"({"name":"a","more":1})").status, 422);
  const auto slot_with = [&](const std::string& more, const std::string& starts = "2099-05-01T07:30:00Z") {
    return call("POST", "/booking/slots", body(more, starts));
  };
  expect_refused(slot_with(R"(,"maxPlayers":0,"pricePerPlayer":1)"), 422, "BAD_PLAYERS");
  expect_refused(slot_with(R"(,"maxPlayers":101,"pricePerPlayer":1)"), 422, "BAD_PLAYERS");
  expect_refused(slot_with(R"(,"maxPlayers":4,"pricePerPlayer":-1)"), 422, "BAD_PRICE");
  expect_refused(slot_with(R"(,"maxPlayers":4,"pricePerPlayer":10000000001)"), 422, "BAD_PRICE");
  expect_refused(slot_with(R"(,"maxPlayers":4,"pricePerPlayer":1,"currency":"won")"), 422, "BAD_CURRENCY");
  expect_refused(slot_with(R"(,"maxPlayers":4,"pricePerPlayer":1)", "2020-05-01T07:30:00Z"), 422, "SLOT_IN_THE_PAST");
  EXPECT_EQ(slot_with(R"(,"maxPlayers":4,"pricePerPlayer":1)", "tomorrow").status, 422);
  EXPECT_EQ(slot_with(R"(,"maxPlayers":4.5,"pricePerPlayer":1)").status, 422);
  EXPECT_EQ(slot_with(R"(,"maxPlayers":4)").status, 422);
  const std::string other = R"({"courseId":"%","startsAt":"2099-05-01T07:30:00Z","maxPlayers":4,"pricePerPlayer":1})";
  expect_refused(call("POST", "/booking/slots", other), 422, "BAD_COURSE_ID");
  course_ = "nowhere";
  expect_refused(slot_with(R"(,"maxPlayers":4,"pricePerPlayer":1)"), 404, "COURSE_NOT_FOUND");
  EXPECT_EQ(number("SELECT COUNT(*) FROM course_slot"), 0);
  EXPECT_EQ(number("SELECT COUNT(*) FROM course_course"), 1);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_P(CoursePaths, BadFiltersAreRefused) {
  expect_refused(call("GET", "/booking/slots?courseId=a%20b"), 422, "BAD_FILTER");
  expect_refused(call("GET", "/booking/slots?open=yes"), 422, "BAD_FILTER");
  for (const char* date : {"today", "2099-02-29", "2099-13-01", "2099-1-01", "2099-05-01T00:00:00Z", "2099-05--1", ""})
    expect_refused(call("GET", std::string("/booking/slots?date=") + date), 422, "BAD_DATE");
  expect_refused(call("GET", "/booking/slots?limit=0"), 422, "BAD_LIMIT");
  expect_refused(call("GET", "/booking/slots?cursor=nonsense"), 422, "BAD_CURSOR");
  expect_refused(call("GET", "/booking/slots?cursor=" + Page::cursor_at({"soon", "id"})), 422, "BAD_CURSOR");
  expect_refused(call("GET", "/booking/reservations?state=HELD"), 422, "BAD_STATE");
  expect_refused(call("GET", "/booking/reservations?slotId="), 422, "BAD_FILTER");
}

TEST_P(CoursePaths, SlotsAreFilteredByCourseDayAndWhetherTheyAreOpen) {
  const auto made = [&](const std::string& starts) {
    return from_json<golf::Slot>(
               call("POST", "/booking/slots", body(R"(,"maxPlayers":1,"pricePerPlayer":0)", starts)).body)
        .id;
  };
  const std::string last = made("2099-05-01T23:59:59.999999Z"), first = made("2099-05-01T00:00:00Z"),
                    next = made("2099-05-02T00:00:00Z");
  const std::string riverside = course_;
  course_ = from_json<course::Course>(call("POST", "/booking/courses", R"({"name":"Hill"})").body).id;
  const std::string hill = made("2099-05-01T12:00:00Z");
  EXPECT_THAT(ids(""), ElementsAre(first, hill, last, next));
  EXPECT_THAT(ids("?courseId=" + riverside), ElementsAre(first, last, next));
  EXPECT_THAT(ids("?date=2099-05-01"), ElementsAre(first, hill, last));
  EXPECT_THAT(ids("?date=2099-05-01&courseId=" + course_), ElementsAre(hill));
  EXPECT_THAT(ids("?date=2099-05-03"), IsEmpty());

  reserve("b1", first, 1);
  ASSERT_EQ(call("POST", "/booking/slots/" + hill + "/close").status, 200);
  execute("UPDATE course_slot SET starts_at = 1 WHERE id = '" + last + "'");
  EXPECT_THAT(ids("?open=true"), ElementsAre(next));
  EXPECT_THAT(ids("?open=false"), ElementsAre(last, first, hill));
  EXPECT_THAT(ids("?status=CLOSED"), ElementsAre(hill));
}

TEST_P(CoursePaths, SlotsArePagedByTheirStartThenTheirId) {
  std::vector<std::string> made;
  for (int i = 0; i < 5; ++i)
    made.push_back(
        from_json<golf::Slot>(call("POST", "/booking/slots", body(R"(,"maxPlayers":4,"pricePerPlayer":1)")).body).id);
  std::vector<std::string> seen;
  std::string query = "?limit=2";
  for (int pages = 1; pages <= 3; ++pages) {
    const auto page = slots(query);
    for (const golf::Slot& one : page.items) seen.push_back(one.id);
    EXPECT_EQ(page.next_cursor.has_value(), pages < 3);
    if (page.next_cursor) query = "?limit=2&cursor=" + *page.next_cursor;
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAreArray(made));
  EXPECT_TRUE(std::ranges::is_sorted(seen));
}

TEST_P(CoursePaths, ASlotIsClosedAndOpenedAgainOnce) {
  const std::string id = offer(4), path = "/booking/slots/" + id;
  expect_refused(call("POST", path + "/open"), 409, "SLOT_ALREADY_OPEN");
  const Response closed = call("POST", path + "/close");
  EXPECT_EQ(closed.status, 200);
  EXPECT_EQ(from_json<golf::Slot>(closed.body).status, SlotStatus::CLOSED);
  EXPECT_EQ(told().back().payload, closed.body);
  expect_refused(call("POST", path + "/close"), 409, "SLOT_ALREADY_CLOSED");
  const Response opened = call("POST", path + "/open");
  EXPECT_EQ(from_json<golf::Slot>(opened.body).status, SlotStatus::AVAILABLE);
  EXPECT_EQ(from_json<golf::Slot>(opened.body).version, 3);
  EXPECT_THAT(told_types(), ElementsAre("slot.changed", "slot.changed", "slot.changed"));
  expect_refused(call("POST", "/booking/slots/nowhere/close"), 404, "SLOT_NOT_FOUND");
  expect_refused(call("POST", "/booking/slots/nowhere/open"), 404, "SLOT_NOT_FOUND");
  expect_refused(call("POST", "/booking/slots/a%20b/close"), 404, "SLOT_NOT_FOUND");
}

TEST_P(CoursePaths, ClosingKeepsBookingsAndAFullSlotOpensFull) {
  const std::string id = offer(2), path = "/booking/slots/" + id;
  reserve("b1", id, 2);
  ASSERT_EQ(call("POST", path + "/close").status, 200);
  EXPECT_EQ(slot(id).booked_players, 2);
  expect_invariants();
  ASSERT_EQ(call("POST", path + "/open").status, 200);
  EXPECT_EQ(slot(id).status, SlotStatus::FULLY_BOOKED);
  expect_invariants();
}

TEST_P(CoursePaths, ReservationsAreFilteredAndPaged) {
  const std::string one = offer(4), other = offer(4);
  reserve("b1", one, 1);
  reserve("b2", one, 1);
  reserve("b3", other, 1);
  release("b2", one);
  EXPECT_THAT(bookings(""), ElementsAre("b1", "b2", "b3"));
  EXPECT_THAT(bookings("?slotId=" + one), ElementsAre("b1", "b2"));
  EXPECT_THAT(bookings("?bookingId=b3"), ElementsAre("b3"));
  EXPECT_THAT(bookings("?state=RESERVED"), ElementsAre("b1", "b3"));
  EXPECT_THAT(bookings("?state=RELEASED&slotId=" + one), ElementsAre("b2"));
  const auto page = from_json<Listing<golf::Reservation>>(call("GET", "/booking/reservations?limit=2").body);
  ASSERT_EQ(page.items.size(), 2u);
  EXPECT_FALSE(page.items[0].released_at);
  EXPECT_TRUE(page.items[1].released_at);
  EXPECT_THAT(bookings("?limit=2&cursor=" + page.next_cursor.value_or("")), ElementsAre("b3"));
}

TEST_P(CoursePaths, CustomersLookAndAdminsChange) {
  const std::string id = offer(4);
  const auto status = [&](const std::string& method, const std::string& path, const std::string& sent = "") {
    return call_as(Role::customer, "kim", method, path, sent).status;
  };
  EXPECT_EQ(status("GET", "/booking/courses"), 200);
  EXPECT_EQ(status("GET", "/booking/courses/" + course_), 200);
  EXPECT_EQ(status("GET", "/booking/slots"), 200);
  EXPECT_EQ(status("GET", "/booking/slots/" + id), 200);
  EXPECT_EQ(status("POST", "/booking/courses", R"({"name":"mine"})"), 403);
  EXPECT_EQ(status("POST", "/booking/slots", body(R"(,"maxPlayers":4,"pricePerPlayer":1)")), 403);
  EXPECT_EQ(status("POST", "/booking/slots/" + id + "/close"), 403);
  EXPECT_EQ(status("POST", "/booking/slots/" + id + "/open"), 403);
  EXPECT_EQ(status("GET", "/booking/reservations"), 403);
  EXPECT_EQ(status("GET", "/booking/course/invariants"), 403);
  EXPECT_EQ(call_as(Role::system, "booking", "POST", "/booking/slots/" + id + "/close").status, 200);
}

TEST_P(CoursePaths, InvariantsNameWhatIsBroken) {
  const std::string id = offer(4);
  reserve("b1", id, 2);
  expect_invariants();
  const auto broken = [&](const std::string& sql) {
    execute(sql);
    const auto found = from_json<Invariants>(call("GET", "/booking/course/invariants").body);
    std::vector<std::string> names;
    for (const Check& check : found.checks)
      if (!check.ok) names.push_back(check.name);
    EXPECT_EQ(found.ok, names.empty());
    return names;
  };
  EXPECT_THAT(broken("UPDATE course_slot SET booked_players = 1"), ElementsAre("seats-reserved"));
  EXPECT_THAT(broken("UPDATE course_slot SET booked_players = 2, status = 'FULLY_BOOKED'"),
              ElementsAre("status-agrees"));
  EXPECT_THAT(broken("UPDATE course_slot SET status = 'AVAILABLE', max_players = 2"), ElementsAre("status-agrees"));
  EXPECT_THAT(broken("DELETE FROM course_slot"), ElementsAre("reservations-have-a-slot"));
}

}  // namespace
}  // namespace skald::test
