#include "agentflow/cost.h"

#include <gtest/gtest.h>

#include "skald/error.h"

namespace agentflow {
namespace {

std::optional<double> cost_in(const CostRule& rule, std::string_view output) {
  CostReader reader(rule);
  reader.read(output);
  reader.finish();
  return reader.cost();
}

const CostRule kByPattern{.pattern = R"(cost: \$([0-9.]+))"};
const CostRule kByJson{.json = "usage.total"};

TEST(Cost, TheLastMatchOfThePatternCounts) {
  EXPECT_EQ(cost_in(kByPattern, "cost: $0.25\nwork\ncost: $1.5 cost: $2.5\nend"), 2.5);
  EXPECT_EQ(cost_in(kByPattern, "nothing of that kind\n"), std::nullopt);
}

TEST(Cost, ALineThatComesInPiecesIsReadAsOne) {
  CostReader reader(kByPattern);
  for (const char c : std::string("cost: $0.75\n")) reader.read({&c, 1});
  EXPECT_EQ(reader.cost(), 0.75);
}

TEST(Cost, TheLastLineThatIsJsonAndHasTheMemberCounts) {
  EXPECT_EQ(cost_in(kByJson, "{\"usage\":{\"total\":1}}\n{\"usage\":{\"total\":0.5}}\n{\"other\":1}\n{no json}\n"),
            0.5);
  EXPECT_EQ(cost_in(kByJson, R"({"usage":{"total":3}})"), 3);
  EXPECT_EQ(cost_in(kByJson, R"({"usage":{"total":"3"}})"), std::nullopt);
  EXPECT_EQ(cost_in(kByJson, R"({"usage":7})"), std::nullopt);
}

TEST(Cost, ANumberThatCannotBeACostIsNone) {
  EXPECT_EQ(cost_in({.pattern = "cost (.*)"}, "cost -1\ncost nan\ncost inf\ncost 1e300\ncost 1.2.3\ncost\n"),
            std::nullopt);
  EXPECT_EQ(cost_in(kByJson, R"({"usage":{"total":-1}})"), std::nullopt);
}

TEST(Cost, ALineWithoutEndIsPassedOverAndTheNextOneIsRead) {
  CostReader reader(kByPattern);
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) reader.read(block);
  reader.read("cost: $9\ncost: $1\n");
  EXPECT_EQ(reader.cost(), 1);
}

// A pattern that goes back over its line would take 2^4000 steps here.
TEST(Cost, ACarelessPatternOnAHostileLineEnds) {
  EXPECT_EQ(cost_in({.pattern = "(a+)+$"}, std::string(CostReader::kPatternLineMax, 'a') + "b\n"), std::nullopt);
}

TEST(Cost, AJsonLineOfManyBracketsIsNoCost) {
  EXPECT_EQ(cost_in(kByJson, "{" + std::string(500'000, '[') + "\n{\"usage\":{\"total\":2}}\n"), 2);
}

TEST(Cost, ARuleThatCannotWorkIsRefusedWithWhatIsWrong) {
  for (const CostRule& rule : {CostRule{.pattern = "cost"},
                               {.pattern = "(a)(b)"},
                               {.pattern = "(["},
                               {.json = "a..b"},
                               {.json = ".a"},
                               {.pattern = "(a)", .json = "a"}})
    EXPECT_THROW(check(rule), skald::Invalid) << rule.pattern << rule.json;
}

}  // namespace
}  // namespace agentflow
