// The story of a booking, across the services.
#include "end_to_end/booking_site.h"
#include "http/story_paths.h"

namespace skald::test {
namespace {

using booking::BookingView;
using booking::Status;
using testing::Contains;
using testing::Not;

class BookingStory : public BookingTest {
 protected:
  http::Story story(const std::string& key, const Caller& caller = kAdmin) {
    const Response answer = call(caller, "GET", "/api/story/" + key);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.status == 200 ? from_json<http::Story>(answer.body) : http::Story{};
  }
  static std::vector<std::string> told_by(const http::Story& story) {
    std::vector<std::string> out;
    for (const auto& line : story.lines) out.push_back(line.service + ": " + line.what);
    return out;
  }
  // Those of `expected` that stand in `lines` in this order.
  static std::vector<std::string> in_order(const std::vector<std::string>& lines,
                                           const std::vector<std::string>& expected) {
    std::vector<std::string> out;
    for (const std::string& line : lines)
      if (out.size() < expected.size() && line == expected[out.size()]) out.push_back(line);
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Deployed, BookingStory,
                         testing::Values(Deployment::embedded, Deployment::shared, Deployment::distributed), name_of);

TEST_P(BookingStory, IsToldInOrderByAllServicesUnderTheNumberAndUnderTheId) {
  const BookingView made = book(offer(4), 2);
  becomes(made.id, Status::CONFIRMED);
  until([&] { return !told(made.id).empty(); }, "the customer is told");
  cancel(made.id);
  settle();
  const http::Story by_number = story(made.number);
  const auto lines = told_by(by_number);
  const std::vector<std::string> expected = {
      "booking: slot.reserve emitted",      "course: slot.reserve handled by course.reserve",
      "course: slot.reserved emitted",      "booking: slot.reserved handled by booking.slot.reserved",

      "booking: booking.confirmed emitted", "notify: booking.confirmed handled by notify",
      "booking: booking.cancelled emitted"};
  EXPECT_EQ(in_order(lines, expected), expected) << testing::PrintToString(lines);
  for (const char* line :
       {"booking: CREATED by kim", "booking: CONFIRMED by course", "booking: CANCELLED by kim", "booking: charge",
        "booking: refund", "course: 2 seats of ", "notify: CONFIRMED told by log"})
    EXPECT_THAT(lines, Contains(testing::StartsWith(line)));
  EXPECT_EQ(by_number.owner, "kim");
  EXPECT_EQ(told_by(story(made.id)), lines);
}

TEST_P(BookingStory, IsItsCustomersAlone) {
  const BookingView made = book(offer(4));
  becomes(made.id, Status::CONFIRMED);
  settle();
  EXPECT_FALSE(story(made.number, customer("kim")).lines.empty());
  for (const std::string& key : {made.number, made.id, std::string("BK-222222"), std::string(300, 'a')}) {
    const Response answer = call(customer("lee"), "GET", "/api/story/" + key);
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(code_of(answer), "STORY_NOT_FOUND");
  }
  EXPECT_EQ(call(kAdmin, "GET", "/api/story/BK-222222").status, 404);
}

TEST_P(BookingStory, TellsStaffButNotCustomersWhatFailedInside) {
  const std::string slot_id = offer(4);
  fail_reserves(true);
  const BookingView made = book(slot_id);
  const auto failed = [](const http::Story& told) {
    return std::ranges::any_of(told.lines, [](const auto& line) { return line.source == "outbox" && line.detail; });
  };
  until([&] { return failed(story(made.number)); }, "an attempt has failed");
  EXPECT_FALSE(failed(story(made.number, customer("kim"))));
  fail_reserves(false);
  becomes(made.id, Status::CONFIRMED);
}

}  // namespace
}  // namespace skald::test
