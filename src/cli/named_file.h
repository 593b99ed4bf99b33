// Files that somebody names to a command.
#pragma once

#include <string>

namespace skald::cli {

// The whole of it. Invalid with `code` says why it cannot be had (there is none, it is a folder,
// it may not be read) and then what to do.
std::string read_named_file(const std::string& path, const char* code, const std::string& what_to_do);

// What to do where a text of an error tells of a limit of the system (open files, threads,
// memory, the size of files); empty where it does not.
std::string advice_on_limits(const std::string& text);

}  // namespace skald::cli
