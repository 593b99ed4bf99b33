#include "booking/admission.h"

#include "booking/slot_copy.h"
#include "golf/log.h"
#include "skald/controls.h"
#include "skald/id.h"
#include "skald/lenient_json.h"

namespace booking {
namespace {

using skald::Conflict;
using skald::Invalid;
using skald::NotFound;

constexpr std::size_t kCustomerBytesMax = 200;

void object(const std::optional<golf::Slot>& slot, std::int64_t players, skald::Time now) {
  if (!slot) throw NotFound("SLOT_NOT_FOUND", "there is no such time: GET /booking/slots lists them");
  if (players > slot->max_players)
    throw Invalid("BAD_PLAYERS", "players must be 1 to " + std::to_string(slot->max_players) + " at this time");
  if (slot->starts_at <= now) throw Invalid("SLOT_STARTED", "this time has already begun: choose a later one");
  if (slot->status == golf::SlotStatus::CLOSED) throw Conflict("SLOT_CLOSED", "this time is closed: choose another");
  if (slot->booked_players + players > slot->max_players)
    throw Conflict("SLOT_FULL", "only " + std::to_string(slot->max_players - slot->booked_players) +
                                    " places are free at this time: choose fewer, or another time");
}

// In the trace and under the id of the request that needs it.
std::optional<golf::Slot> slot_at_course(const Desk& desk, const std::string& id, const skald::Request& cause) {
  skald::Request request;
  request.method = "GET";
  request.headers["traceparent"] = cause.traceparent;
  request.headers["x-request-id"] = cause.request_id;
  request.path = "/booking/slots/" + id;
  const skald::Response answer = desk.options.ask(request);
  if (answer.status == 404) return std::nullopt;
  if (answer.status != 200)
    throw skald::Unavailable("COURSE_UNAVAILABLE", "the course cannot be asked just now: try again in a moment");
  return skald::from_lenient_json<golf::Slot>(answer.body);
}

}  // namespace

Wanted wanted_by(const skald::Request& request) {
  const auto asked = request.as<NewBooking>();
  Wanted wanted{asked.slot_id, asked.customer.value_or(request.caller.subject), asked.players};
  if (!skald::is_id(wanted.slot_id))
    throw Invalid("BAD_SLOT_ID", "slotId must be the id of a time: GET /booking/slots");
  if (wanted.players < 1 || wanted.players > kPlayersMax)
    throw Invalid("BAD_PLAYERS", "players must be 1 or more, up to what the time has room for");
  if (!request.caller.may_see(wanted.customer))
    throw skald::Forbidden("NOT_YOURS", "only an admin books for somebody else; leave customer out");
  if (wanted.customer.empty() || wanted.customer.size() > kCustomerBytesMax || skald::has_controls(wanted.customer))
    throw Invalid("BAD_CUSTOMER", "customer must be 1 to 200 bytes without control characters");
  return wanted;
}

void admit(const Desk& desk, const skald::Request& request) {
  const Wanted wanted = wanted_by(request);
  skald::Time now;  // the database's: this machine's clock may have jumped
  const auto copy = desk.db().read_result([&](skald::Transaction& tx) {
    auto found = find_copy(tx, wanted.slot_id);
    now = tx.now();
    return found;
  });
  try {
    return object(copy, wanted.players, now);
  } catch (const skald::Error& error) {
    golf::log(desk.env, "[REQ-" + request.request_id + "]", "the copy would refuse, course is asked", "",
              {{"slotId", wanted.slot_id}, {"code", error.code()}});
  }
  const auto slot = slot_at_course(desk, wanted.slot_id, request);
  object(slot, wanted.players, now);
  desk.db().write("learn slot", [&](skald::Transaction& tx) { learn(tx, *slot); });
}

}  // namespace booking
