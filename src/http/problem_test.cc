#include "http/problem.h"

#include <gtest/gtest.h>

namespace skald::http {
namespace {

TEST(Problem, EveryErrorHasItsStatus) {
  EXPECT_EQ(problem_of(Malformed("A", "a")).status, 400);
  EXPECT_EQ(problem_of(Unauthorized("A", "a")).status, 401);
  EXPECT_EQ(problem_of(Forbidden("A", "a")).status, 403);
  EXPECT_EQ(problem_of(NotFound("A", "a")).status, 404);
  EXPECT_EQ(problem_of(Conflict("A", "a")).status, 409);
  EXPECT_EQ(problem_of(Stale("A", "a")).status, 409);
  EXPECT_EQ(problem_of(Refused("A", "a")).status, 409);
  EXPECT_EQ(problem_of(Busy("A", "a")).status, 409);
  EXPECT_EQ(problem_of(LockTimeout("A", "a")).status, 409);
  EXPECT_EQ(problem_of(Invalid("A", "a")).status, 422);
  EXPECT_EQ(problem_of(Unavailable("A", "a")).status, 503);
  EXPECT_EQ(problem_of(CommitUnknown("A", "a")).status, 503);
  EXPECT_EQ(problem_of(Corrupt("A", "a")).status, 500);
  EXPECT_EQ(problem_of(LockOrder("A", "a")).status, 500);
  EXPECT_EQ(problem_of(std::runtime_error("a")).status, 500);
}

TEST(Problem, WhatMayWorkLaterSaysWhen) {
  EXPECT_EQ(problem_of(Busy("A", "a", 1500ms)).retry_after_seconds, 2);
  EXPECT_EQ(problem_of(Busy("A", "a")).retry_after_seconds, 1);
  EXPECT_EQ(problem_of(LockTimeout("A", "a")).retry_after_seconds, 1);
  EXPECT_TRUE(problem_of(Unavailable("A", "a")).retry_after_seconds);
  EXPECT_TRUE(problem_of(CommitUnknown("A", "a")).retry_after_seconds);
  EXPECT_FALSE(problem_of(Conflict("A", "a")).retry_after_seconds);
}

TEST(Problem, TheServersFailuresTellNothingOfTheInside) {
  const Corrupt corrupt("CORRUPT_ROW", "row 17 of table secret");
  const Unavailable down("DATABASE_DOWN", "password of postgresql://user@host");
  const std::runtime_error other("0xdeadbeef");
  for (const std::exception* error : std::initializer_list<const std::exception*>{&corrupt, &down, &other}) {
    const Response response = problem_response(problem_of(*error), "id");
    EXPECT_EQ(response.body.find(error->what()), std::string::npos) << response.body;
  }
  EXPECT_EQ(problem_of(other).code, "INTERNAL");
}

TEST(Problem, TheBodyIsProblemJson) {
  const Response response = problem_response({409, "KEY_IN_FLIGHT", "wait \"a\" bit", 3}, "REQ1");
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(response.headers.at("retry-after"), "3");
  EXPECT_EQ(response.body,
            R"({"type":"/docs/errors/KEY_IN_FLIGHT","title":"Conflict","status":409,"detail":"wait \"a\" bit",)"
            R"("code":"KEY_IN_FLIGHT","instance":"REQ1","retryAfterSeconds":3})");
  EXPECT_EQ(problem_response({401, "MISSING_TOKEN", "x", {}}, "").headers.at("www-authenticate"), "Bearer");
}

TEST(Problem, AnErrorMayTellClientsMore) {
  const Response response = problem_response(problem_of(Refused("X", "no", R"("allowed":["start"])")), "REQ1");
  EXPECT_TRUE(response.body.ends_with(R"("instance":"REQ1","allowed":["start"]})")) << response.body;
}

TEST(Problem, ALongDetailIsCut) {
  EXPECT_LT(problem_response({422, "X", std::string(100'000, 'a'), {}}, "").body.size(), 1'500u);
}

}  // namespace
}  // namespace skald::http
