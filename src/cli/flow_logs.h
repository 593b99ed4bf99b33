// Which task's output is meant.
#pragma once

#include <string>

#include "cli/arguments.h"
#include "cli/json_view.h"

namespace skald::cli {

// NotFound (TASK_NOT_FOUND).
JsonView task_numbered(const JsonView& work, const std::string& n);

// The one that was named; else the last that has begun; where none has, the first if it is to be waited for, and NotFound
// (TASK_NOT_BEGUN) if not.
std::string chosen_task(const Arguments& arguments, const JsonView& work);

}  // namespace skald::cli
