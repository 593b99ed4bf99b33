#include "store/user_code.h"

#include <gtest/gtest.h>

#include "store/sqlite/database.h"

namespace skald {
namespace {

class UserCodeTest : public testing::Test {
 protected:
  // Whether the failure is the code's own; `behind` comes after it, in the same transaction.
  bool is_own(const std::function<void()>& code, const std::function<void()>& behind = [] {}) {
    code_.begin_run();
    try {
      db_.write("run", [&](Transaction& tx) {
        code_.begin_run();
        code_.call(tx, code);
        behind();
      });
    } catch (...) {
      return code_.is_own();
    }
    ADD_FAILURE() << "nothing was thrown";
    return false;
  }
  static void lose_session() { throw Unavailable("CONNECTION_LOST", "gone"); }
  static void be_unavailable() { throw Unavailable("PEER_DOWN", "not now"); }
  static void lose_answer() { throw CommitUnknown("COMMIT_UNKNOWN", "who knows"); }
  static void be_locked_out() { throw LockTimeout("LOCK_TIMEOUT", "not free"); }
  static void break_rule() { throw Conflict("UNIQUE_VIOLATION", "is there"); }

  const std::unique_ptr<Clock> clock_ = system_clock();
  const std::unique_ptr<Random> random_ = system_random();
  sqlite::SqliteDatabase db_{{*clock_, *random_, silent_observer()}, {.path = ":memory:", .full_sync = false}};
  UserCode code_;
};

TEST_F(UserCodeTest, WhatLeavesItIsItsOwnWhateverItsType) {
  for (const auto& code : {be_unavailable, lose_answer, be_locked_out, break_rule}) EXPECT_TRUE(is_own(code));
  EXPECT_FALSE(code_.is_watched());
}

TEST_F(UserCodeTest, ALostSessionIsAnOutageOnceAndItsOwnThen) {
  EXPECT_FALSE(is_own(lose_session));
  EXPECT_TRUE(code_.is_watched());
  EXPECT_TRUE(is_own(lose_session));
  code_.forgive();
  EXPECT_FALSE(is_own(lose_session));
}

TEST_F(UserCodeTest, WhatShowsBehindItIsAnOutageWhereItMayComeFromTheDatabase) {
  const auto nothing = [] {};
  for (const auto& behind : {lose_session, be_unavailable, lose_answer, be_locked_out})
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_own(nothing, behind));
  EXPECT_TRUE(is_own(nothing, break_rule));
}

TEST_F(UserCodeTest, WhatFailsBeforeItIsAnOutageWhateverItsType) {
  code_.begin_run();
  try {
    break_rule();
  } catch (const std::exception&) {
    EXPECT_FALSE(code_.is_own());
  }
}

// The transaction came again, and the second time the server could not even be reached.
TEST_F(UserCodeTest, AnotherFailureThanTheOneThatLeftItIsNotItsOwn) {
  EXPECT_TRUE(is_own(be_unavailable));
  try {
    throw Unavailable("CONNECT_FAILED", "nobody there");
  } catch (const std::exception&) {
    EXPECT_FALSE(code_.is_own());
  }
}

TEST_F(UserCodeTest, WhatIsNoExceptionIsItsOwnAsAnyOther) {
  EXPECT_TRUE(is_own([] { throw 1; }));
}

TEST_F(UserCodeTest, TheEndOfASimulatedProcessIsNobodysFault) {
  EXPECT_FALSE(is_own([] { throw EndOfProcess{}; }));
}

}  // namespace
}  // namespace skald
