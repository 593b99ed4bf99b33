// A server that nobody asks anything does next to nothing.
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "end_to_end/skald_process.h"
#include "fault_proxy/fault_proxy.h"
#include "fault_proxy/postgres_address.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

// What is measured here is a rate over real time, so real time has to pass.
constexpr int kSeconds = 5;
void let_pass(int seconds) { poll(nullptr, 0, seconds * 1000); }

std::int64_t cpu_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  std::int64_t user = 0, system = 0;
  fields >> user >> system;
  return user + system;
}

void expect_little_cpu(const SkaldServer& server, std::int64_t before) {
  const std::int64_t allowed = sysconf(_SC_CLK_TCK) * kSeconds / 100;  // 1 %
  EXPECT_LE(cpu_ticks(server.pid()) - before, std::max<std::int64_t>(allowed, 2));
}

// Bytes that system calls of the process brought or took.
std::int64_t bytes_moved(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/io");
  std::int64_t sum = 0, value = 0;
  for (std::string name; file >> name >> value;)
    if (name == "rchar:" || name == "wchar:") sum += value;
  return sum;
}

TEST(IdleTest, OnSqliteNothingIsReadOrWritten) {
  const TemporaryFolder folder;
  SkaldServer server({"--data", folder.path().string()});
  EXPECT_EQ(server.request("GET", "/readyz").status, 200);
  let_pass(2);
  const std::int64_t ticks = cpu_ticks(server.pid()), bytes = bytes_moved(server.pid());
  ASSERT_GT(bytes, 0);
  let_pass(kSeconds);
  expect_little_cpu(server, ticks);
  EXPECT_EQ(bytes_moved(server.pid()), bytes);
}

// Told by what passes between the two: the server's own count of transactions has
// its housekeeping in it.
void expect_one_round_trip_per_second(const std::string& services, int engines) {
  const TemporaryFolder folder;
  const ScratchPostgres database;
  const auto [host, port] = postgres_address(database.url());
  const FaultProxy proxy(host, port);
  SkaldServer server({"--services", services, "--data", folder.path().string()},
                     {{"SKALD_DB", proxy.postgres_url(database.url())}});
  EXPECT_EQ(server.request("GET", "/readyz").status, 200);
  let_pass(2);
  const int before = proxy.round_trips();
  ASSERT_GT(before, 0);
  const std::int64_t ticks = cpu_ticks(server.pid());
  let_pass(kSeconds);
  EXPECT_LE(proxy.round_trips() - before, (kSeconds + 1) * engines);
  expect_little_cpu(server, ticks);
}

TEST(IdleTest, OnPostgresqlThereIsAtMostOneRoundTripPerSecond) {
  expect_one_round_trip_per_second("donation,order", 1);
}

// Each of the three has its own engine, and its schema where another would have a database.
TEST(IdleTest, OnPostgresqlEachServiceOfTheBookingSystemHasItsOwn) {
  expect_one_round_trip_per_second("booking,course,notify,user-api", 3);
}

}  // namespace
}  // namespace skald::test
