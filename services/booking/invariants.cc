// What must hold of bookings, their money and their seats, across the services. What is
// still on its way counts for neither side: a check does not fail because it looked between
// an event and its answer.
#include <map>

#include "booking/desk.h"
#include "skald/checklist.h"
#include "skald/lenient_json.h"

namespace booking {
namespace {

using skald::Checklist;
using skald::Invariants;
using skald::Transaction;

void check_money(Transaction& tx, Checklist& list) {
  list.none("ledger-balanced", tx,
            "SELECT COUNT(*) FROM (SELECT entry_id FROM booking_posting GROUP BY entry_id, currency HAVING SUM(amount) "
            "<> 0) unbalanced",
            "ledger entries whose postings do not add up to nothing");
  list.none("charged-when-confirmed", tx,
            "SELECT COUNT(*) FROM booking_record b WHERE b.status IN ('CONFIRMED', 'COMPLETED', 'NO_SHOW') AND NOT "
            "EXISTS (SELECT 1 FROM booking_posting p WHERE p.entry_id = b.id || '.charge' AND p.account = 'sales' AND "
            "p.amount = b.amount)",
            "confirmed bookings that were not charged their price");
  list.none("charged-only-then", tx,
            "SELECT COUNT(*) FROM booking_entry e JOIN booking_record b ON b.id = e.booking_id WHERE e.kind = 'charge' "
            "AND b.status IN ('PENDING', 'FAILED')",
            "bookings that were charged and never confirmed");
  list.none("refunded-as-promised", tx,
            "SELECT COUNT(*) FROM booking_record b WHERE COALESCE(b.refund_amount, 0) <> COALESCE((SELECT -p.amount "
            "FROM booking_posting p WHERE p.entry_id = b.id || '.refund' AND p.account = 'sales'), 0)",
            "bookings whose refund is not the one in the ledger");
}

void check_bookings(Transaction& tx, const Options& options, Checklist& list) {
  const auto late = tx.query("SELECT COUNT(*) FROM booking_record WHERE status = 'PENDING' AND created_at < $1",
                             tx.now() - 3 * options.timeout);
  list.none("nobody-stuck", late.get<std::int64_t>(0, 0), "bookings that have been pending for too long");
  list.none("history-complete", tx,
            "SELECT COUNT(*) FROM booking_record b WHERE b.version <> (SELECT COUNT(*) FROM booking_history h WHERE "
            "h.booking_id = b.id)",
            "bookings with a change that their history does not tell");
}

skald::Response asked(const Desk& desk, const std::string& path, std::map<std::string, std::string> query = {}) {
  skald::Request request;
  request.method = "GET";
  request.path = path;
  request.query = std::move(query);
  skald::Response answer = desk.options.ask(request);
  if (answer.status != 200) throw skald::Unavailable("COURSE_UNAVAILABLE", "course answers " + answer.body);
  return answer;
}

std::map<std::string, golf::Reservation> live_reservations(const Desk& desk) {
  std::map<std::string, golf::Reservation> out;
  std::map<std::string, std::string> query = {{"state", "RESERVED"}, {"limit", "200"}};
  while (true) {
    const auto page =
        skald::from_lenient_json<skald::Listing<golf::Reservation>>(asked(desk, "/booking/reservations", query).body);
    for (const golf::Reservation& one : page.items) out[one.booking_id] = one;
    if (!page.next_cursor) return out;
    query["cursor"] = *page.next_cursor;
  }
}

// Seats that a booking surely has, or surely has not.
struct Seats {
  std::int64_t version = 0, players = 0;  // players: 0 where it must have none
  bool operator==(const Seats&) const = default;
};
using Seating = std::map<std::string, Seats>;

Seating settled(Transaction& tx) {
  Seating out;
  const skald::Rows rows = tx.query(
      "SELECT id, version, CASE WHEN status IN ('CONFIRMED', 'COMPLETED', 'NO_SHOW') THEN players ELSE 0 END FROM "
      "booking_record WHERE status <> 'PENDING' AND (release_sent = 0 OR released_at IS NOT NULL)");
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[rows.get<std::string>(i, 0)] = {rows.get<std::int64_t>(i, 1), rows.get<std::int64_t>(i, 2)};
  return out;
}

// Course is read between two looks at the bookings: what was settled and the same in both
// was so while it answered.
void check_seats(const Desk& desk, Checklist& list) {
  const Seating before = desk.db().read_result(settled);
  const auto reservations = live_reservations(desk);
  const Seating after = desk.db().read_result(settled);
  std::int64_t differ = 0;
  for (const auto& [id, seats] : before) {
    const auto still = after.find(id);
    if (still == after.end() || !(still->second == seats)) continue;
    const auto held = reservations.find(id);
    if ((held == reservations.end() ? 0 : held->second.players) != seats.players) ++differ;
  }
  list.none("seats-as-booked", differ, "bookings that hold other seats at course than they should");
  const std::int64_t orphans = desk.db().read_result([&](Transaction& tx) {
    std::int64_t missing = 0;
    for (const auto& [id, one] : reservations)
      if (!after.contains(id) && !tx.find<Booking>(id)) ++missing;
    return missing;
  });
  list.none("no-orphan-reservation", orphans, "reservations without a booking");
}

Invariants check(const Desk& desk) {
  Checklist list;
  desk.db().read([&](Transaction& tx) {
    list = Checklist{};
    check_money(tx, list);
    check_bookings(tx, desk.options, list);
  });
  try {
    for (skald::Check& one :
         skald::from_lenient_json<Invariants>(asked(desk, "/booking/course/invariants").body).checks)
      list.add(std::move(one));
    check_seats(desk, list);
  } catch (const skald::Unavailable& error) {
    list.add("seats-as-booked", false, std::string("course cannot be asked: ") + error.what());
  }
  return list.take();
}

}  // namespace

void add_invariants(const DeskHandle& desk, skald::Router& router) {
  router.get("/booking/invariants", skald::Access::admin,
             skald::describe<void, Invariants>("What must hold of bookings, checked now"),
             [desk](const skald::Request&) { return skald::Response::json(200, check(*desk)); });
}

}  // namespace booking
