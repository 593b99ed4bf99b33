// CRC-32C (Castagnoli), as in iSCSI and ext4.
#pragma once

#include <cstdint>
#include <string_view>

namespace skald {

std::uint32_t crc32c(std::string_view data);

}  // namespace skald
