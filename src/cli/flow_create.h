// skald flow create
#pragma once

#include <string>

#include "cli/api.h"
#include "cli/arguments.h"

namespace skald::cli {

// Creates the workflow of a file, and starts it with --start; the server's last answer. What is refused is told with
// the file's name and, where it is known, the line. A workflow that was created and not started is named.
std::string create_workflow(const Arguments& arguments, const Api& api);

}  // namespace skald::cli
