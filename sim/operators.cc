#include "sim/operators.h"

#include "store/tables/outbox.h"

namespace skald::sim {

void Operators::act(Process& process, FaultyFile& file) {
  try {
    if (stage_.dice.chance(stage_.plan.rates.tamper)) return tamper();
    const auto letters = dead(false);
    switch (stage_.dice.below(6)) {
      case 0:
      case 1:
        if (!letters.empty()) replay(process, stage_.dice.pick(letters));
        return;
      case 2:
        if (!letters.empty()) discard(process, stage_.dice.pick(letters));
        return;
      case 3: return import(process, file);
      case 4: return retain(process, stage_.plan.options.retention, stage_.dice.between(1, 20));
      default: return process.fallback().reopen();
    }
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  operator told", error.code()});
  }
}

std::vector<std::string> Operators::dead(bool blocking) {
  std::vector<std::string> out;
  stage_.look([&](Transaction& tx) {
    const Rows rows = blocking ? tx.query("SELECT event_id FROM skald_blocked_key ORDER BY event_id")
                               : tx.query("SELECT id FROM skald_dead_letter WHERE state = 'DEAD' ORDER BY id");
    for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<std::string>(i, 0));
  });
  return out;
}

void Operators::replay(Process& process, const std::string& id) {
  std::string key;
  bool out_of_order = false;
  process.db().write("replay", [&](Transaction& tx) {
    dead_letter::replay(tx, process.env().random, id, "sim", [&](Transaction& in, const Entry& entry) {
      key = entry.event.key;
      out_of_order = entry.out_of_order;
      process.routing().settle(in, entry, EntryStatus::PENDING);
    });
  });
  process.wake(std::uint64_t{1} << partition_of(key));
  stage_.markers.hit(Marker::replayed);
  if (out_of_order) stage_.markers.hit(Marker::replayed_out_of_order);
}

void Operators::discard(Process& process, const std::string& id) {
  process.db().write("discard",
                     [&](Transaction& tx) { dead_letter::discard(tx, process.env().random, id, "sim", "not needed"); });
  process.wake(~std::uint64_t{0});
  stage_.markers.hit(Marker::discarded);
}

void Operators::import(Process& process, FaultyFile& file) {
  const auto result = dead_letter::import_fallback_file(process.env(), process.db(), file.path(), "sim");
  file.appended_by_import();
  if (result.imported > 0) stage_.markers.hit(Marker::file_imported);
}

void Operators::retain(Process& process, Duration retention, int limit) {
  const auto gone = process.db().write_result(
      "retention", [&](Transaction& tx) { return tables::outbox::forget_completed(tx, tx.now() - retention, limit); });
  if (gone > 0) stage_.markers.hit(Marker::retention);
}

// Somebody who can write the table changes an event that waits.
void Operators::tamper() {
  stage_.look([&](Transaction& tx) {
    const auto changed = tx.execute(
        "UPDATE skald_outbox SET payload = REPLACE(payload, 'subject', 'subjecT') WHERE id IN "
        "(SELECT id FROM skald_outbox WHERE live = 1 AND status IN (0, 2) ORDER BY seq DESC LIMIT 1)");
    if (changed > 0) stage_.markers.hit(Marker::tampered);
  });
}

}  // namespace skald::sim
