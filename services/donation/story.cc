// What this service adds to the story of a donation: that it came, and what became of it.
#include "donation/paths.h"
#include "donation/record.h"

namespace donation {
namespace {

skald::StoryPart tell(skald::Transaction& tx, const std::string& name) {
  skald::StoryPart out;
  const auto donation = tx.find<Donation>(name);
  if (!donation) return out;
  out.owner = donation->donor;
  out.lines.push_back({donation->created_at, "donation", "ACCEPTED", name, {}});
  if (donation->outcome_at)
    out.lines.push_back({*donation->outcome_at, "donation", std::string(skald::enum_name(donation->status)), name, {}});
  return out;
}

}  // namespace

void add_story(skald::Engine& engine) { engine.tell(tell); }

}  // namespace donation
