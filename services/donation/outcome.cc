#include "donation/outcome.h"

#include "donation/record.h"

namespace donation {

// An entry that is not the donation's own changes nothing. The hash stays the one that was taken:
// the entry's may have been forged.
void keep_outcome(skald::Transaction& tx, const skald::Entry& entry, skald::EntryStatus status) {
  const Status next = status_for(status);
  const auto at = next == Status::ACCEPTED ? std::nullopt : std::optional(tx.now());
  tx.enqueue(
      "UPDATE donation SET status = $3, outcome_at = $4, version = version + 1 WHERE request_id = $1 AND event_id = $2",
      entry.event.subject, entry.id, next, at);
}

}  // namespace donation
