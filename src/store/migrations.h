// Versioned schemas. One row per applied step in skald_schema, with a checksum of
// its text; additive steps let the program before and after run side by side.
#pragma once

#include <span>
#include <string_view>

#include "skald/database.h"

namespace skald {

// Applies what is missing, inside of the caller's transaction, which must exclude
// other migrators. Throws Invalid:
//   SCHEMA_NEWER    the database has a step that this program cannot live with;
//   SCHEMA_CHANGED  a step that was applied has another text now.
void apply_migrations(Transaction& tx, std::string_view component, std::span<const Migration> steps);

}  // namespace skald
