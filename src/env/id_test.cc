#include "skald/id.h"

#include <gtest/gtest.h>

#include <set>

namespace skald {
namespace {

TEST(Id, OneThatWasMadeIsOneAndWhatCouldLeadElsewhereIsNot) {
  const auto clock = system_clock();
  const auto random = system_random();
  EXPECT_TRUE(is_id(make_id(clock->now(), *random)));
  for (const char* good : {"a", "BK-7Q2M4X", "trip_9"}) EXPECT_TRUE(is_id(good)) << good;
  for (const char* bad : {"", "..", "a/b", "a b", "a.b", "a%2Fb", "\xc3\xa9", "a\n"}) EXPECT_FALSE(is_id(bad)) << bad;
  EXPECT_TRUE(is_id(std::string(64, 'x')));
  EXPECT_FALSE(is_id(std::string(65, 'x')));
  EXPECT_FALSE(is_id(std::string_view("a\0b", 3)));
}

TEST(Id, OnesOfDifferentMicrosecondsSortByTime) {
  const auto random = system_random();
  const Time start = system_clock()->now();
  for (int i = 0; i < 3000; ++i) {
    const Time now = start + i * 1us;
    EXPECT_LT(make_id(now, *random), make_id(now + 1us, *random)) << i;
  }
}

TEST(Id, OnesOfOneMicrosecondDiffer) {
  const auto random = system_random();
  const Time now = system_clock()->now();
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) ids.insert(make_id(now, *random));
  EXPECT_EQ(ids.size(), 10'000u);
}

}  // namespace
}  // namespace skald
