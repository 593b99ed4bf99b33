// Files that somebody names to a command.
#pragma once

#include <cstddef>
#include <string>

namespace skald::cli {

// The whole of it. Invalid with `code` says why it cannot be had (there is none, it is a folder,
// it may not be read, it is larger than `bytes_max`) and then what to do.
std::string read_named_file(const std::string& path, std::size_t bytes_max, const char* code,
                            const std::string& what_to_do);

}  // namespace skald::cli
