#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "sim/planted.h"
#include "sim/simulate.h"

namespace skald::sim {
namespace {

int number_in(const char* variable, int otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::atoi(given);
}

// SKALD_SIM_SEEDS says how many to afford.
int seeds_wanted(int otherwise) { return std::clamp(number_in("SKALD_SIM_SEEDS", otherwise), 1, otherwise); }

// The next ones after each commit, of those that `./dev sim` is run with.
int first_seed(int wanted) { return 1 + number_in("SKALD_COMMITS", 0) % (20'000 / wanted) * wanted; }

std::string name_of(Workload workload) {
  static constexpr const char* names[] = {"outbox", "sagas", "unlocked", "booking", "post", "agentflow"};
  return names[static_cast<std::size_t>(workload)];
}

class Simulator : public testing::TestWithParam<Workload> {};
INSTANTIATE_TEST_SUITE_P(Workloads, Simulator,
                         testing::Values(Workload::outbox, Workload::sagas, Workload::unlocked, Workload::booking,
                                         Workload::post, Workload::agentflow),
                         [](const auto& tested) { return name_of(tested.param); });

TEST_P(Simulator, TheSameSeedGivesTheSameTrace) {
  const Workload workload = GetParam();
  std::set<std::uint64_t> hashes;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto first = simulate(seed, workload), second = simulate(seed, workload);
    EXPECT_EQ(first.hash, second.hash) << "seed " << seed;
    EXPECT_EQ(first.decisions, second.decisions);
    hashes.insert(first.hash);
  }
  EXPECT_EQ(hashes.size(), 5u) << "other seeds must give other runs";
}

TEST_P(Simulator, EveryRunTakesAtLeast500DecisionsAndKeepsTheInvariants) {
  const int wanted = seeds_wanted(200), first = first_seed(wanted);
  for (int seed = first; seed < first + wanted; ++seed) {
    const auto run = simulate(static_cast<std::uint64_t>(seed), GetParam());
    ASSERT_FALSE(run.broken) << "seed " << seed << ": " << run.broken->invariant << ": " << run.broken->text;
    EXPECT_GE(run.decisions, 500);
  }
}

// With the locks on, the invariants have it that it names nothing.
TEST(Checker, NamesWhatSagasWithoutLocksDoToEachOther) {
  Markers markers;
  for (int seed = 1; seed <= seeds_wanted(100); ++seed)
    markers.add(simulate(static_cast<std::uint64_t>(seed), Workload::unlocked).markers);
  for (const Marker marker : {Marker::money_lost, Marker::dirty_read_named, Marker::lost_update_named,
                              Marker::non_repeatable_read_named, Marker::dirty_undo_named})
    EXPECT_GT(markers.of(marker), 0u) << name_of(marker);
}

class Planted : public testing::TestWithParam<PlantedBug> {};

TEST_P(Planted, IsCaught) { EXPECT_TRUE(hunt(GetParam(), 1, kHuntSeedsMax)) << GetParam().sentence; }

INSTANTIATE_TEST_SUITE_P(Rules, Planted, testing::ValuesIn(planted_bugs().begin(), planted_bugs().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace skald::sim
