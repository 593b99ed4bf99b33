#include "sim/booking_ledger.h"

#include "course/invariants.h"
#include "notify/record.h"
#include "sim/post_checks.h"
#include "sim/signals.h"

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
  std::vector<PostEnd> ends;
  for (const Service service : kServices) ends.push_back({std::string(enum_name(service)), disks_.of(service)});
  for (const PostEnd& end : ends) out += unfinished_events(end);
  disks_.look(Service::booking, [&](Transaction& tx) {
    add(tx.query("SELECT id FROM skald_saga WHERE status IN ('RUNNING', 'WAITING', 'COMPENSATING')"), "saga ");
    add(tx.query("SELECT b.id FROM booking_record b WHERE b.status = 'PENDING' AND NOT EXISTS (SELECT 1 FROM "
                 "skald_saga s WHERE s.id = b.id AND s.status = 'NEEDS_HELP')"),
        "PENDING booking ");
  });
  return out + lanes_apart(ends, stage_.engine_random);
}

}  // namespace skald::sim
