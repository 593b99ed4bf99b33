#include "booking/ledger.h"

namespace booking {
namespace {

// `amount` goes from the customer to the sales, or back where it is negative. The entry's id
// makes a second one of its kind impossible.
void post(skald::Transaction& tx, const Booking& booking, const std::string& kind, std::int64_t amount) {
  const std::string id = booking.id + "." + kind;
  tx.enqueue("INSERT INTO booking_entry (id, booking_id, kind, at) VALUES ($1, $2, $3, $4)", id, booking.id, kind,
             tx.now());
  tx.enqueue(
      "INSERT INTO booking_posting (entry_id, account, amount, currency) VALUES ($1, $2, $3, $4), ($1, 'sales', $5, "
      "$4)",
      id, "customer:" + booking.customer, -amount, booking.currency, amount);
}

}  // namespace

bool Ledger::charge(skald::Transaction& tx, const Booking& booking) {
  if (charge_max_ > 0 && booking.amount > charge_max_) return false;
  post(tx, booking, "charge", booking.amount);
  return true;
}

void Ledger::refund(skald::Transaction& tx, const Booking& booking, std::int64_t amount) {
  if (amount > 0) post(tx, booking, "refund", -amount);
}

}  // namespace booking
