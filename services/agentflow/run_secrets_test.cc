#include "agentflow/run_secrets.h"

#include <gtest/gtest.h>

namespace agentflow {
namespace {

TEST(RunSecrets, ThePatternsOfTheStandardNameWhatLooksLikeASecret) {
  const std::vector<std::string> standard = Options{}.secret_variables;
  for (const char* name : {"GITHUB_TOKEN", "OPENAI_API_KEY", "aws_secret", "PASSWORD", "DB_PASSWORD_FILE", "_KEY"})
    EXPECT_TRUE(is_secret_name(standard, name)) << name;
  for (const char* name : {"PATH", "HOME", "KEYBOARD", "TOKENS", "KEY", "MY_KEY_FILE", ""})
    EXPECT_FALSE(is_secret_name(standard, name)) << name;
}

TEST(RunSecrets, AStarStandsForAnyText) {
  EXPECT_TRUE(is_secret_name({"A*B*C"}, "A1B2B3C"));
  EXPECT_TRUE(is_secret_name({"A**"}, "A"));
  EXPECT_TRUE(is_secret_name({"*"}, ""));
  EXPECT_FALSE(is_secret_name({"A*B"}, "AxBy"));
  EXPECT_FALSE(is_secret_name({""}, "A"));
  EXPECT_FALSE(is_secret_name({}, "A"));
}

}  // namespace
}  // namespace agentflow
