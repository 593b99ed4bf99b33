// Limits that the system sets to a process.
#pragma once

#include <string>

namespace skald::cli {

// What to do where the text of an error tells of one (open files, threads, memory, the size of
// files); empty where it does not.
std::string advice_on_limits(const std::string& text);

}  // namespace skald::cli
