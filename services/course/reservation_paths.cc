#include "course/paths.h"
#include "course/record.h"
#include "course/validation.h"
#include "skald/conditions.h"

namespace course {
namespace {

using skald::Access;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

std::vector<golf::Reservation> select_reservations(Transaction& tx, const Request& request, const Page& page) {
  const auto slot_id = id_filter(request, "slotId"), booking_id = id_filter(request, "bookingId");
  const auto state = skald::enum_filter<golf::ReservationState>(request, "state", "BAD_STATE");
  const auto position = page.after(2);
  skald::Conditions conditions;
  if (slot_id) conditions.add("slot_id = " + conditions.bind(*slot_id));
  if (booking_id) conditions.add("booking_id = " + conditions.bind(*booking_id));
  if (state) conditions.add("state = " + conditions.bind(*state));
  if (page.cursor) {
    const std::string booking = conditions.bind(position[0]), slot = conditions.bind(position[1]);
    conditions.add("(booking_id, slot_id) > (" + booking + ", " + slot + ")");
  }
  const std::string limit = conditions.bind(page.limit + 1);
  return tx.select<golf::Reservation>(conditions.where() + " ORDER BY booking_id, slot_id LIMIT " + limit,
                                      conditions.params());
}

}  // namespace

void add_reservation_paths(skald::Database& db, skald::Router& router) {
  router.get("/booking/reservations", Access::admin,
             skald::describe<void, skald::Listing<golf::Reservation>>("Who has, or had, seats, by booking", 200,
                                                                      {"slotId", "bookingId", "state"}),
             [&db](const Request& request) {
               const Page page = Page::of(request);
               auto rows = db.read_result([&](Transaction& tx) { return select_reservations(tx, request, page); });
               return Response::json(200, page.cut(std::move(rows), [](const golf::Reservation& last) {
                 return Page::cursor_at({last.booking_id, last.slot_id});
               }));
             });
}

}  // namespace course
