// Files that are read and written whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skald::process {

// None: it is not there, or cannot be read. At most 1 MiB is read.
std::optional<std::string> read_small_file(const std::string& path);

bool file_exists(const std::string& path);

enum class Durable { no, yes };
enum class Existing { replaced, kept };

// folder/name, which a reader sees whole or not at all. `durable`: it is on disk when this returns. A file of that name
// is replaced, or kept as it is; kept, another writer's at the same moment, too. Returns 0 or the error's number.
int write_small_file(const std::string& folder, const std::string& name, std::string_view text, Durable durable,
                     Existing existing = Existing::replaced);

// Names in a folder are on disk when this returns.
int sync_folder(const std::string& folder);

// All of it, across short writes. Returns how much was written; errno says why that is less.
std::size_t write_all(int descriptor, std::string_view text);

}  // namespace skald::process
