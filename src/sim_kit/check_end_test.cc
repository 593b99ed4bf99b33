// What the explorer checks without being asked, shown by breaking what it looks at.
#include "sim_kit/explore_fixture.h"
#include "sim_kit/watched.h"

namespace skald::sim {
namespace {

using testing::HasSubstr;

class CheckEndTest : public ExploreTest {
 protected:
  // The first violation where `sql` is run after every commit.
  std::string violation_after(std::string_view sql) {
    Scenario broken = scenario();
    broken.check = {};
    broken.always = [sql](Look& look) { look->execute(sql); };
    const Report report = explore(order_saga(), Order{}, broken);
    return report.ok() ? "none" : report.failures.front().violations.front();
  }
};

TEST_F(CheckEndTest, ALockThatIsLeft) {
  EXPECT_THAT(violation_after("INSERT INTO skald_lock (resource, key, root, waiter, mode, granted, seq, since, step) "
                              "SELECT 'product', 'lamp', 'sim-1', 'sim-1', 'shared', 1, 1, 0, 'reserve' "
                              "WHERE NOT EXISTS (SELECT 1 FROM skald_lock)"),
              HasSubstr("the lock on product lamp has outlived its saga sim-1"));
}

TEST_F(CheckEndTest, AStepThatWasUndoneMoreOftenThanDone) {
  EXPECT_THAT(violation_after("UPDATE skald_saga SET log = log || '{\"name\":\"reserve\",\"kind\":\"local\","
                              "\"status\":\"UNDONE\",\"attempt\":1,\"startedAt\":\"2026-01-01T00:00:00Z\","
                              "\"finishedAt\":\"2026-01-01T00:00:00Z\"}\n' WHERE live = 0"),
              HasSubstr("'reserve' of sim-1 was 0 times done and "));
}

TEST_F(CheckEndTest, ASagaThatIsCalledUndoneThoughItIsNot) {
  EXPECT_THAT(violation_after("UPDATE skald_saga SET status = 'COMPENSATED' WHERE live = 0"),
              HasSubstr("sim-1 is COMPENSATED, and 'reserve' was 1 times done and 0 times undone"));
}

TEST_F(CheckEndTest, ACallWithTwoKeys) {
  Scenario scene = scenario();
  const auto saga = order_saga();
  scene.starts = {start(saga, Order{})};
  kit::Stage stage(scene, kit::Script(std::nullopt, std::nullopt));
  const saga::Definition definition = kit::watched(saga.definition(), stage);
  Order state;
  const StepContext context{.saga_id = "sim-1", .key = "", .step = "charge"};
  for (const char* key : {"k-1", "k-1", "k-2"}) {
    Remote call(context, key, 1, 1s);
    definition.steps[1].run.remote(call, &state, 0);
  }
  EXPECT_EQ(stage.violations,
            std::vector<std::string>{"the call of step 'charge' had two idempotency keys: k-1 and k-2"});
}

}  // namespace
}  // namespace skald::sim
