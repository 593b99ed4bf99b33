#include "donation/outcome.h"

#include "donation/record.h"

namespace donation {

// An entry that is not the donation's own changes nothing. The hash stays the one that was taken:
// the entry's may have been forged.
skald::Settled outcome_keeper(bool has_webhook) {
  return [has_webhook](skald::Transaction& tx, const skald::Entry& entry, skald::EntryStatus status) {
    const bool untold = !has_webhook && status == skald::EntryStatus::COMPLETED;
    const Status next = status_for(status, untold);
    const auto at = next == Status::ACCEPTED && !untold ? std::nullopt : std::optional(tx.now());
    tx.enqueue(
        "UPDATE donation SET status = $3, outcome_at = $4, untold = $5, version = version + 1 WHERE request_id = $1 "
        "AND event_id = $2",
        entry.event.subject, entry.id, next, at, untold ? std::optional(1) : std::nullopt);
  };
}

}  // namespace donation
