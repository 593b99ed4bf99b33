// What stands behind a lane's number, on both sides: a digest of the ids of all its letters so far. Numbers alone do not
// tell a receiver that was restored from a backup and then got other letters under the same numbers
// (tests/model/README.md).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace skald::tables {

// Behind a letter with these ids. Before the first letter it is empty.
std::string next_chain(std::string_view former, std::span<const std::string> ids);

}  // namespace skald::tables
