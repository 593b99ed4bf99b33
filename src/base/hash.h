// Hashes and codes. SHA-256 and HMAC by OpenSSL; hash64 for partitions and locks.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace skald {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view data);
Digest hmac_sha256(std::string_view key, std::string_view data);
std::string hex(const Digest& digest);

std::string base64(std::string_view data);
std::string base64url(std::string_view data);                // without padding
// Throws Malformed where the text is not base64 (either alphabet).
std::string base64_decode(std::string_view text);

// Takes as long for a wrong guess as for a right one.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Stable across processes and versions: partitions are stored by it.
std::uint64_t hash64(std::string_view data);

// The fields one after the other, each behind its length, so that no two
// different lists give the same text.
std::string unambiguous(std::initializer_list<std::string_view> fields);

}  // namespace skald
