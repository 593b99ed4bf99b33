// skald flow create and skald flow templates: descriptions of workflows, and what becomes of them.
#pragma once

#include <string>

#include "cli/api.h"
#include "cli/arguments.h"

namespace skald::cli {

// Creates the workflow of a file, and starts it with --start; the server's last answer. What is refused is told with
// the file's name and, where it is known, the line. A workflow that was created and not started is named.
std::string create_workflow(const Arguments& arguments, const Api& api);

// The same from a template.
std::string use_template(const Arguments& arguments, const Api& api);

// Keeps a file as a template; with --replace in the place of the one of its name, if there is one.
std::string add_template(const Arguments& arguments, const Api& api);

}  // namespace skald::cli
