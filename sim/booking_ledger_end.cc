// BookingLedger: what must have come true when everything has ended.
#include <algorithm>

#include "booking/policy.h"
#include "sim/booking_ledger.h"
#include "sim/signals.h"

namespace skald::sim {
namespace {

using booking::Happening;
using booking::Status;

[[noreturn]] void broken(std::string invariant, const std::string& text) {
  throw BrokenInvariant{std::move(invariant), text};
}

std::string named(const booking::Booking& booking) {
  return "booking " + booking.id + " (" + std::string(enum_name(booking.status)) + " " +
         booking.reason_code.value_or("") + ")";
}

bool holds_seats(Status status) {
  return status == Status::CONFIRMED || status == Status::COMPLETED || status == Status::NO_SHOW;
}

}  // namespace

bool BookingLedger::Story::happened(Happening what) const {
  return std::ranges::find(history, what, &booking::History::what) != history.end();
}

std::vector<BookingLedger::Story> BookingLedger::stories() {
  std::vector<Story> out;
  disks_.look(Service::booking, [&](Transaction& tx) {
    for (booking::Booking& one : tx.select<booking::Booking>("ORDER BY id")) {
      auto history = tx.select<booking::History>("WHERE booking_id = $1 ORDER BY seq", one.id);
      out.push_back({std::move(one), std::move(history)});
    }
  });
  return out;
}

void BookingLedger::check_reservations(const std::vector<Story>& stories) {
  std::map<std::string, std::int64_t> reserved;
  disks_.look(Service::course, [&](Transaction& tx) {
    const Rows rows = tx.query("SELECT booking_id, slot_id, players FROM course_reservation WHERE state = 'RESERVED'");
    for (std::size_t i = 0; i < rows.size(); ++i)
      reserved[rows.get<std::string>(i, 0) + " at " + rows.get<std::string>(i, 1)] += rows.get<std::int64_t>(i, 2);
  });
  for (const Story& story : stories) {
    const booking::Booking& one = story.booking;
    const auto held = reserved.find(one.id + " at " + one.slot_id);
    const std::int64_t players = held == reserved.end() ? 0 : held->second;
    const std::int64_t wanted = holds_seats(one.status) ? one.players : 0;
    if (players != wanted)
      broken("B2", named(one) + " has " + std::to_string(players) + " seats and should have " + std::to_string(wanted));
    if (held != reserved.end()) reserved.erase(held);
  }
  if (!reserved.empty()) broken("B3", "nobody has booked the seats of " + reserved.begin()->first);
}

// Who ended without an answer of course, or was confirmed and cancelled, wants no seats: course
// was told so, and has said that it is done.
void BookingLedger::check_given_back(const Story& story) {
  const booking::Booking& one = story.booking;
  const bool wanted = one.status == Status::CANCELLED || one.reason_code == "SAGA_TIMEOUT" ||
                      one.reason_code == "PAYMENT_DECLINED" || story.happened(Happening::LATE_RESERVED);
  if (one.release_sent != wanted) broken("B2", named(one) + (wanted ? " never gave" : " gave") + " its seats back");
  if (one.released_at.has_value() != wanted) broken("B2", named(one) + " was not told that its seats are free");
}

void BookingLedger::check_money(const Story& story, Transaction& tx) {
  const booking::Booking& one = story.booking;
  const auto posted = [&](const std::string& kind) -> std::optional<std::int64_t> {
    const Rows rows =
        tx.query("SELECT amount FROM booking_posting WHERE entry_id = $1 AND account = 'sales'", one.id + "." + kind);
    if (rows.empty()) return std::nullopt;
    return rows.get<std::int64_t>(0, 0);
  };
  const bool confirmed = story.happened(Happening::CONFIRMED);
  const auto charged = posted("charge");
  if (charged.has_value() != confirmed) broken("B4", named(one) + (confirmed ? " was not charged" : " was charged"));
  if (charged && *charged != one.amount) broken("B4", named(one) + " was charged " + std::to_string(*charged));
  std::int64_t refund = 0;
  if (confirmed && one.status == Status::CANCELLED) {
    const auto when = std::ranges::find(story.history, Happening::CANCELLED, &booking::History::what);
    const bool by_customer = one.reason_code == "CANCELLED_BY_CUSTOMER";
    const std::int64_t percent =
        by_customer ? booking::customer_refund_percent(one.starts_at - when->at, stage_.plan.refund_last_day) : 100;
    refund = booking::share_of(one.amount, percent);
    if (refund > 0 && refund < one.amount) stage_.markers.hit(Marker::refunded_in_part);
  }
  if (-posted("refund").value_or(0) != refund)
    broken("B4", named(one) + " was refunded " + std::to_string(-posted("refund").value_or(0)) + " instead of " +
                     std::to_string(refund));
}

// One line per change; each state once and from where it may come.
void BookingLedger::check_history(const Story& story) {
  const booking::Booking& one = story.booking;
  if (one.version != std::ssize(story.history))
    broken("B6", named(one) + " has changed " + std::to_string(one.version) + " times, its history tells " +
                     std::to_string(story.history.size()));
  std::string state;
  bool released = false, late = false;
  for (const booking::History& line : story.history) {
    const std::string what(enum_name(line.what));
    if (line.what == Happening::LATE_RESERVED || line.what == Happening::RELEASED) {
      if (line.what == Happening::RELEASED && std::exchange(released, true))
        broken("B6", named(one) + " was released twice");
      if (line.what == Happening::LATE_RESERVED && std::exchange(late, true))
        broken("B6", named(one) + " was reserved twice: an event was handled again");
      if (state != "FAILED" && state != "CANCELLED") broken("B6", named(one) + " is " + what + " while it is " + state);
      continue;
    }
    const bool may_be = line.what == Happening::CREATED                                       ? state.empty()
                        : line.what == Happening::CONFIRMED || line.what == Happening::FAILED ? state == "CREATED"
                        : line.what == Happening::CANCELLED ? state == "CREATED" || state == "CONFIRMED"
                                                            : state == "CONFIRMED";
    if (!may_be) broken("B6", named(one) + " became " + what + " after " + state);
    state = what;
  }
  if (state != (one.status == Status::PENDING ? "CREATED" : enum_name(one.status)))
    broken("B6", named(one) + " is " + state + " by its history");
}

void BookingLedger::check_told(const Story& story) {
  const booking::Booking& one = story.booking;
  std::set<std::string> wanted;
  if (story.happened(Happening::CONFIRMED)) wanted.insert("CONFIRMED");
  if (one.status == Status::FAILED || one.status == Status::CANCELLED) wanted.emplace(enum_name(one.status));
  std::set<std::string> kinds;
  for (const auto& [kind, ids] : heard_[one.id]) kinds.insert(kind);
  const auto list = [](const std::set<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += " " + word;
    return out.empty() ? std::string(" nothing") : out;
  };
  if (kinds != wanted) broken("B5", named(one) + ": the customer has heard" + list(kinds) + ", not" + list(wanted));
  if (cancelled_.contains(one.id) && one.status != Status::CANCELLED)
    broken("B9", named(one) + " was cancelled, as somebody was told");
}

void BookingLedger::check_copy() {
  const auto slots = [&](Service service, const std::string& table) {
    std::map<std::string, std::string> out;
    disks_.look(service, [&](Transaction& tx) {
      const Rows rows = tx.query("SELECT id, status || ' ' || booked_players || ' v' || version FROM " + table);
      for (std::size_t i = 0; i < rows.size(); ++i) out[rows.get<std::string>(i, 0)] = rows.get<std::string>(i, 1);
    });
    return out;
  };
  const auto copies = slots(Service::booking, "booking_slot");
  for (const auto& [id, slot] : slots(Service::course, "course_slot")) {
    const auto copy = copies.find(id);
    if (copy == copies.end() || copy->second != slot)
      broken("B10", "slot " + id + " is " + slot + ", its copy " + (copy == copies.end() ? "missing" : copy->second));
  }
}

void BookingLedger::check_handling() {
  for (const Service service : kServices)
    disks_.look(service, [&](Transaction& tx) {
      const std::string there = " at " + std::string(enum_name(service));
      if (const Rows rows = tx.query("SELECT id FROM sim_handled WHERE late = 1"); !rows.empty())
        broken("B13", rows.get<std::string>(0, 0) + " was handled after a later event of its key" + there);
      if (const Rows rows = tx.query("SELECT id FROM sim_handled WHERE times > 1"); !rows.empty())
        broken("B14", rows.get<std::string>(0, 0) + " was handled twice" + there);
    });
}

void BookingLedger::mark(const Story& story) {
  const booking::Booking& one = story.booking;
  static constexpr std::pair<std::string_view, Marker> reasons[] = {{"SLOT_FULL", Marker::slot_full},
                                                                    {"SLOT_CLOSED", Marker::slot_closed},
                                                                    {"SLOT_STARTED", Marker::slot_started},
                                                                    {"SAGA_TIMEOUT", Marker::saga_timeout},
                                                                    {"PAYMENT_DECLINED", Marker::payment_declined}};
  for (const auto& [code, marker] : reasons)
    if (one.reason_code == code) stage_.markers.hit(marker);
  const bool confirmed = story.happened(Happening::CONFIRMED), late = story.happened(Happening::LATE_RESERVED);
  if (late) stage_.markers.hit(Marker::late_success);
  if (late && one.status == Status::CANCELLED) stage_.markers.hit(Marker::cancel_races_confirm);
  if (confirmed && one.status == Status::CANCELLED) stage_.markers.hit(Marker::cancelled_when_confirmed);
  if (confirmed && one.amount == 0) stage_.markers.hit(Marker::free_of_charge);
}

void BookingLedger::check_end(const std::map<std::string, std::set<std::string>>& releases) {
  check_seats();
  const std::vector<Story> all = stories();
  check_reservations(all);
  disks_.look(Service::booking, [&](Transaction& tx) {
    if (!tx.query("SELECT entry_id FROM booking_posting GROUP BY entry_id HAVING SUM(amount) <> 0").empty())
      broken("B4", "an entry of the ledger does not balance");
    for (const Story& story : all) {
      check_history(story);
      check_given_back(story);
      check_money(story, tx);
      check_told(story);
      mark(story);
    }
  });
  check_copy();
  check_handling();
  for (const auto& [booking, ids] : releases)
    if (ids.size() > 1) broken("B11", "booking " + booking + " gave its seats back under several ids");
}

}  // namespace skald::sim
