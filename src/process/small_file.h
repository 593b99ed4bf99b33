// Files that are read and written whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skald::process {

// None: it is not there, or cannot be read. At most 1 MiB is read.
std::optional<std::string> read_small_file(const std::string& path);

}  // namespace skald::process
