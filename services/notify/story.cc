// What this service adds to the story of a booking: what its customer was told.
#include "notify/paths.h"
#include "notify/record.h"

namespace notify {
namespace {

// Whose they are, booking knows.
std::vector<skald::StoryPart> notifications(skald::Transaction& tx, const std::string& name) {
  skald::StoryPart out;
  for (const auto& one : tx.select<Notification>("WHERE booking_id = $1 ORDER BY at, id", name))
    out.lines.push_back(
        {one.at, "notification",
         std::string(skald::enum_name(one.kind)) + " told by " + std::string(skald::enum_name(one.channel)), one.id,
         one.text});
  return {out};
}

}  // namespace

void add_story(skald::Engine& engine) { engine.tell(notifications); }

}  // namespace notify
