#include "donation/record.h"

namespace donation {

using skald::EntryStatus;

Gift gift_of(const Donation& donation) {
  return {donation.asked_as(), donation.donor, donation.amount, donation.currency, donation.message};
}

skald::Event announcement_of(const Gift& gift, std::string donation_id, std::string event_id, std::string traceparent) {
  return {.id = std::move(event_id),
          .type = std::string(kAccepted),
          .key = gift.donor,
          .subject = std::move(donation_id),
          .payload = skald::to_json(gift),
          .traceparent = std::move(traceparent)};
}

skald::Event announcement_of(const Donation& donation) {
  return announcement_of(gift_of(donation), donation.id(), donation.event_id, "");
}

Status status_for(EntryStatus status, bool untold) {
  switch (status) {
    case EntryStatus::COMPLETED: return untold ? Status::ACCEPTED : Status::ANNOUNCED;
    case EntryStatus::DEAD_LETTER: return Status::UNDELIVERED;
    default: return Status::ACCEPTED;
  }
}

namespace {

EntryStatus remembered_status(const Donation& donation) {
  switch (donation.status) {
    case Status::ANNOUNCED: return EntryStatus::COMPLETED;
    case Status::UNDELIVERED: return EntryStatus::DEAD_LETTER;
    default: return donation.is_untold() ? EntryStatus::COMPLETED : EntryStatus::PENDING;
  }
}

}  // namespace

DonationView view_of(const Donation& donation, const std::optional<skald::Entry>& entry, bool staff) {
  DonationView view{.id = donation.id(),
                    .request_id = donation.asked_as(),
                    .owner = donation.whose(),
                    .donor = donation.donor,
                    .amount = donation.amount,
                    .currency = donation.currency,
                    .message = donation.message,
                    .status = donation.status,
                    .notice = std::nullopt,
                    .created_at = donation.created_at,
                    .outcome_at = donation.outcome_at,
                    .outbox = {}};
  view.outbox = {.id = donation.event_id,
                 .status = remembered_status(donation),
                 .retry_count = 0,
                 .next_retry_at = std::nullopt,
                 .last_error = std::nullopt,
                 .content_hash = donation.content_hash,
                 .replaces = donation.replaces};
  if (donation.is_untold()) view.notice = "nobody is told: no webhook for donations was set when it was taken";
  if (!entry) return view;
  view.outbox.status = entry->status;
  view.outbox.retry_count = entry->retry_count();
  view.outbox.content_hash = entry->content_hash;
  if (entry->status == EntryStatus::FAILED) view.outbox.next_retry_at = entry->next_retry_at;
  if (staff && !entry->last_error.empty()) view.outbox.last_error = entry->last_error;
  return view;
}

}  // namespace donation
