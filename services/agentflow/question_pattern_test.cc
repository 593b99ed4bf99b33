#include "agentflow/question_pattern.h"

#include <gtest/gtest.h>

#include "skald/error.h"

namespace agentflow {
namespace {

TEST(QuestionPattern, TheGroupOfTheLastLineThatMatchesIsTheQuestion) {
  const std::string pattern = "^QUESTION: (.*)$";
  EXPECT_EQ(question_in(pattern, "QUESTION: one?\nQUESTION: two?\r\nbye\n"), "two?");
  EXPECT_EQ(question_in(pattern, "QUESTION: no end?"), "no end?");
  EXPECT_EQ(question_in(pattern, "no QUESTION: here\n"), std::nullopt);
  EXPECT_EQ(question_in(pattern, "QUESTION: \n"), std::nullopt);
  EXPECT_EQ(question_in(pattern, ""), std::nullopt);
}

TEST(QuestionPattern, OnlyTheLastTwentyLinesAndTheBeginningOfEachAreLookedAt) {
  std::string output = "QUESTION: early?\n";
  for (int line = 0; line < 19; ++line) output += "x\n";
  EXPECT_EQ(question_in("^QUESTION: (.*)$", output), "early?");
  EXPECT_EQ(question_in("^QUESTION: (.*)$", output + "x\n"), std::nullopt);
  EXPECT_EQ(question_in("(y)", std::string(1'000, 'x') + "y"), std::nullopt);
  EXPECT_EQ(question_in("(y)", std::string(999, 'x') + "y"), "y");
}

TEST(QuestionPattern, WhatIsNoUtf8IsMadeSome) { EXPECT_EQ(question_in("^(.*)$", "a\xff"), "a?"); }

TEST(QuestionPattern, AnExpressionThatWouldBacktrackForEverEnds) {
  const std::string evil = "^((?:a+)+)b$";
  check_question_pattern(evil);
  EXPECT_EQ(question_in(evil, std::string(1'000, 'a') + "c"), std::nullopt);
}

TEST(QuestionPattern, WhatCannotBeUsedIsRefused) {
  for (const std::string& pattern : {std::string(), std::string("no group"), std::string("(a)(b)"), std::string("("),
                                     std::string("(a{1000})"), std::string("(a)\\1"), std::string(201, 'a') + "(b)"})
    EXPECT_THROW(check_question_pattern(pattern), skald::Invalid) << pattern;
  check_question_pattern("^\\{(.*)\\}$");
}

}  // namespace
}  // namespace agentflow
