#include "http/date.h"

#include <gtest/gtest.h>

namespace skald::http {
namespace {

TEST(HttpDate, IsWrittenAsTheStandardShowsIt) {
  EXPECT_EQ(http_date(parse_time("1994-11-06T08:49:37Z")), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(http_date(parse_time("2024-02-29T23:59:59.999999Z")), "Thu, 29 Feb 2024 23:59:59 GMT");
  EXPECT_EQ(http_date(Time{}), "Thu, 01 Jan 1970 00:00:00 GMT");
}

}  // namespace
}  // namespace skald::http
