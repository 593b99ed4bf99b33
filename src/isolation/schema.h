// The tables of the plain countermeasures: barrier, version file, permits.
#pragma once

#include <span>

#include "skald/database.h"

namespace skald::isolation {

inline constexpr std::string_view kComponent = "skald.isolation";
std::span<const Migration> isolation_migrations();

}  // namespace skald::isolation
