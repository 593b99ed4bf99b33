// What `skald flow` sends that is more than a path.
#pragma once

#include <string>

#include "cli/api.h"
#include "cli/arguments.h"

namespace skald::cli {

// Bodies of requests. Invalid (USAGE) says what the command takes.
std::string new_git(const Arguments& arguments);
std::string new_mcp_server(const Arguments& arguments);
std::string new_integration(const Arguments& arguments);

// Changes a workflow as a file or flags say; the server's answer.
std::string modify_workflow(const Arguments& arguments, const Api& api);

// Answers an open question, whose work is found first. NotFound (NO_OPEN_QUESTION).
std::string answer_question(const Arguments& arguments, const Api& api);

}  // namespace skald::cli
