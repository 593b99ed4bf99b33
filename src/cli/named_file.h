// Files that somebody names to a command.
#pragma once

#include <string>

namespace skald::cli {

// The whole of it. Invalid with `code` says why it cannot be had (there is none, it is a folder,
// it may not be read) and then what to do.
std::string read_named_file(const std::string& path, const char* code, const std::string& what_to_do);

}  // namespace skald::cli
