// Each anomaly planted, in many shapes, into the traffic of innocent sagas: it must be
// found with its sagas and its row, and nothing else may be.
#include <gtest/gtest.h>

#include <functional>

#include "isolation/checker/history_fixture.h"

namespace skald::checker {
namespace {

constexpr std::uint64_t kSeeds = 60;  // of each anomaly

struct Expected {
  std::set<std::string> sagas;
  std::string key;
};

// One anomaly among others' work: its moves, in order, with the crowd moving in between.
class Plot {
 public:
  explicit Plot(std::uint64_t seed) : dice(seed), crowd_(dice, dice.below(6), 1 + dice.below(4)) {
    key = "row " + std::to_string(seed);
    // Who has been on the row before, and is gone, changes nothing.
    for (std::size_t left = dice.below(3); left > 0; --left) {
      const std::string saga = "earlier-" + std::to_string(left);
      now([&] { tape.begin(saga); });
      now([&] { tape.read(saga, "look", key); });
      now([&] { tape.write(saga, "save", key); });
      now([&] { tape.complete(saga); });
    }
    now([&] { tape.begin("a"); });
    now([&] { tape.begin("b"); });
  }

  void now(const std::function<void()>& move) {
    crowd_.move_some(tape, 4);
    move();
  }
  void read(const std::string& saga, const std::string& step) {
    now([&] {
      // Without its version, a read has seen the latest: the same.
      if (Operation& one = tape.read(saga, step, key); dice.chance(30)) one.version_read.reset();
    });
  }
  void change(Kind kind, const std::string& saga, const std::string& step) {
    now([&] { tape.change(kind, saga, step, key); });
  }
  void undo(const std::string& saga, const std::string& step, Kind kind) {
    change(kind == Kind::write ? Kind::undo_write : Kind::undo_add, saga, step);
  }
  Kind some_write() { return dice.chance(50) ? Kind::write : Kind::add; }
  void finish(const std::string& saga, Outcome outcome) {
    now([&] { tape.finish(saga, outcome); });
  }
  void complete(const std::string& saga) { finish(saga, Outcome::completed); }

  std::vector<Finding> findings() {
    crowd_.run(tape);
    return check(tape.history);
  }

  Dice dice;
  Tape tape;
  std::string key;

 private:
  Crowd crowd_;
};

void expect_found(Anomaly anomaly, const std::function<Expected(Plot&)>& plant) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Plot plot(seed);
    const Expected expected = plant(plot);
    const auto findings = plot.findings();
    ASSERT_EQ(findings.size(), 1u) << findings_text(findings);
    const Finding& found = findings.front();
    EXPECT_EQ(enum_name(found.anomaly), enum_name(anomaly)) << findings_text(findings);
    std::set<std::string> sagas;
    for (const Part& part : found.parts) sagas.insert(part.saga_id);
    EXPECT_EQ(sagas, expected.sagas);
    EXPECT_EQ(found.key, expected.key);
    EXPECT_FALSE(found.explanation.empty());
    EXPECT_FALSE(found.countermeasure.empty());
    for (const std::string& saga : expected.sagas)
      EXPECT_NE(found.explanation.find("'" + saga + "'"), std::string::npos) << found.explanation;
    if (!found.edges.empty()) {
      EXPECT_EQ(found.edges.front().from, found.edges.back().to);
    }
  }
}

