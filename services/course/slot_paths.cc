#include <charconv>

#include "course/paths.h"
#include "course/record.h"
#include "course/slot_events.h"
#include "course/validation.h"
#include "skald/conditions.h"
#include "skald/id.h"

namespace course {
namespace {

using golf::Slot;
using skald::Access;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

constexpr const char* kCurrency = "KRW";

[[noreturn]] void refuse_unknown() { throw skald::NotFound("SLOT_NOT_FOUND", "there is no slot of this id"); }

const std::string& id_of(const Request& request) {
  const std::string& id = request.param("id");
  if (!skald::is_id(id)) refuse_unknown();
  return id;
}

StoredSlot slot_of(Transaction& tx, const Request& request) {
  auto slot = tx.find<StoredSlot>(id_of(request));
  if (!slot) refuse_unknown();
  return *slot;
}

Response create_slot(skald::Env env, const Request& request, Transaction& tx) {
  const auto wanted = request.as<NewSlot>();
  const skald::Time now = tx.now();
  check(wanted, now);
  if (!tx.find<Course>(wanted.course_id)) throw skald::NotFound("COURSE_NOT_FOUND", "there is no course of this id");
  StoredSlot slot;
  slot.id = skald::make_id(now, env.random);
  slot.course_id = wanted.course_id;
  slot.starts_at = wanted.starts_at;
  slot.max_players = wanted.max_players;
  slot.price_per_player = wanted.price_per_player;
  slot.currency = wanted.currency.value_or(kCurrency);
  slot.version = 1;
  slot.created_at = now;
  tx.insert(slot);
  tell_changed(tx, slot, request.traceparent);
  return Response::json<Slot>(201, slot);
}

struct Position {
  std::int64_t starts_at = 0;
  std::string id;
};

std::optional<Position> position_of(const Page& page) {
  if (!page.cursor) return std::nullopt;
  const auto parts = page.after(2);
  Position position{0, parts[1]};
  const char* last = parts[0].data() + parts[0].size();
  const auto [end, error] = std::from_chars(parts[0].data(), last, position.starts_at);
  if (error != std::errc() || end != last || !skald::is_id(position.id))
    throw skald::Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  return position;
}

std::vector<StoredSlot> select_slots(Transaction& tx, const Request& request, const Page& page) {
  const auto course_id = id_filter(request, "courseId");
  const auto day = date_filter(request, "date");
  const auto open = bool_filter(request, "open");
  const auto status = skald::enum_filter<golf::SlotStatus>(request, "status", "BAD_STATUS");
  const auto position = position_of(page);
  skald::Conditions conditions;
  if (course_id) conditions.add("course_id = " + conditions.bind(*course_id));
  if (day) {
    conditions.add("starts_at >= " + conditions.bind(*day));
    conditions.add("starts_at < " + conditions.bind(*day + std::chrono::days(1)));
  }
  if (status) conditions.add("status = " + conditions.bind(*status));
  if (open) {
    const std::string now = conditions.bind(tx.now());
    conditions.add(*open ? "status = 'AVAILABLE' AND starts_at > " + now
                         : "(status <> 'AVAILABLE' OR starts_at <= " + now + ")");
  }
  if (position) {
    const std::string start = conditions.bind(position->starts_at), id = conditions.bind(position->id);
    conditions.add("(starts_at, id) > (" + start + ", " + id + ")");
  }
  const std::string limit = conditions.bind(page.limit + 1);
  return tx.select<StoredSlot>(conditions.where() + " ORDER BY starts_at, id LIMIT " + limit, conditions.params());
}

Response list_slots(skald::Database& db, const Request& request) {
  const Page page = Page::of(request);
  const auto rows = db.read_result([&](Transaction& tx) { return select_slots(tx, request, page); });
  return Response::json(200, page.cut(std::vector<Slot>(rows.begin(), rows.end()), [](const Slot& last) {
    return Page::cursor_at({std::to_string(skald::to_micros(last.starts_at)), last.id});
  }));
}

// Closing keeps the bookings; only no more seats are sold.
Response close_slot(const Request& request, Transaction& tx) {
  const auto closed =
      tx.execute("UPDATE course_slot SET status = 'CLOSED', version = version + 1 WHERE id = $1 AND status <> 'CLOSED'",
                 id_of(request));
  const StoredSlot slot = slot_of(tx, request);
  if (closed != 1) throw skald::Conflict("SLOT_ALREADY_CLOSED", "this slot is closed already");
  tell_changed(tx, slot, request.traceparent);
  return Response::json<Slot>(200, slot);
}

Response open_slot(const Request& request, Transaction& tx) {
  const auto opened = tx.execute(
      "UPDATE course_slot SET status = CASE WHEN booked_players >= max_players THEN 'FULLY_BOOKED' ELSE 'AVAILABLE' "
      "END, version = version + 1 WHERE id = $1 AND status = 'CLOSED'",
      id_of(request));
  const StoredSlot slot = slot_of(tx, request);
  if (opened != 1) throw skald::Conflict("SLOT_ALREADY_OPEN", "this slot is not closed");
  tell_changed(tx, slot, request.traceparent);
  return Response::json<Slot>(200, slot);
}

}  // namespace

void add_slot_paths(skald::Database& db, skald::Router& router, skald::Env env) {
  router.post(db, "/booking/slots", Access::admin, skald::describe<NewSlot, Slot>("Offer a tee time", 201),
              [env](const Request& request, Transaction& tx) { return create_slot(env, request, tx); });
  router.get("/booking/slots", Access::customer,
             skald::describe<void, skald::Listing<Slot>>("Tee times, by their start", 200,
                                                         {"courseId", "date", "open", "status"}),
             [&db](const Request& request) { return list_slots(db, request); });
  router.get("/booking/slots/{id}", Access::customer, skald::describe<void, Slot>("A tee time"),
             [&db](const Request& request) {
               return db.read_result([&](Transaction& tx) { return Response::json<Slot>(200, slot_of(tx, request)); });
             });
  router.post(db, "/booking/slots/{id}/close", Access::admin,
              skald::describe<void, Slot>("Sell no more seats of a tee time"), close_slot);
  router.post(db, "/booking/slots/{id}/open", Access::admin, skald::describe<void, Slot>("Sell seats of it again"),
              open_slot);
}

}  // namespace course
