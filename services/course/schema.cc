#include <array>

#include "course/course.h"

namespace course {
namespace {

// A reservation may name a slot that is not there: a release is remembered whatever it names.
constexpr const char* kCourses = R"sql(
  CREATE TABLE course_course (id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at BIGINT NOT NULL);
  CREATE TABLE course_slot (
    id TEXT PRIMARY KEY, course_id TEXT NOT NULL REFERENCES course_course (id), starts_at BIGINT NOT NULL,
    max_players BIGINT NOT NULL, booked_players BIGINT NOT NULL, price_per_player BIGINT NOT NULL,
    currency TEXT NOT NULL, status TEXT NOT NULL, version BIGINT NOT NULL, created_at BIGINT NOT NULL,
    CHECK (booked_players >= 0 AND booked_players <= max_players));
  CREATE INDEX course_slot_start ON course_slot (starts_at, id);
  CREATE INDEX course_slot_course ON course_slot (course_id, starts_at, id);
  CREATE TABLE course_reservation (
    booking_id TEXT NOT NULL, slot_id TEXT NOT NULL, players BIGINT NOT NULL, state TEXT NOT NULL,
    created_at BIGINT NOT NULL, released_at BIGINT, PRIMARY KEY (booking_id, slot_id));
  CREATE INDEX course_reservation_slot ON course_reservation (slot_id, booking_id))sql";

}  // namespace

std::span<const skald::Migration> migrations() {
  static const std::array<skald::Migration, 1> steps = {
      skald::Migration{.version = 1, .name = "courses, slots, reservations", .sql = kCourses, .postgres_sql = ""}};
  return steps;
}

}  // namespace course
