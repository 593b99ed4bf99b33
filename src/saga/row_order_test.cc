// Steps that would share a transaction, but for the rows that they lock.
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

}  // namespace
}  // namespace skald::saga
