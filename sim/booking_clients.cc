#include "sim/booking_clients.h"

#include "booking/record.h"
#include "booking/views.h"
#include "golf/events.h"
#include "sim/post_checks.h"
#include "sim/signals.h"
#include "store/tables/outbox.h"

namespace skald::sim {
namespace {

constexpr int kCustomers = 5, kWishesMax = 60;

Caller customer(const std::string& name) { return {.role = Role::customer, .subject = name}; }

std::string member(const Response& response, std::string_view name) {
  return std::string(json::parse(response.body).as_object().at(name).as_string());
}

}  // namespace

// Few seats, so that they run out; starts on both sides of what the refund depends on, and
// some that come while the run is under way.
void BookingClients::open_slots() {
  static constexpr Duration starts[] = {40s, 100s, 20h, 30h, 5 * 24h, 9 * 24h};
  static constexpr int prices[] = {0, 1000, 1001, 3000};
  const auto course = site_.call(Service::course, kAdmin, request_of("POST", "/booking/courses", R"({"name":"Sim"})"));
  const std::string course_id = member(course.value(), "id");
  for (int i = stage_.dice.between(2, 4); i > 0; --i) {
    const Duration start = stage_.dice.pick(starts) + stage_.dice.between(0s, 20s);
    const auto slot = site_.call(
        Service::course, kAdmin,
        request_of("POST", "/booking/slots",
                   R"({"courseId":")" + course_id + R"(","startsAt":")" + format_time(stage_.timeline.wall() + start) +
                       R"(","maxPlayers":)" + std::to_string(stage_.dice.between(1, 6)) + R"(,"pricePerPlayer":)" +
                       std::to_string(stage_.dice.pick(prices)) + "}"));
    slots_.push_back(member(slot.value(), "id"));
  }
}

void BookingClients::act() {
  const int choice = stage_.dice.between(0, 9);
  if (choice <= 3) book();
  else if (choice <= 5 && !wishes_.empty()) ask(stage_.dice.pick(wishes_));
  else if (choice <= 7) cancel();
  else if (choice == 8) change_slot();
  else attend();
}

void BookingClients::book() {
  if (std::ssize(wishes_) >= kWishesMax) return;
  const std::string number = std::to_string(wishes_.size());
  Wish& wish = wishes_.emplace_back();
  wish.customer = "c" + std::to_string(stage_.dice.below(kCustomers));
  wish.key = "wish-" + number;
  wish.body =
      R"({"slotId":")" + stage_.dice.pick(slots_) + R"(","players":)" + std::to_string(stage_.dice.between(1, 3)) + "}";
  ask(wish);
}

// The first time, again because no answer came, or again for no reason.
void BookingClients::ask(Wish& wish) {
  if (wish.settled) stage_.markers.hit(Marker::request_repeated);
  if (wish.settled && stage_.dice.chance(200)) return ask_with_another_body(wish);
  const std::string key = wish.key;   // others may ask meanwhile, and move the wish
  const auto index = static_cast<std::size_t>(&wish - wishes_.data());
  const auto answer =
      site_.call(Service::booking, customer(wish.customer), request_of("POST", "/booking/bookings", wish.body, key));
  Wish& same = wishes_[index];
  if (!answer || answer->status >= 500 || answer->status == 409 || answer->status == 404 || answer->status == 422)
    return;
  if (answer->status != 202) throw BrokenInvariant{"B9", "a booking is answered with " + answer->body};
  const auto view = from_json<booking::BookingView>(answer->body);
  if (view.status != booking::Status::PENDING)
    throw BrokenInvariant{"B9", "the first answer was PENDING, a later one of the same key is " + answer->body};
  if (same.settled && same.booking != view.id)
    throw BrokenInvariant{"B9", "key " + key + " has made the bookings " + same.booking + " and " + view.id};
  same.settled = true;
  same.booking = view.id;
}

void BookingClients::ask_with_another_body(const Wish& wish) {
  const std::string key = wish.key;
  const auto answer = site_.call(Service::booking, customer(wish.customer),
                                 request_of("POST", "/booking/bookings", wish.body + " ", key));
  if (answer && answer->status == 202) throw BrokenInvariant{"B9", "another body under key " + key + " is taken"};
}

std::vector<BookingClients::Known> BookingClients::bookings(std::string_view condition) {
  std::vector<Known> out;
  disks_.look(Service::booking, [&](Transaction& tx) {
    const Rows rows =
        tx.query("SELECT id, customer FROM booking_record WHERE " + std::string(condition) + " ORDER BY id");
    for (std::size_t i = 0; i < rows.size(); ++i)
      out.push_back({rows.get<std::string>(i, 0), rows.get<std::string>(i, 1)});
  });
  return out;
}

