#include "store/postgres/parameters.h"

#include <gtest/gtest.h>

#include <limits>

namespace skald::postgres {
namespace {

std::string integers(std::vector<std::int64_t> values) {
  std::string out;
  write_array(out, values);
  return out;
}

std::string texts(std::vector<std::string> values) {
  std::string out;
  write_array(out, values);
  return out;
}

TEST(ArrayLiteral, HoldsIntegersFromTheSmallestToTheLargest) {
  EXPECT_EQ(integers({}), "{}");
  EXPECT_EQ(integers({1, -2}), "{1,-2}");
  EXPECT_EQ(integers({std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}),
            "{-9223372036854775808,9223372036854775807}");
}

TEST(ArrayLiteral, QuotesEveryTextSoThatNullAndCommasStayText) {
  EXPECT_EQ(texts({"a", "NULL", "", "b,c", "{d}"}), R"({"a","NULL","","b,c","{d}"})");
}

TEST(ArrayLiteral, EscapesQuotesAndBackslashes) {
  EXPECT_EQ(texts({R"(say "hi")", R"(C:\x)"}), R"({"say \"hi\"","C:\\x"})");
}

TEST(ArrayLiteral, RefusesAZeroByte) { EXPECT_THROW(texts({std::string("a\0b", 3)}), Invalid); }

TEST(ParametersTest, GivesEachStatementItsOwnValues) {
  Parameters parameters;
  const Param first[] = {1, nullptr, "x"};
  const Param second[] = {2.5, true};
  EXPECT_EQ(parameters.append(first), 0u);
  EXPECT_EQ(parameters.append(second), 3u);
  const char* const* values = parameters.pointers(0, 3);
  EXPECT_STREQ(values[0], "1");
  EXPECT_EQ(values[1], nullptr);
  EXPECT_STREQ(values[2], "x");
  values = parameters.pointers(3, 2);
  EXPECT_STREQ(values[0], "2.5");
  EXPECT_STREQ(values[1], "1");
}

TEST(ParametersTest, ForgetsAStatementWithAZeroByteAltogether) {
  Parameters parameters;
  const Param good[] = {"a"};
  const Param bad[] = {7, std::string_view("x\0y", 3)};
  parameters.append(good);
  EXPECT_THROW(parameters.append(bad), Invalid);
  EXPECT_EQ(parameters.size(), 1u);
  EXPECT_EQ(parameters.append(good), 1u);
  EXPECT_STREQ(parameters.pointers(1, 1)[0], "a");
}

TEST(ParametersTest, TruncatesToNullsAndValuesAlike) {
  Parameters parameters;
  const Param params[] = {nullptr, "long text", nullptr, 3};
  parameters.append(params);
  parameters.truncate(1);
  const Param next[] = {"next"};
  EXPECT_EQ(parameters.append(next), 1u);
  EXPECT_STREQ(parameters.pointers(1, 1)[0], "next");
}

}  // namespace
}  // namespace skald::postgres
