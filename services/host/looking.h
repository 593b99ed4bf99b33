// An installation's databases as they lie there, for who must change nothing.
#pragma once

#include <string>

#include "cli/settings.h"
#include "skald/env.h"

namespace skald::host {

// What GET /api/overview would tell of them, found without an engine: no file, folder, schema or
// row is made. Of a SQLite file that was not closed it says so and no more. NotFound
// (NO_INSTALLATION) where there is none; Unavailable where one cannot be reached.
std::string look_at_databases(Env env, const cli::Settings& settings);

}  // namespace skald::host