// At every moment: mostly while it is not over, sometimes when it is.
void BookingClients::cancel() {
  const int choice = stage_.dice.between(0, 9);
  const auto known = bookings(choice < 5 ? "status = 'PENDING'" : choice < 9 ? "status = 'CONFIRMED'" : "1 = 1");
  if (known.empty()) return;
  const Known& one = stage_.dice.pick(known);
  const bool admin = stage_.dice.chance(300);
  const auto answer = site_.call(Service::booking, admin ? kAdmin : customer(one.customer),
                                 request_of("POST", "/booking/bookings/" + one.id + "/cancel", "{}"));
  if (!answer) return;
  if (answer->status == 200) return ledger_.cancelled(one.id);
  if (answer->body.find("CANCEL_TOO_LATE") != std::string::npos) stage_.markers.hit(Marker::cancel_too_late);
}

void BookingClients::attend() {
  const auto known = bookings("status = 'CONFIRMED'");
  if (known.empty()) return;
  const auto& one = stage_.dice.pick(known);
  const std::string path = "/booking/bookings/" + one.id + (stage_.dice.chance(500) ? "/complete" : "/no-show");
  const auto answer = site_.call(Service::booking, kAdmin, request_of("POST", path));
  if (answer && answer->status == 200) stage_.markers.hit(Marker::attended);
}

void BookingClients::change_slot() {
  const std::string path =
      "/booking/slots/" + stage_.dice.pick(slots_) + (stage_.dice.chance(400) ? "/close" : "/open");
  site_.call(Service::course, kAdmin, request_of("POST", path));
}

void BookingClients::operate() {
  if (stage_.dice.chance(200)) return send_again();
  if (stage_.dice.chance(150)) return answer_again();
  const Service service = stage_.dice.pick(kServices);
  const bool forget = stage_.dice.chance(500);
  site_.work(service, [&](BookingUnit& unit) {
    try {
      if (!forget) {
        replay_dead(service, unit);
        return;
      }
      unit.db().write("retention", [&](Transaction& tx) {
        if (tables::outbox::forget_completed(tx, tx.now() - stage_.plan.options.retention, 50) > 0)
          stage_.markers.hit(Marker::retention);
      });
    } catch (const Error& error) {
      stage_.trace.note(stage_.now(), {"  operator told", error.code()});
    }
  });
}

// Under an id of its own: to course it is another event, which asks for what may be done already.
void BookingClients::send_again() {
  site_.work(Service::booking, [&](BookingUnit& unit) {
    try {
      const bool release = stage_.dice.chance(500);
      unit.db().write("send again", [&](Transaction& tx) {
        auto known = tx.select<booking::Booking>("ORDER BY id");
        if (release) std::erase_if(known, [](const booking::Booking& one) { return !one.release_sent; });
        if (known.empty()) return;
        const booking::Booking& one = stage_.dice.pick(known);
        tx.emit({.id = std::string(kAgain) + std::to_string(++sent_again_),
                 .type = release ? "slot.release" : "slot.reserve",
                 .key = one.slot_id,
                 .subject = one.id,
                 .payload = release ? to_json(golf::SlotRelease{one.id, one.slot_id})
                                    : to_json(golf::SlotReserve{one.id, one.slot_id, one.players})});
      });
    } catch (const Error& error) {
      stage_.trace.note(stage_.now(), {"  operator told", error.code()});
    }
  });
}

// To who is confirmed, once: a later one would show in the history of a booking that is over by then.
void BookingClients::answer_again() {
  std::vector<booking::Booking> known;
  disks_.look(Service::booking,
              [&](Transaction& tx) { known = tx.select<booking::Booking>("WHERE status = 'CONFIRMED' ORDER BY id"); });
  std::erase_if(known, [&](const booking::Booking& one) { return answered_again_.contains(one.id); });
  if (known.empty()) return;
  const booking::Booking one = stage_.dice.pick(known);
  answered_again_.insert(one.id);
  site_.work(Service::course, [&](BookingUnit& unit) {
    try {
      unit.db().write("answer again", [&](Transaction& tx) {
        tx.emit({.id = std::string(kAgain) + one.id,
                 .type = "slot.reserved",
                 .key = one.id,
                 .subject = one.id,
                 .payload = to_json(golf::SlotReserved{one.id, one.slot_id, one.players})});
      });
    } catch (const Error& error) {
      stage_.trace.note(stage_.now(), {"  operator told", error.code()});
    }
  });
}

bool BookingClients::replay_dead(Service service, BookingUnit& unit) {
  return sim::replay_dead(stage_, disks_.of(service), unit.db(), unit.engine());
}

void BookingClients::check_end() {
  std::map<std::string, std::int64_t> keys;
  for (const Wish& wish : wishes_) ++keys[wish.customer];
  disks_.look(Service::booking, [&](Transaction& tx) {
    for (const Wish& wish : wishes_) {
      if (!wish.settled) continue;
      if (tx.query("SELECT 1 FROM booking_record WHERE id = $1 AND customer = $2", wish.booking, wish.customer).empty())
        throw BrokenInvariant{"B9", wish.customer + " was told of booking " + wish.booking + ", which is not theirs"};
    }
    const Rows rows = tx.query("SELECT customer, COUNT(*) FROM booking_record GROUP BY customer");
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (rows.get<std::int64_t>(i, 1) > keys[rows.get<std::string>(i, 0)])
        throw BrokenInvariant{"B9", rows.get<std::string>(i, 0) + " has more bookings than were asked for"};
  });
}

}  // namespace skald::sim
