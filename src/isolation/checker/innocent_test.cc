#include <gtest/gtest.h>

#include "isolation/checker/history_fixture.h"
#include "skald/env.h"

namespace skald::checker {
namespace {

TEST(InnocentHistory, TenThousandSerialOnesHaveNoFinding) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Dice dice(seed);
    Tape tape;
    Crowd(dice, 2 + dice.below(6), 1 + dice.below(4)).run_serially(tape);
    const auto findings = check(tape.history);
    ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << findings_text(findings);
  }
}

TEST(InnocentHistory, SagasSideBySideThatKeepToTheirLocksHaveNoFinding) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Dice dice(seed);
    Tape tape;
    Crowd(dice, 2 + dice.below(12), 1 + dice.below(6)).run(tape);
    const auto findings = check(tape.history);
    ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << findings_text(findings);
  }
}

// Whether the conflicts of all pairs of operations, by definition and without any cleverness, close a circle.
bool has_circle(const std::vector<Operation>& history) {
  std::map<std::string, std::set<std::string>> after;
  for (std::size_t i = 0; i < history.size(); ++i)
    for (std::size_t j = i + 1; j < history.size(); ++j) {
      const Operation &a = history[i], &b = history[j];
      if (a.saga_id == b.saga_id || a.key.empty() || a.key != b.key) continue;
      if (a.kind == b.kind && a.kind != Kind::write) continue;
      after[a.saga_id].insert(b.saga_id);
    }
  for (std::size_t round = 0; round < after.size(); ++round)
    for (auto& [from, reached] : after)
      for (const std::string& middle : std::set(reached))
        if (after.contains(middle)) reached.insert(after[middle].begin(), after[middle].end());
  return std::any_of(after.begin(), after.end(), [](const auto& one) { return one.second.contains(one.first); });
}

TEST(RandomHistory, IsFoundFaultyExactlyWhenNoSerialOrderExplainsIt) {
  std::size_t faulty = 0, fine = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Dice dice(seed);
    Tape tape;
    const std::size_t sagas = 2 + dice.below(3), keys = 1 + dice.below(3);
    for (std::size_t i = 0; i < sagas; ++i) tape.begin("s" + std::to_string(i));
    for (std::size_t left = 2 + dice.below(8); left > 0; --left) {
      const std::string saga = "s" + std::to_string(dice.below(sagas)), step = "step " + std::to_string(left);
      const std::string key = "k" + std::to_string(dice.below(keys));
      if (dice.chance(50)) tape.read(saga, step, key);
      else tape.change(dice.chance(50) ? Kind::write : Kind::add, saga, step, key);
    }
    for (std::size_t i = 0; i < sagas; ++i) tape.complete("s" + std::to_string(i));
    const auto findings = check(tape.history);
    const bool circle = has_circle(tape.history);
    ASSERT_EQ(!findings.empty(), circle) << "seed " << seed << "\n" << findings_text(findings);
    ++(circle ? faulty : fine);
  }
  EXPECT_GT(faulty, 1000u);
  EXPECT_GT(fine, 1000u);
}

TEST(InnocentHistory, AddsOfManySagasThatAreUndoneByAddsHaveNoFinding) {
  Dice dice(1);
  Tape tape;
  for (int i = 0; i < 100; ++i) {
    tape.begin(std::to_string(i));
    tape.change(Kind::add, std::to_string(i), "reserve", "k");
  }
  for (int i = 0; i < 100; ++i) {
    const bool fails = dice.chance(50);
    if (fails) tape.change(Kind::undo_add, std::to_string(i), "reserve", "k");
    tape.finish(std::to_string(i), fails ? Outcome::compensated : Outcome::completed);
  }
  EXPECT_TRUE(check(tape.history).empty());
}

TEST(InnocentHistory, AStepThatRereadsAfterAChangeHasNoFinding) {
  Tape tape;
  tape.begin("a");
  tape.begin("b");
  tape.read("a", "look", "k");
  tape.write("b", "save", "k");
  tape.complete("b");
  tape.read("a", "look", "k");
  tape.write("a", "save", "k").version_read = 1;
  tape.complete("a");
  EXPECT_TRUE(check(tape.history).empty()) << findings_text(check(tape.history));
}

TEST(InnocentHistory, AStepMayRunAgainAfterItWasUndone) {
  Tape tape;
  tape.begin("a");
  for (int round = 0; round < 3; ++round) {
    tape.note(Kind::action, "a", "charge");
    tape.write("a", "save", "k");
    tape.change(Kind::undo_write, "a", "save", "k");
    tape.note(Kind::compensation, "a", "charge");
  }
  tape.compensated("a");
  EXPECT_TRUE(check(tape.history).empty()) << findings_text(check(tape.history));
}

TEST(InnocentHistory, AnEffectThatIsMeantToStayIsNoOrphan) {
  Tape tape;
  tape.begin("a");
  tape.write("a", "audit", "k").lasting = true;
  tape.compensated("a");
  EXPECT_TRUE(check(tape.history).empty());
  tape.history[1].lasting = false;
  EXPECT_EQ(check(tape.history).size(), 1u);
}

TEST(InnocentHistory, AWindowIsNotAskedForWhatLiesOutside) {
  Tape tape;
  tape.write("a", "save", "k");
  tape.note(Kind::compensation, "a", "charge");
  tape.begin("b");
  tape.write("b", "save", "other");
  EXPECT_EQ(check(tape.history).size(), 3u) << findings_text(check(tape.history));
  EXPECT_TRUE(check(tape.history, {.from_the_beginning = false, .to_the_end = false}).empty());
}

TEST(InnocentHistory, AParkedSagaIsNotForgotten) {
  Tape tape;
  tape.begin("a");
  tape.write("a", "save", "k");
  tape.finish("a", Outcome::parked);
  EXPECT_TRUE(check(tape.history).empty());
}

// Sagas side by side, at keys of their own and at one that all of them want: a heap of conflicts.
std::vector<Operation> crowd(std::size_t operations) {
  Dice dice(7);
  Tape tape;
  while (tape.history.size() < operations) {
    const std::string saga = std::to_string(tape.history.size()) + "-0000-4000-8000-saga";
    tape.begin(saga);
    for (int step = 0; step < 4; ++step) {
      const std::string name = "step " + std::to_string(step), key = "sku-" + std::to_string(dice.below(20'000));
      if (dice.chance(50)) tape.read(saga, name, key);
      tape.change(dice.chance(50) ? Kind::add : Kind::write, saga, name, key);
      tape.change(Kind::add, saga, name, "hot");
    }
    tape.complete(saga);
  }
  EXPECT_TRUE(check(tape.history, {.to_the_end = false}).empty()) << "one after the other";
  for (Operation& one : tape.history) one.at += static_cast<std::int64_t>(dice.below(200));
  return tape.history;
}

TEST(Checker, TakesTenTimesAsLongForTenTimesTheHistory) {
  const auto clock = system_clock();
  const auto seconds = [&](const std::vector<Operation>& history) {
    const auto start = clock->steady();
    EXPECT_FALSE(check(history).empty());
    return std::chrono::duration<double>(clock->steady() - start).count();
  };
  const double few = seconds(crowd(10'000)), many = seconds(crowd(100'000));
  RecordProperty("ratio", std::to_string(many / few));
  EXPECT_LT(many, 40 * few) << "it looks at each operation once for every other";
}

}  // namespace
}  // namespace skald::checker
