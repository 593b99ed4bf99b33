#include "isolation/isolation_fixture.h"
#include "skald/isolation.h"

namespace skald::test {
namespace {

class Barrier : public IsolationTest {
 protected:
  Passage pass(Side side, const std::string& step = "reserve", const std::string& saga = "s1") {
    return db().write_result("pass", [&](Transaction& tx) { return pass_barrier(tx, saga, step, side); });
  }
};
SKALD_ON_EVERY_STORE(Barrier);

TEST_P(Barrier, LetsActionAndThenUndoPassOnceEach) {
  EXPECT_EQ(pass(Side::action), Passage::first);
  EXPECT_EQ(pass(Side::action), Passage::repeated);
  EXPECT_EQ(pass(Side::undo), Passage::first);
  EXPECT_EQ(pass(Side::undo), Passage::repeated);
  EXPECT_EQ(pass(Side::action), Passage::repeated) << "a late duplicate of what was done and undone";
}

TEST_P(Barrier, AnUndoThatComesFirstKeepsTheLateActionOut) {
  EXPECT_EQ(pass(Side::undo), Passage::overtaken);
  EXPECT_EQ(pass(Side::action), Passage::overtaken);
  EXPECT_EQ(pass(Side::undo), Passage::overtaken);
  EXPECT_EQ(pass(Side::action), Passage::overtaken);
}

TEST_P(Barrier, TellsSagasAndStepsApart) {
  EXPECT_EQ(pass(Side::undo), Passage::overtaken);
  EXPECT_EQ(pass(Side::action, "charge"), Passage::first);
  EXPECT_EQ(pass(Side::action, "reserve", "s2"), Passage::first);
}

TEST_P(Barrier, ForgetsWhatWasRolledBack) {
  EXPECT_THROW(db().write("fails",
                          [](Transaction& tx) {
                            pass_barrier(tx, "s1", "reserve", Side::action);
                            throw Refused("NO", "no");
                          }),
               Refused);
  EXPECT_EQ(pass(Side::undo), Passage::overtaken) << "nothing was done, so nothing is to be undone";
}

TEST_P(Barrier, OldOnesAreForgotten) {
  pass(Side::action);
  const auto forget = [&](Duration age) {
    return db().write_result("forget", [&](Transaction& tx) { return forget_barriers(tx, tx.now() - age, 10); });
  };
  EXPECT_EQ(forget(1h), 0);
  EXPECT_EQ(pass(Side::action), Passage::repeated);
  EXPECT_EQ(forget(-1h), 1);
  EXPECT_EQ(pass(Side::action), Passage::first);
}

class BarrierRace : public IsolationTest {};
SKALD_ON_POSTGRES(BarrierRace);

TEST_P(BarrierRace, IsDecidedByTheRowWhenBothComeAtOnce) {
  for (int round = 0; round < 50; ++round) {
    run_threads(4, [&](int thread) {
      db().write("race", [&](Transaction& tx) {
        const Side side = thread % 2 == 0 ? Side::action : Side::undo;
        const Passage passage = pass_barrier(tx, "s" + std::to_string(round), "reserve", side);
        const std::int64_t change = side == Side::action ? 1 : -1;
        if (passage == Passage::first)
          tx.execute("UPDATE product SET reserved = reserved + $1 WHERE sku = 'lamp'", change);
      });
    });
    ASSERT_EQ(product("lamp").reserved, 0) << "round " << round << ": every action was undone or kept out";
  }
  EXPECT_EQ(count("SELECT count(*) FROM skald_barrier WHERE actions = 2 AND undos = 2"), 50);
}

TEST_P(BarrierRace, TheSecondWaitsForTheEndOfTheFirst) {
  const auto other = other_program(50ms);
  const auto undo = [&] {
    return other->write_result("undo", [](Transaction& tx) { return pass_barrier(tx, "s1", "reserve", Side::undo); });
  };
  db().write("act", [&](Transaction& tx) {
    ASSERT_EQ(pass_barrier(tx, "s1", "reserve", Side::action), Passage::first);
    EXPECT_THROW(undo(), LockTimeout);
  });
  EXPECT_EQ(undo(), Passage::first);
}

}  // namespace
}  // namespace skald::test
