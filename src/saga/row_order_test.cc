// Steps that would share a transaction, but for the rows that they lock.
#include <latch>
#include <thread>

#include "saga/saga_fixture.h"
#include "skald/row_locks.h"

namespace skald::saga {

struct Seat {
  std::int64_t id = 0;
  std::int64_t taken = 0;
};
BOOST_DESCRIBE_STRUCT(Seat, (), (id, taken))

}  // namespace skald::saga

template <>
struct skald::Table<skald::saga::Seat> {
  static constexpr std::string_view name = "seat", key = "id";
};

namespace skald::saga {
namespace {

class RowOrderTest : public SagaFixture {
 protected:
  RowOrderTest() {
    db().write("seats", [](Transaction& tx) {
      tx.execute("CREATE TABLE seat (id BIGINT PRIMARY KEY, taken BIGINT NOT NULL)");
      for (const std::int64_t id : {1, 2}) tx.insert(Seat{id, 0});
    });
  }
  static auto locks(std::vector<std::int64_t> seats) {
    return [seats](Local& step, Trip&) {
      RowLocks rows(step.tx(), {"seat"}, step.context().step);
      for (const std::int64_t seat : seats) {
        rows.take<Seat>(seat);
        count(step, "seat " + std::to_string(seat));
      }
    };
  }
};
INSTANTIATE_TEST_SUITE_P(Both, RowOrderTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(RowOrderTest, AGroupEndsWhereItsNextStepWouldLockAgainstTheOrder) {
  const auto trip = Saga<Trip>("trip")
                        .local("before", adds("before"))
                        .undo(removes("before"))
                        .local("high", locks({2}))
                        .nothing_to_undo()
                        .local("low", locks({1}))
                        .nothing_to_undo();
  know(trip);
  const Started begun = run(trip);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  for (const char* what : {"before", "seat 1", "seat 2"}) EXPECT_EQ(effects(what), 1) << what;
}

TEST_P(RowOrderTest, OneStepThatLocksAgainstTheOrderIsAnError) {
  const auto trip = Saga<Trip>("trip")
                        .local("before", adds("before"))
                        .undo(removes("before"))
                        .local("both", locks({2, 1}))
                        .nothing_to_undo();
  know(trip);
  const Started begun = run(trip);
  ASSERT_EQ(view(begun.id).status, SagaStatus::COMPENSATED);
  EXPECT_EQ(view(begun.id).error->code, "LOCK_ORDER");
  EXPECT_EQ(effects("before"), 0);
  EXPECT_EQ(effects("seat 2"), 0);
}

// Two sagas whose steps lock two seats in opposite orders, both in hand of the second lock at once.
TEST_P(RowOrderTest, AGroupThatDeadlocksComesAgainStepByStep) {
  if (GetParam() == Dialect::sqlite) return;  // has one transaction at a time
  std::latch both(2);
  const auto takes = [](std::int64_t seat) {
    return [seat](Local& step, Trip&) { step->execute("UPDATE seat SET taken = taken + 1 WHERE id = $1", seat); };
  };
  const auto meets = [&, takes](std::int64_t seat) {
    return [&, takes, seat, met = std::make_shared<std::atomic<bool>>(false)](Local& step, Trip& trip) {
      takes(seat)(step, trip);
      if (!met->exchange(true)) both.arrive_and_wait();
    };
  };
  for (const auto& [name, first, second] : {std::tuple("up", 1, 2), std::tuple("down", 2, 1)})
    know(Saga<Trip>(name)
             .local("first", meets(first))
             .nothing_to_undo()
             .local("second", takes(second))
             .nothing_to_undo());
  std::vector<std::jthread> threads;
  std::array<Started, 2> begun;
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back(
        [&, i] { begun[i] = runner_->start(registry_.latest(i == 0 ? "up" : "down"), std::make_shared<Trip>(), {}); });
  threads.clear();
  const auto unfused = std::ranges::count(begun, SagaStatus::RUNNING, &Started::status);
  EXPECT_EQ(unfused, 1) << "one of them was given up by the server, and then committed its first step alone";
  settle(*runner_);
  for (const Started& one : begun) EXPECT_EQ(view(one.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(db().read_result([](Transaction& tx) { return tx.query("SELECT SUM(taken) FROM seat").get<int>(0, 0); }),
            4);
}

}  // namespace
}  // namespace skald::saga
