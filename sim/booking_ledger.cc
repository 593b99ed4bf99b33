#include "sim/booking_ledger.h"

#include "course/invariants.h"
#include "notify/record.h"
#include "sim/signals.h"
#include "store/tables/landing.h"
#include "store/tables/subscriber.h"

namespace skald::sim {

void BookingLedger::heard(const Message& message) {
  const auto sent = from_json<notify::Sent>(message.event.payload);
  auto& ids = heard_[sent.booking_id][std::string(enum_name(sent.kind))];
  ids.insert(sent.id);
  if (ids.size() > 1)
    throw BrokenInvariant{
        "B5", sent.customer + " hears twice that " + sent.booking_id + " is " + std::string(enum_name(sent.kind))};
}

void BookingLedger::check_seats() {
  disks_.look(Service::course, [&](Transaction& tx) {
    for (const Check& check : course::check_invariants(tx).checks)
      if (!check.ok) throw BrokenInvariant{"B1", check.name + ": " + check.detail};
    const Rows rows = tx.query("SELECT id, status, booked_players FROM course_slot");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto id = rows.get<std::string>(i, 0);
      const Seats now{rows.get<std::string>(i, 1), rows.get<std::int64_t>(i, 2)};
      const auto before = slots_.find(id);
      if (before != slots_.end() && before->second.status == "CLOSED" && now.status != "CLOSED" &&
          before->second.booked != now.booked)
        throw BrokenInvariant{"B1", "slot " + id + " was CLOSED and is " + now.status + " by who gave seats back"};
      slots_[id] = now;
    }
  });
}

std::string BookingLedger::unfinished() {
  std::string out;
  const auto add = [&out](const Rows& rows, std::string_view what) {
    for (std::size_t i = 0; i < rows.size() && i < 5; ++i) out += " " + std::string(what) + rows.get<std::string>(i, 0);
  };
  for (const Service service : kServices)
    disks_.look(service, [&](Transaction& tx) {
      add(tx.query("SELECT id FROM skald_outbox WHERE source = '' AND (owed IS NULL OR owed <> 0)"),
          std::string(enum_name(service)) + " owes event ");
      add(tx.query("SELECT o.id FROM skald_outbox o WHERE o.live = 1 AND NOT EXISTS (SELECT 1 FROM skald_blocked_key b "
                   "WHERE b.key = o.key)"),
          std::string(enum_name(service)) + "'s event ");
      if (service != Service::booking) return;
      add(tx.query("SELECT id FROM skald_saga WHERE status IN ('RUNNING', 'WAITING', 'COMPENSATING')"), "saga ");
      add(tx.query("SELECT b.id FROM booking_record b WHERE b.status = 'PENDING' AND NOT EXISTS (SELECT 1 FROM "
                   "skald_saga s WHERE s.id = b.id AND s.status = 'NEEDS_HELP')"),
          "PENDING booking ");
    });
  return out + lanes_apart();
}

// What a sender has settled is what its receiver has landed, lane by lane.
std::string BookingLedger::lanes_apart() {
  std::string out;
  for (const Service from : kServices) {
    std::string id;
    std::map<std::string, std::map<int, LanePlace>> here;
    disks_.look(from, [&](Transaction& tx) {
      id = tables::subscriber::database_id(tx, stage_.engine_random);
      for (const auto& row : tables::subscriber::all(tx)) here[row.name] = tables::subscriber::places(tx, row.name);
    });
    for (const Service to : kServices)
      disks_.look(to, [&](Transaction& tx) {
        const auto there = tables::landing::lasts(tx, id);
        for (const auto& [partition, place] : here[std::string(enum_name(to))]) {
          const auto found = there.find(partition);
          if (place == (found == there.end() ? LanePlace{} : found->second)) continue;
          out += " lane " + std::to_string(partition) + " of " + std::string(enum_name(from)) + " to " +
                 std::string(enum_name(to));
        }
      });
  }
  return out;
}

}  // namespace skald::sim
