// What customers and admins decide of a booking, and how it came to be what it is.
#include "booking/desk.h"
#include "booking/views.h"
#include "skald/controls.h"

namespace booking {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

constexpr std::size_t kReasonBytesMax = 500;

Cause cause_of(const Request& request) { return {.actor = request.caller.subject, .traceparent = request.traceparent}; }

CancelKind kind_of(skald::Role role) {
  switch (role) {
    case skald::Role::admin: return CancelKind::admin;
    case skald::Role::system: return CancelKind::system;
    case skald::Role::customer: break;
  }
  return CancelKind::customer;
}

Response cancel(const Desk& desk, const Request& request, Transaction& tx) {
  const auto asked = request.body.empty() ? Cancellation{} : request.as<Cancellation>();
  const std::string reason = asked.reason.value_or("");
  if (reason.size() > kReasonBytesMax || skald::has_controls(reason, skald::kLineBreaks))
    throw skald::Invalid("BAD_REASON", "reason must be at most 500 bytes without control characters");
  const std::string id = booking_of(tx, request).id;
  return Response::json(
      200, view_of(desk.lifecycle->cancel(tx, id, kind_of(request.caller.role), reason, cause_of(request))));
}

Response attend(const Desk& desk, const Request& request, Transaction& tx, Status outcome) {
  const std::string id = booking_of(tx, request).id;
  return Response::json(200, view_of(desk.lifecycle->attend(tx, id, outcome, cause_of(request))));
}

}  // namespace

void add_booking_decisions(const DeskHandle& desk, skald::Router& router) {
  router.post(
      desk->db(), "/booking/bookings/{id}/cancel", Access::customer,
      skald::describe<Cancellation, BookingView>("Cancel a booking; what is paid back depends on the time left"),
      [desk](const Request& request, Transaction& tx) { return cancel(*desk, request, tx); });
  router.post(
      desk->db(), "/booking/bookings/{id}/complete", Access::admin,
      skald::describe<void, BookingView>("They came and played"),
      [desk](const Request& request, Transaction& tx) { return attend(*desk, request, tx, Status::COMPLETED); });
  router.post(desk->db(), "/booking/bookings/{id}/no-show", Access::admin,
              skald::describe<void, BookingView>("They did not come"),
              [desk](const Request& request, Transaction& tx) { return attend(*desk, request, tx, Status::NO_SHOW); });
}

}  // namespace booking
