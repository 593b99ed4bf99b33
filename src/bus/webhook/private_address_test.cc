#include "bus/webhook/private_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <string>

namespace skald {
namespace {

bool is_private(const std::string& text) {
  sockaddr_storage storage{};
  auto* in = reinterpret_cast<sockaddr_in*>(&storage);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&storage);
  if (inet_pton(AF_INET, text.c_str(), &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &in6->sin6_addr), 1) << text;
    in6->sin6_family = AF_INET6;
  }
  return is_private_address(reinterpret_cast<const sockaddr&>(storage));
}

TEST(PrivateAddress, BlocksEveryRangeFromItsFirstToItsLastAddress) {
  for (const char* text : {"0.0.0.0",
                           "0.255.255.255",
                           "10.0.0.0",
                           "10.255.255.255",
                           "100.64.0.0",
                           "100.100.100.200",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.255.255",
                           "168.63.129.16",
                           "169.254.0.0",
                           "169.254.169.254",
                           "169.254.255.255",
                           "172.16.0.0",
                           "172.31.255.255",
                           "192.0.0.0",
                           "192.0.0.192",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.0.0",
                           "192.168.255.255",
                           "198.18.0.0",
                           "198.19.255.255",
                           "198.51.100.7",
                           "203.0.113.7",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.0",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::7f00:1",
                           "::808:808",
                           "fc00::",
                           "fd00:ec2::254",
                           "fdff::1",
                           "fe80::1",
                           "febf::1",
                           "fec0::1",
                           "ff00::",
                           "ff02::1",
                           "100::1",
                           "2001::1",
                           "2001:0:4136:e378::1",
                           "2001:1ff::1",
                           "2001:db8::1",
                           "3fff::1",
                           "3fff:fff::1",
                           "5f00::1",
                           "64:ff9b:1::1",
                           "1fff::1",
                           "4000::1"})
    EXPECT_TRUE(is_private(text)) << text;
}

TEST(PrivateAddress, LetsTheOpenInternetThrough) {
  for (const char* text :
       {"1.0.0.0",     "9.255.255.255",   "11.0.0.0",        "100.63.255.255",  "100.128.0.0", "126.255.255.255",
        "128.0.0.0",   "168.63.129.15",   "168.63.129.17",   "169.253.255.255", "169.255.0.0", "172.15.255.255",
        "172.32.0.0",  "192.0.1.0",       "192.0.3.0",       "192.167.255.255", "192.169.0.0", "198.17.255.255",
        "198.20.0.0",  "223.255.255.255", "8.8.8.8",         "2000::1",         "2001:200::1", "2001:4860:4860::8888",
        "2001:db7::1", "2001:db9::1",     "2606:4700::1111", "3ffe::1",         "3fff:1000::1"})
    EXPECT_FALSE(is_private(text)) << text;
}

TEST(PrivateAddress, LooksThroughIPv6FormsThatCarryAnIPv4Address) {
  for (const char* prefix : {"::ffff:", "::ffff:0:", "64:ff9b::"}) {
    for (const char* inside : {"127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.1.1", "0.0.0.0", "224.0.0.1"})
      EXPECT_TRUE(is_private(std::string(prefix) + inside)) << prefix << inside;
    EXPECT_FALSE(is_private(std::string(prefix) + "8.8.8.8")) << prefix;
  }
  EXPECT_TRUE(is_private("2002:7f00:1::1"));
  EXPECT_TRUE(is_private("2002:a9fe:a9fe::"));
  EXPECT_TRUE(is_private("2002:c0a8:101::1"));
  EXPECT_FALSE(is_private("2002:808:808::1"));
}

TEST(PrivateAddress, BlocksFamiliesThatAreNotTheInternet) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_TRUE(is_private_address(reinterpret_cast<const sockaddr&>(address)));
}

}  // namespace
}  // namespace skald
