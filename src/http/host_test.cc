#include "http/host.h"

#include <gtest/gtest.h>

namespace skald::http {
namespace {

int status(const HostGuard& guard, std::string_view host, std::string_view origin = "",
           std::string_view local = "127.0.0.1") {
  const auto problem = guard.check(host, origin, local);
  return problem ? problem->status : 200;
}

TEST(Host, TheServersOwnNamesAreTakenWithAndWithoutPort) {
  const HostGuard guard("10.0.0.5", 8080, {});
  for (const char* host :
       {"10.0.0.5", "10.0.0.5:8080", "localhost:8080", "LOCALHOST", "127.0.0.1:8080", "[::1]:8080", "[::1]"})
    EXPECT_EQ(status(guard, host), 200) << host;
}

TEST(Host, AnyOtherNameIsMisdirected) {
  const HostGuard guard("127.0.0.1", 8080, {});
  for (const char* host :
       {"evil.example", "evil.example:8080", "localhost:9", "127.0.0.1.evil.example", "localhost.evil.example"})
    EXPECT_EQ(status(guard, host), 421) << host;
  for (const char* host : {"", ":8080", "localhost:", "localhost:0", "localhost:99999", "a b", "localhost, localhost",
                           "[::1", "[::1]x", "user@localhost"})
    EXPECT_EQ(status(guard, host), 400) << host;
}

TEST(Host, OnAWildcardTheAddressOfTheConnectionIsTaken) {
  const HostGuard guard("0.0.0.0", 8080, {});
  EXPECT_EQ(status(guard, "192.168.1.7:8080", "", "192.168.1.7"), 200);
  EXPECT_EQ(status(guard, "192.168.1.8:8080", "", "192.168.1.7"), 421);
}

TEST(Host, AllowedHostsAreTakenOnTheirPortOrOnAny) {
  const HostGuard guard("127.0.0.1", 8080, {"skald.example", "other.example:99"});
  EXPECT_EQ(status(guard, "skald.example:1234"), 200);
  EXPECT_EQ(status(guard, "other.example:99"), 200);
  EXPECT_EQ(status(guard, "other.example:98"), 421);
  EXPECT_THROW(HostGuard("127.0.0.1", 1, {"a b"}), Invalid);
}

TEST(Host, OnlyTheSameOriginOrAnAllowedOneMayCall) {
  const HostGuard guard("127.0.0.1", 8080, {"skald.example"});
  EXPECT_EQ(status(guard, "localhost:8080", "http://localhost:8080"), 200);
  EXPECT_EQ(status(guard, "localhost:8080", "https://skald.example"), 200);
  EXPECT_EQ(status(guard, "skald.example", "http://skald.example:80"), 200);
  for (const char* origin : {"http://localhost", "http://localhost:8081", "http://evil.example", "null", "file://",
                             "http://127.0.0.1:8080", "http://localhost:8080@evil.example", "http://localhost:8080/x"})
    EXPECT_EQ(status(guard, "localhost:8080", origin), 403) << origin;
}

}  // namespace
}  // namespace skald::http
