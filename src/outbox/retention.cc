#include "outbox/retention.h"

#include "store/tables/outbox.h"

namespace skald::outbox {
namespace {

constexpr int kBatch = 500;  // short transactions: nobody waits for housekeeping

}  // namespace

std::int64_t forget_completed(Database& db, Duration retention, std::int64_t at_most) {
  std::int64_t total = 0;
  while (total < at_most) {
    const auto gone = db.write_result("forget completed", [&](Transaction& tx) {
      return tables::outbox::forget_completed(tx, tx.now() - retention, kBatch);
    });
    total += gone;
    if (gone < kBatch) break;
  }
  return total;
}

}  // namespace skald::outbox
