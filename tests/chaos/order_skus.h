// What is sold while workers die: few products, so that orders meet.
#pragma once

#include <array>

namespace skald::chaos {

inline constexpr std::array<const char*, 5> kSkus = {"bed", "chair", "desk", "lamp", "shelf"};

}  // namespace skald::chaos
