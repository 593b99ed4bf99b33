// skald_definition: the shape of each definition that programs have run, by type and version.
#pragma once

#include <optional>
#include <string>

#include "skald/database.h"

namespace skald::tables::definition {

// Others who enter wait until this transaction ends.
void enter(Transaction& tx);

// Under enter().
std::optional<std::string> shape(Transaction& tx, std::string_view type, int version);
void put(Transaction& tx, std::string_view type, int version, std::string_view shape);

}  // namespace skald::tables::definition
