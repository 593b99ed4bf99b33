// Bookings: made, read, listed.
#include "booking/admission.h"
#include "booking/desk.h"
#include "booking/number.h"
#include "booking/views.h"
#include "golf/log.h"
#include "skald/conditions.h"
#include "skald/id.h"

namespace booking {
namespace {

using skald::Access;
using skald::Invalid;
using skald::is_id;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

Response create(const Desk& desk, const Request& request, Transaction& tx) {
  const Wanted wanted = wanted_by(request);
  const Booking booking =
      desk.lifecycle->create(tx, wanted, {.actor = request.caller.subject, .traceparent = request.traceparent});
  tx.after_commit([env = desk.env, id = request.request_id, booking] {
    golf::log(env, "[REQ-" + id + "]", "booking CREATED", booking.id,
              {{"requestId", id},
               {"number", booking.number},
               {"slotId", booking.slot_id},
               {"players", std::to_string(booking.players)}});
  });
  Response response = Response::json(202, view_of(booking));
  response.headers["location"] = "/booking/bookings/" + booking.id;
  return response;
}

// Newest first; customers get their own.
std::vector<Booking> list(Transaction& tx, const Request& request, const Page& page) {
  auto customer = request.query_value("customer");
  if (!request.caller.may_see(customer.value_or(""))) customer = request.caller.subject;
  const auto slot = request.query_value("slotId");
  const auto number = request.query_value("number");
  const auto status = skald::enum_filter<Status>(request, "status", "BAD_STATUS");
  const auto after = page.after(1)[0];
  if (!after.empty() && !is_id(after))
    throw Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  skald::Conditions conditions;
  if (customer) conditions.add("customer = " + conditions.bind(*customer));
  if (slot) conditions.add("slot_id = " + conditions.bind(*slot));
  if (number) conditions.add("number = " + conditions.bind(*number));
  if (status) conditions.add("status = " + conditions.bind(*status));
  if (!after.empty()) conditions.add("id < " + conditions.bind(after));
  const std::string limit = conditions.bind(page.limit + 1);
  return tx.select<Booking>(conditions.where() + " ORDER BY id DESC LIMIT " + limit, conditions.params());
}

}  // namespace

// A number does as well as an id. To a customer, the bookings of others are not there.
Booking booking_of(Transaction& tx, const Request& request) {
  const std::string& id = request.param("id");
  std::optional<Booking> booking;
  if (is_number(id)) {
    auto found = tx.select<Booking>("WHERE number = $1", id);
    if (!found.empty()) booking = std::move(found[0]);
  } else if (is_id(id)) {
    booking = tx.find<Booking>(id);
  }
  if (!booking || !request.caller.may_see(booking->customer))
    throw skald::NotFound("BOOKING_NOT_FOUND", "there is no booking with this id");
  return std::move(*booking);
}

void add_booking_paths(const DeskHandle& desk, skald::Router& router) {
  router.post("/booking/bookings", Access::customer,
              skald::describe<NewBooking, BookingView>("Book a time; it is confirmed by itself, see its events", 202),
              [desk](const Request&) {
                return skald::WriteTarget{
                    desk->db(), [desk](const Request& request, Transaction& tx) { return create(*desk, request, tx); },
                    [desk](const Request& request) { admit(*desk, request); }};
              });
  router.get("/booking/bookings", Access::customer,
             skald::describe<void, skald::Listing<BookingView>>("Bookings, newest first", 200,
                                                                {"customer", "slotId", "status", "number"}),
             [desk](const Request& request) {
               const Page page = Page::of(request);
               auto rows = desk->db().read_result([&](Transaction& tx) { return list(tx, request, page); });
               std::vector<BookingView> views;
               for (const Booking& row : rows) views.push_back(view_of(row));
               return Response::json(
                   200, page.cut(std::move(views), [](const BookingView& last) { return Page::cursor_at({last.id}); }));
             });
  router.get("/booking/bookings/{id}", Access::customer,
             skald::describe<void, BookingView>("One booking, by id or number"), [desk](const Request& request) {
               return desk->db().read_result(
                   [&](Transaction& tx) { return Response::json(200, view_of(booking_of(tx, request))); });
             });
}

}  // namespace booking
