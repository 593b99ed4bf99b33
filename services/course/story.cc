// What this service adds to the story of a booking: its seats.
#include "course/paths.h"
#include "course/record.h"

namespace course {
namespace {

// Whose they are, booking knows.
std::vector<skald::StoryPart> tell(skald::Transaction& tx, const std::string& name) {
  skald::StoryPart out;
  for (const auto& one : tx.select<golf::Reservation>("WHERE booking_id = $1 ORDER BY created_at", name)) {
    const std::string seats = std::to_string(one.players) + " seats of " + one.slot_id;
    if (one.players > 0) out.lines.push_back({one.created_at, "reservation", seats + " reserved", name, {}});
    if (one.released_at) out.lines.push_back({*one.released_at, "reservation", seats + " released", name, {}});
  }
  return {out};
}

}  // namespace

void add_story(skald::Engine& engine) { engine.tell(tell); }

}  // namespace course
