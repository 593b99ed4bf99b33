// UTF-8 text.
#pragma once

#include <string_view>

#include "skald/text.h"

namespace skald {

bool is_utf8(std::string_view text);

}  // namespace skald
