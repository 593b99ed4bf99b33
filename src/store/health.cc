#include "store/health.h"

namespace skald {

bool can_write(Database& db) {
  try {
    db.read([](Transaction& tx) { tx.query("SELECT 1"); });
    if (const StoreHealth health = health_of(db); !health.trouble.empty() && !health.until_restart)
      db.write("look for room", [](Transaction& tx) { tx.execute("UPDATE skald_schema SET version = version"); });
  } catch (const Error&) {
    return false;  // that is the answer
  }
  return health_of(db).trouble.empty();
}

}  // namespace skald
