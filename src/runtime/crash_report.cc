#include "runtime/crash_report.h"

#include "dead_letter/undertaker.h"
#include "outbox/handling.h"
#include "saga/instance.h"
#include "skald/json.h"

namespace skald::runtime {
namespace {

constexpr std::size_t kRetriedTogether = 16;

}  // namespace

void report_crashes(Env env, Database& db, const CrashNotes& notes) {
  using tables::blame::Kind;
  notes.take([&](const CrashNotes::Note& note) {
    if (note.kind != saga::kSagaNote && note.kind != outbox::kEventNote) return;
    const Kind kind = note.kind == saga::kSagaNote ? Kind::saga : Kind::event;
    bool known = false;
    db.write("count a crash",
             [&](Transaction& tx) { known = tables::blame::count_report(tx, note.worker, kind, note.id); });
    if (!known) return;  // its first transaction was never committed
    env.observer.count("crashes_reported_total");
    env.observer.log(
        Observer::Level::error,
        kind == Kind::saga ? "a step of this saga killed its process" : "a handler of this event killed its process",
        std::string(kind == Kind::saga ? "\"saga\":" : "\"event\":") + to_json(note.id) +
            ",\"worker\":" + to_json(note.worker));
  });
}

std::uint64_t retry_crashed(Env env, Database& db, const outbox::Routing& routing) {
  std::uint64_t partitions = 0;
  db.write("retry what crashed", [&](Transaction& tx) {
    partitions = 0;
    for (const std::string& id : tables::blame::take_due_events(tx, kRetriedTogether))
      dead_letter::try_again_alone(tx, env.random, id, [&](Transaction& same, const Entry& entry) {
        routing.settle(same, entry, EntryStatus::PENDING);
        partitions |= std::uint64_t{1} << entry.partition;
      });
  });
  return partitions;
}

}  // namespace skald::runtime
