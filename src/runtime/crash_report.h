// What processes that died have noted, counted against what they died of.
#pragma once

#include "env/crash_note.h"
#include "outbox/routing.h"
#include "skald/database.h"

namespace skald::runtime {

// Throws what the database throws; the notes are still there then.
void report_crashes(Env env, Database& db, const CrashNotes& notes);

// What was parked because it kills its workers, and is due: it goes alone. The partitions that have some, a bit each.
std::uint64_t retry_crashed(Env env, Database& db, const outbox::Routing& routing);

}  // namespace skald::runtime
