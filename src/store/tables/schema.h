// The engine's own schema: every table below tables/, one component.
#pragma once

#include <span>

#include "skald/database.h"

namespace skald::tables {

inline constexpr std::string_view kComponent = "skald";
std::span<const Migration> migrations();

}  // namespace skald::tables
