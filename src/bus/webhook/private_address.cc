#include "bus/webhook/private_address.h"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace skald {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

struct Range4 {
  std::uint32_t network;
  int bits;
};

constexpr std::uint32_t ip(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

constexpr Range4 kPrivate4[] = {
    {ip(0, 0, 0, 0), 8},         // this network
    {ip(10, 0, 0, 0), 8},        //
    {ip(100, 64, 0, 0), 10},     // carrier NAT
    {ip(127, 0, 0, 0), 8},       //
    {ip(168, 63, 129, 16), 32},  // a cloud's metadata service, at a public-looking address
    {ip(169, 254, 0, 0), 16},    // link-local and metadata
    {ip(172, 16, 0, 0), 12},     //
    {ip(192, 0, 0, 0), 24},      // protocol assignments
    {ip(192, 0, 2, 0), 24},      // documentation
    {ip(192, 88, 99, 0), 24},    // 6to4 relays
    {ip(192, 168, 0, 0), 16},    //
    {ip(198, 18, 0, 0), 15},     // benchmarking
    {ip(198, 51, 100, 0), 24},   // documentation
    {ip(203, 0, 113, 0), 24},    // documentation
    {ip(224, 0, 0, 0), 4},       // multicast
    {ip(240, 0, 0, 0), 4},       // reserved and broadcast
};

bool is_private4(std::uint32_t address) {
  return std::any_of(std::begin(kPrivate4), std::end(kPrivate4),
                     [&](const Range4& range) { return (address ^ range.network) >> (32 - range.bits) == 0; });
}

struct Range6 {
  Bytes network;
  int bits;
};

bool within(const Bytes& address, const Range6& range) {
  const auto whole = static_cast<std::size_t>(range.bits / 8);
  if (std::memcmp(address.data(), range.network.data(), whole) != 0) return false;
  const int rest = range.bits % 8;
  return rest == 0 || (address[whole] ^ range.network[whole]) >> (8 - rest) == 0;
}

std::uint32_t embedded(const Bytes& address, std::size_t at) {
  return ip(address[at], address[at + 1], address[at + 2], address[at + 3]);
}

constexpr Range6 kMapped{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
constexpr Range6 kTranslated{{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 96};
constexpr Range6 kNat64{{0, 0x64, 0xff, 0x9b}, 96};
constexpr Range6 k6to4{{0x20, 0x02}, 16};
constexpr Range6 kGlobalUnicast{{0x20}, 3};
constexpr Range6 kPrivateWithinGlobal[] = {
    {{0x20, 0x01, 0x00}, 23},              // protocol assignments, Teredo among them
    {{0x20, 0x01, 0x0d, 0xb8}, 32},        // documentation
    {{0x3f, 0xff, 0x00}, 20},              // documentation
};

// By what is allowed, not by what is forbidden: of all of IPv6 only 2000::/3 is
// given out to the open internet.
bool is_private6(const Bytes& address) {
  if (within(address, kMapped) || within(address, kTranslated) || within(address, kNat64))
    return is_private4(embedded(address, 12));
  if (within(address, k6to4)) return is_private4(embedded(address, 2));
  if (!within(address, kGlobalUnicast)) return true;
  return std::any_of(std::begin(kPrivateWithinGlobal), std::end(kPrivateWithinGlobal),
                     [&](const Range6& range) { return within(address, range); });
}

}  // namespace

bool is_private_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    return is_private4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, &address, sizeof in);
    Bytes bytes;
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return is_private6(bytes);
  }
  return true;
}

}  // namespace skald
