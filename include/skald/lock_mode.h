// How a semantic lock is held.
#pragma once

#include <boost/describe.hpp>

namespace skald {

// shared: side by side with others that hold it shared (work that commutes), never
// with one that holds it exclusively.
enum class LockMode { shared, exclusive };
BOOST_DESCRIBE_ENUM(LockMode, shared, exclusive)
inline constexpr LockMode shared = LockMode::shared;
inline constexpr LockMode exclusive = LockMode::exclusive;

}  // namespace skald
