// The course service by itself.
#pragma once

#include "course/course.h"
#include "course/invariants.h"
#include "course/record.h"
#include "end_to_end/course_site.h"

namespace skald::test {

class CourseTest : public GolfTest {
 protected:
  CourseTest() {
    course::install(*engine_, *routes_, env_, {.pause = [this](Duration time) { pauses_.push_back(time); }});
    start();
    course_ = from_json<course::Course>(call("POST", "/booking/courses", R"({"name":"Riverside"})").body).id;
  }
  ~CourseTest() override { engine_->stop(1s); }

  // A slot in the future.
  std::string offer(std::int64_t seats, Duration ahead = std::chrono::hours(24)) {
    const Response response =
        call("POST", "/booking/slots",
             "{\"courseId\":\"" + course_ + "\",\"startsAt\":\"" + format_time(clock_->now() + ahead) +
                 "\",\"maxPlayers\":" + std::to_string(seats) + ",\"pricePerPlayer\":30000}");
    EXPECT_EQ(response.status, 201) << response.body;
    return from_json<golf::Slot>(response.body).id;
  }
  golf::Slot slot(const std::string& id) { return from_json<golf::Slot>(call("GET", "/booking/slots/" + id).body); }
  void reserve(const std::string& booking, const std::string& slot, std::int64_t players,
               const std::string& suffix = "") {
    take(booking + ".reserve" + suffix, "slot.reserve", slot, golf::SlotReserve{booking, slot, players});
  }
  void release(const std::string& booking, const std::string& slot, const std::string& suffix = "") {
    take(booking + ".release" + suffix, "slot.release", slot, golf::SlotRelease{booking, slot});
  }

  // The answers that a booking was given, without slot.changed.
  std::vector<Told> answers(const std::string& booking) {
    std::vector<Told> out;
    for (Told& one : told())
      if (one.key == booking) out.push_back(std::move(one));
    return out;
  }
  std::vector<std::string> answer_types(const std::string& booking) {
    std::vector<std::string> out;
    for (const Told& one : answers(booking)) out.push_back(one.type);
    return out;
  }
  // Of a booking that was refused once.
  golf::Refusal refusal(const std::string& booking) {
    const auto all = answers(booking);
    if (all.size() != 1 || all[0].type != "slot.reserve.failed") {
      ADD_FAILURE() << booking << " was not refused once";
      return {};
    }
    return from_json<golf::SlotReserveFailed>(all[0].payload).code;
  }
  std::int64_t reservations(const std::string& booking) {
    return number("SELECT COUNT(*) FROM course_reservation WHERE booking_id = '" + booking + "'");
  }
  void expect_invariants() {
    const auto found = from_json<Invariants>(call("GET", "/booking/course/invariants").body);
    for (const Check& check : found.checks) EXPECT_TRUE(check.ok) << check.name << ": " << check.detail;
    EXPECT_EQ(found.checks.size(), 4u);
  }

  std::string course_;
  std::vector<Duration> pauses_;  // of the one thread that handles events; read when it has settled
};

}  // namespace skald::test
