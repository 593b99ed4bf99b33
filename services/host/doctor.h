// What a server tells `skald doctor`: GET /api/installation.
#pragma once

#include <string>
#include <vector>

#include "cli/settings.h"
#include "http/router.h"

namespace skald::host {

// `warnings`: of the settings. What lies in the data folder is looked at when it is asked for.
void add_installation_path(http::Routes& routes, const cli::Settings& settings, std::vector<std::string> warnings,
                           bool has_database);

}  // namespace skald::host
