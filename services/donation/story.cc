// What this service adds to the story of a donation: that it came, and what became of it.
#include "donation/paths.h"
#include "donation/record.h"

namespace donation {
namespace {

constexpr std::size_t kSharersMax = 10;  // of one request id

skald::StoryPart part_of(const Donation& donation) {
  skald::StoryPart out;
  out.owner = donation.whose();
  // A row without an owner column has the client's request id for its own.
  if (donation.owner) out.names = {donation.id()};
  const std::string of = "of " + donation.whose();
  out.lines.push_back({donation.created_at, "donation", "ACCEPTED", donation.id(), of});
  if (donation.outcome_at)
    out.lines.push_back({*donation.outcome_at, "donation",
                         donation.is_untold() ? "nobody is told" : std::string(skald::enum_name(donation.status)),
                         donation.id(), of});
  return out;
}

std::vector<skald::StoryPart> tell(skald::Transaction& tx, const std::string& name) {
  static const std::string tail =
      "WHERE request_id = $1 OR " + std::string(kAskedAs) + " = $1 ORDER BY created_at LIMIT $2";
  std::vector<skald::StoryPart> out;
  for (const Donation& donation : tx.select<Donation>(tail, name, kSharersMax)) out.push_back(part_of(donation));
  return out;
}

}  // namespace

void add_story(skald::Engine& engine) { engine.tell(tell); }

}  // namespace donation
