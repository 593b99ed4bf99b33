// What processes that died have noted, counted against what they died of.
#pragma once

#include "env/crash_note.h"
#include "skald/database.h"

namespace skald::runtime {

// Throws what the database throws; the notes are still there then.
void report_crashes(Env env, Database& db, const CrashNotes& notes);

}  // namespace skald::runtime
