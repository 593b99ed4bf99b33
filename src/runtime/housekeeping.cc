#include "runtime/housekeeping.h"

#include "outbox/retention.h"
#include "skald/isolation.h"
#include "store/tables/history.h"
#include "store/tables/saga.h"

namespace skald::runtime {
namespace {

constexpr int kBatch = 500;
constexpr Duration kEvery = std::chrono::hours(1);

using Forget = std::int64_t (*)(Transaction& tx, Time before, int most);

void forget(Database& db, std::string_view name, Forget some, Duration retention) {
  std::int64_t gone = 0;
  do {
    gone = db.write_result(name, [&](Transaction& tx) { return some(tx, tx.now() - retention, kBatch); });
  } while (gone == kBatch);
}

}  // namespace

std::vector<Job> housekeeping(Database& db, const EngineOptions& options) {
  const Duration sagas = options.saga_retention, history = options.history_retention;
  return {
      {"skald.retention", kEvery, [&db, kept = options.outbox.retention] { outbox::forget_completed(db, kept); }},
      {"skald.sagas", kEvery, [&db, sagas] { forget(db, "forget sagas", tables::saga::forget_ended, sagas); }},
      {"skald.barriers", kEvery, [&db, sagas] { forget(db, "forget barriers", forget_barriers, sagas); }},
      {"skald.history", kEvery, [&db, history] { forget(db, "forget history", tables::history::forget, history); }},
  };
}

}  // namespace skald::runtime