TEST(Planted, DirtyReadIsFound) {
  expect_found(Anomaly::dirty_read, [](Plot& plot) -> Expected {
    const Kind kind = plot.some_write();
    const bool reader_ends_first = plot.dice.chance(50);
    // A refusal that rests on what never was is harm as well.
    const Outcome outcome = plot.dice.chance(30) ? Outcome::compensated : Outcome::completed;
    plot.change(kind, "a", "reserve");
    if (plot.dice.chance(30)) plot.change(kind, "a", "reserve");
    plot.read("b", "decide");
    if (reader_ends_first) plot.finish("b", outcome);
    if (plot.dice.chance(30)) plot.now([&] { plot.tape.note(Kind::compensation, "a", "reserve"); });
    else plot.undo("a", "reserve", kind);
    plot.finish("a", Outcome::compensated);
    if (!reader_ends_first) plot.finish("b", outcome);
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, DirtyReadThroughTheAddOfAnotherSagaIsFound) {
  expect_found(Anomaly::dirty_read, [](Plot& plot) -> Expected {
    plot.now([&] { plot.tape.begin("c"); });
    plot.change(Kind::add, "a", "reserve");
    plot.change(Kind::add, "c", "reserve");
    plot.complete("c");
    plot.read("b", "decide");
    plot.complete("b");
    plot.undo("a", "reserve", Kind::add);
    plot.finish("a", Outcome::compensated);
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, LostUpdateIsFound) {
  expect_found(Anomaly::lost_update, [](Plot& plot) -> Expected {
    const std::int64_t seen = plot.tape.version(plot.key);
    const bool told_by_write = plot.dice.chance(30);  // the write says what it is based on; its read is not recorded
    if (!told_by_write) plot.read("a", "look");
    if (plot.dice.chance(50)) plot.read("b", "look");
    plot.change(plot.some_write(), "b", "save");
    if (plot.dice.chance(50)) plot.complete("b");
    else plot.finish("b", Outcome::parked);
    plot.change(Kind::write, "a", "save");
    // A version counted in the program: both have written the same one.
    if (plot.dice.chance(30)) plot.tape.history.back().version_written = seen + 1;
    if (told_by_write) plot.tape.history.back().version_read = seen;
    plot.complete("a");
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, NonRepeatableReadIsFound) {
  expect_found(Anomaly::non_repeatable_read, [](Plot& plot) -> Expected {
    if (plot.dice.chance(30)) plot.change(Kind::write, "a", "save");
    else plot.read("a", "look");
    if (plot.dice.chance(30)) plot.read("a", "look closer");
    plot.change(plot.some_write(), "b", "save");
    if (plot.dice.chance(50)) plot.change(Kind::add, "a", "count");
    plot.read("a", "look again");
    plot.complete(plot.dice.chance(50) ? "a" : "b");
    plot.complete(plot.tape.history.back().saga_id == "a" ? "b" : "a");
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, AbsoluteUndoOverALaterWriteIsFound) {
  expect_found(Anomaly::dirty_undo, [](Plot& plot) -> Expected {
    plot.change(plot.some_write(), "a", "reserve");
    plot.change(plot.some_write(), "b", "save");
    if (plot.dice.chance(50)) plot.complete("b");
    else plot.finish("b", Outcome::parked);
    plot.change(Kind::undo_write, "a", "reserve");
    plot.finish("a", Outcome::compensated);
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, RelativeUndoOfWhatAnotherOverwroteUnseenIsFound) {
  expect_found(Anomaly::dirty_undo, [](Plot& plot) -> Expected {
    if (plot.dice.chance(50)) plot.read("b", "look");
    plot.change(Kind::add, "a", "reserve");
    plot.change(Kind::write, "b", "save");
    plot.complete("b");
    plot.change(Kind::undo_add, "a", "reserve");
    plot.finish("a", Outcome::compensated);
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, OrphanEffectIsFound) {
  expect_found(Anomaly::orphan_effect, [](Plot& plot) -> Expected {
    const auto effect = [&](const std::string& saga) {
      if (plot.dice.chance(50)) plot.change(plot.some_write(), saga, "reserve");
      else plot.now([&] { plot.tape.note(Kind::action, saga, "reserve", plot.key); });
    };
    plot.complete("b");
    switch (plot.dice.below(4)) {
      case 0:
        effect("a");  // never ends
        return {{"a"}, plot.key};
      case 1:
        plot.complete("a");
        effect("never begun");
        return {{"never begun"}, plot.key};
      case 2:
        plot.complete("a");
        effect("a");
        return {{"a"}, plot.key};
      default:
        effect("a");
        plot.now([&] { plot.tape.note(Kind::action, "a", "charge"); });
        plot.now([&] { plot.tape.note(Kind::compensation, "a", "charge"); });
        plot.finish("a", Outcome::compensated);
        return {{"a"}, plot.key};
    }
  });
}

TEST(Planted, DoubleCompensationIsFound) {
  expect_found(Anomaly::double_compensation, [](Plot& plot) -> Expected {
    plot.complete("b");
    const bool of_row = plot.dice.chance(50);
    const Kind kind = plot.some_write();
    const auto step = [&](Kind what) { plot.now([&] { plot.tape.note(what, "a", "charge", plot.key); }); };
    if (of_row) plot.change(kind, "a", "charge");
    step(Kind::action);
    for (std::size_t left = 2 + plot.dice.below(2); left > 0; --left) {
      if (of_row) plot.undo("a", "charge", kind);
      step(Kind::compensation);
    }
    plot.finish("a", Outcome::compensated);
    return {{"a"}, plot.key};
  });
}

TEST(Planted, EmptyCompensationIsFound) {
  expect_found(Anomaly::empty_compensation, [](Plot& plot) -> Expected {
    plot.complete("b");
    if (plot.dice.chance(50)) {
      plot.now([&] { plot.tape.note(Kind::action, "a", "reserve", plot.key); });
      plot.now([&] { plot.tape.note(Kind::compensation, "a", "reserve", plot.key); });
    }
    if (plot.dice.chance(50)) plot.now([&] { plot.tape.note(Kind::compensation, "a", "charge", plot.key); });
    else plot.undo("a", "charge", plot.some_write());
    plot.finish("a", Outcome::compensated);
    return {{"a"}, plot.key};
  });
}

TEST(Planted, OverlappingLockHoldersAreFound) {
  expect_found(Anomaly::overlapping_locks, [](Plot& plot) -> Expected {
    const bool one_shares = plot.dice.chance(50);
    const auto lock = [&](const std::string& saga, LockMode mode) {
      plot.now([&] { plot.tape.lock(saga, plot.key, mode); });
    };
    if (plot.dice.chance(50)) {
      lock("b", LockMode::exclusive);
      plot.now([&] { plot.tape.note(Kind::unlock, "b", "lock", plot.key); });
    }
    lock("a", one_shares ? LockMode::shared : LockMode::exclusive);
    if (plot.dice.chance(50)) plot.finish("a", Outcome::parked);  // a parked saga keeps its locks
    lock("b", LockMode::exclusive);
    plot.complete("a");
    plot.complete("b");
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, ActionBehindItsUndoIsFound) {
  expect_found(Anomaly::order_inversion, [](Plot& plot) -> Expected {
    plot.complete("b");
    plot.now([&] { plot.tape.note(Kind::compensation, "a", "charge", plot.key); });
    plot.now([&] { plot.tape.note(Kind::action, "a", "charge", plot.key); });
    plot.finish("a", Outcome::compensated);
    return {{"a"}, plot.key};
  });
}

TEST(Planted, VersionsCommittedOutOfOrderAreFound) {
  expect_found(Anomaly::order_inversion, [](Plot& plot) -> Expected {
    plot.change(plot.some_write(), "a", "save");
    plot.tape.history.back().version_written = plot.tape.version(plot.key) + 1;
    plot.change(plot.some_write(), "b", "save");
    plot.tape.history.back().version_written = plot.tape.version(plot.key) - 1;
    plot.complete("a");
    plot.complete("b");
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, ReadOfAnOlderVersionThanBeforeIsFound) {
  expect_found(Anomaly::order_inversion, [](Plot& plot) -> Expected {
    const std::int64_t old = plot.tape.version(plot.key);
    plot.change(plot.some_write(), "b", "save");
    plot.complete("b");
    plot.read("a", "look");
    plot.now([&] { plot.tape.read("a", "look again", plot.key).version_read = old; });
    plot.complete("a");
    return {{"a"}, plot.key};
  });
}

TEST(Planted, CycleOfManySagasIsFound) {
  expect_found(Anomaly::cycle, [](Plot& plot) -> Expected {
    std::vector<std::string> sagas{"a", "b"};
    for (std::size_t left = plot.dice.below(4); left > 0; --left) {
      sagas.push_back("c" + std::to_string(left));
      plot.now([&] { plot.tape.begin(sagas.back()); });
    }
    // Each reads its own row, then overwrites what the next one has read.
    const auto row = [&](std::size_t i) { return i == 0 ? plot.key : "row of " + sagas[i]; };
    for (std::size_t i = 0; i < sagas.size(); ++i) plot.now([&] { plot.tape.read(sagas[i], "look", row(i)); });
    for (std::size_t i = 0; i < sagas.size(); ++i)
      plot.now(
          [&] { plot.tape.change(plot.some_write(), sagas[i], "save", row((i + sagas.size() - 1) % sagas.size())); });
    for (const std::string& saga : sagas) plot.complete(saga);
    return {{sagas.begin(), sagas.end()}, plot.key};
  });
}

TEST(Planted, CycleOfWritesAndReadsOverTwoRowsIsFound) {
  expect_found(Anomaly::cycle, [](Plot& plot) -> Expected {
    // b sees a's first row and not yet its second one; or overwrites the one and is overwritten on the other.
    const bool writes = plot.dice.chance(50);
    const auto touch = [&](const std::string& saga, const std::string& key) {
      plot.now([&] { writes ? plot.tape.write(saga, "touch", key) : plot.tape.read(saga, "touch", key); });
    };
    plot.now([&] { plot.tape.write("a", "save", plot.key); });
    touch("b", plot.key);
    touch("b", "other row");
    plot.now([&] { plot.tape.write("a", "save more", "other row"); });
    plot.complete("b");
    plot.complete("a");
    return {{"a", "b"}, plot.key};
  });
}

TEST(Planted, WhoGoesPastALockIsNamedInTheCountermeasure) {
  Plot plot(1);
  plot.now([&] { plot.tape.lock("a", plot.key, LockMode::exclusive); });
  plot.read("a", "look");
  plot.change(Kind::write, "b", "save");
  plot.complete("b");
  plot.change(Kind::write, "a", "save");
  plot.complete("a");
  const auto findings = plot.findings();
  ASSERT_EQ(findings.size(), 1u) << findings_text(findings);
  EXPECT_NE(findings[0].countermeasure.find("saga 'b' (test.saga) in step 'save' goes past it"), std::string::npos)
      << findings[0].countermeasure;
}

TEST(Planted, NoMoreFindingsThanAskedForAreKept) {
  Tape tape;
  for (int i = 0; i < 100; ++i) tape.write(std::to_string(i), "save", "k");
  EXPECT_EQ(check(tape.history).size(), 100u);
  EXPECT_EQ(check(tape.history, {.findings_max = 7}).size(), 7u);
}

}  // namespace
}  // namespace skald::checker
