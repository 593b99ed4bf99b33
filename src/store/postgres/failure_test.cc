#include "store/postgres/failure.h"

#include <gtest/gtest.h>

#include "skald/error.h"

namespace skald::postgres {
namespace {

TEST(FailureTable, SaysForEachSqlstateWhatItMeansForTheTransaction) {
  const struct {
    const char* sqlstate;
    Failure kind;
  } expected[] = {
      {"40001", Failure::rolled_back},
      {"40P01", Failure::rolled_back},
      {"55P03", Failure::lock_timeout},
      {"57014", Failure::unavailable},
      {"57P01", Failure::connection_lost},
      {"57P02", Failure::connection_lost},
      {"57P03", Failure::connection_lost},
      {"57P04", Failure::connection_lost},
      {"57P05", Failure::connection_lost},
      {"08000", Failure::connection_lost},
      {"08006", Failure::connection_lost},
      {"25P03", Failure::idle_too_long},
      {"53100", Failure::unavailable},
      {"53200", Failure::unavailable},
      {"53300", Failure::unavailable},
      {"23505", Failure::unique_violation},
      {"23503", Failure::constraint_violation},
      {"23514", Failure::constraint_violation},
      {"23502", Failure::constraint_violation},
      {"25006", Failure::write_in_read},
      {"22021", Failure::bad_text},
      {"42601", Failure::sql_error},
      {"42P01", Failure::sql_error},
      {"22P02", Failure::sql_error},
      {"", Failure::sql_error},
  };
  for (const auto& row : expected) EXPECT_EQ(classify(row.sqlstate), row.kind) << row.sqlstate;
}

TEST(FailureTable, OnlyALostTransactionIsRunAgain) {
  EXPECT_TRUE(is_retryable(Failure::rolled_back));
  EXPECT_TRUE(is_retryable(Failure::connection_lost));
  EXPECT_FALSE(is_retryable(Failure::lock_timeout));
  EXPECT_FALSE(is_retryable(Failure::unavailable));
  EXPECT_FALSE(is_retryable(Failure::unique_violation));
}

template <class E>
void expect_raised(Failure kind, const char* code) {
  try {
    raise({kind, "XX000", "something", 0});
  } catch (const E& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find("something (SQLSTATE XX000)"), std::string::npos) << error.what();
  }
}

TEST(FailureRaised, OfAFullDiskHasItsOwnCodeAsOnSqlite) {
  try {
    raise({Failure::unavailable, "53100", "no space left", 0});
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.code(), "DISK_FULL");
  }
}

TEST(FailureRaised, IsTheErrorThatACallerReactsTo) {
  expect_raised<Unavailable>(Failure::rolled_back, "TRANSACTION_ROLLED_BACK");
  expect_raised<Unavailable>(Failure::connection_lost, "CONNECTION_LOST");
  expect_raised<LockTimeout>(Failure::lock_timeout, "LOCK_TIMEOUT");
  expect_raised<Unavailable>(Failure::unavailable, "DATABASE_UNAVAILABLE");
  expect_raised<Conflict>(Failure::unique_violation, "UNIQUE_VIOLATION");
  expect_raised<Conflict>(Failure::constraint_violation, "CONSTRAINT_VIOLATION");
  expect_raised<Error>(Failure::write_in_read, "WRITE_IN_READ");
  expect_raised<Invalid>(Failure::bad_text, "BAD_TEXT");
  expect_raised<Error>(Failure::sql_error, "SQL_ERROR");
}

}  // namespace
}  // namespace skald::postgres
