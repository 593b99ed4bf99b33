#include "runtime/announcement_gap.h"

#include <gtest/gtest.h>

namespace skald::runtime {
namespace {

// Where so many come in a second, for a while.
Duration settled_at(AnnouncementGap& gap, double per_second) {
  Duration now = AnnouncementGap::kMin;
  for (int i = 0; i < 20; ++i)
    now = gap.next(static_cast<int>(per_second * std::chrono::duration<double>(now).count()));
  return now;
}

TEST(AnnouncementGapTest, StaysShortWhereFewCome) {
  AnnouncementGap gap;
  EXPECT_EQ(settled_at(gap, 100), AnnouncementGap::kMin);
}

TEST(AnnouncementGapTest, GrowsWithWhatComes) {
  AnnouncementGap gap;
  EXPECT_LE(settled_at(gap, 400), AnnouncementGap::kMaxOfSome);
  EXPECT_EQ(settled_at(gap, 2000), AnnouncementGap::kMaxOfMany);
}

TEST(AnnouncementGapTest, ShrinksWhenTheManyAreOver) {
  AnnouncementGap gap;
  settled_at(gap, 2000);
  EXPECT_EQ(gap.next(16), AnnouncementGap::kMaxOfMany / 2);
  EXPECT_EQ(gap.next(0), AnnouncementGap::kMin);
}

}  // namespace
}  // namespace skald::runtime
