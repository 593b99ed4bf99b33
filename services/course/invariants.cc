#include "course/invariants.h"

namespace course {

using skald::Invariants;
using skald::Transaction;

Invariants check_invariants(Transaction& tx) {
  skald::Checklist list;
  list.none("seats-within-bounds", tx,
            "SELECT COUNT(*) FROM course_slot WHERE booked_players < 0 OR booked_players > max_players",
            "slots with fewer than no seats booked, or more than they have");
  list.none("seats-reserved", tx,
            "SELECT COUNT(*) FROM course_slot s WHERE s.booked_players <> (SELECT COALESCE(SUM(r.players), 0) FROM "
            "course_reservation r WHERE r.slot_id = s.id AND r.state = 'RESERVED')",
            "slots whose booked seats are not those of their live reservations");
  list.none("status-agrees", tx,
            "SELECT COUNT(*) FROM course_slot WHERE (status = 'AVAILABLE' AND booked_players >= max_players) OR "
            "(status = 'FULLY_BOOKED' AND booked_players < max_players)",
            "slots that are full and AVAILABLE, or FULLY_BOOKED and not full");
  list.none("reservations-have-a-slot", tx,
            "SELECT COUNT(*) FROM course_reservation r WHERE r.state = 'RESERVED' AND NOT EXISTS (SELECT 1 FROM "
            "course_slot s WHERE s.id = r.slot_id)",
            "live reservations of a slot that is not there");
  return list.take();
}

void add_invariants(skald::Database& db, skald::Router& router) {
  router.get("/booking/course/invariants", skald::Access::admin,
             skald::describe<void, Invariants>("What must hold of slots and reservations, checked now"),
             [&db](const skald::Request&) {
               return db.read_result([](Transaction& tx) { return skald::Response::json(200, check_invariants(tx)); });
             });
}

}  // namespace course
