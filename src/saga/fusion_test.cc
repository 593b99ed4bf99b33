// A fused and an unfused run of the same saga cannot be told apart: rows, events,
// log, answer. Random sagas, with refusals, passing troubles and boundaries.
#include "outbox/emitter.h"
#include "outbox/routing.h"
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

struct Counter {
  std::int64_t sum = 0;
  std::vector<std::int64_t> each = {};
};
BOOST_DESCRIBE_STRUCT(Counter, (), (sum, each))

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  int below(int n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int>(state_ % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

void leave_traces(Local& step, Counter& counter, const std::string& what, int by) {
  counter.sum = counter.sum * 3 + by;
  step->execute("INSERT INTO effect (what, n) VALUES ($1, $2) ON CONFLICT (what) DO UPDATE SET n = effect.n + $2", what,
                by);
  const Rows seen = step->query("SELECT COUNT(*), COALESCE(SUM(n), 0) FROM effect");
  step->emit({.id = "",
              .type = what,
              .key = "k",
              .subject = step.saga_id(),
              .payload = "{\"rows\":" + seen.get<std::string>(0, 0) + ",\"sum\":" + seen.get<std::string>(0, 1) + "}",
              .traceparent = ""});
}

// The same seed gives the same saga, whose troubles depend on attempts alone.
Saga<Counter> draw(std::uint64_t seed) {
  Dice dice(seed);
  Saga<Counter> saga("random");
  const int steps = 2 + dice.below(6);
  const int refusing = dice.below(2) == 0 ? dice.below(steps) : -1, pivot = dice.below(3) == 0 ? dice.below(steps) : -1;
  for (int i = 0; i < steps; ++i) {
    const std::string name = "s" + std::to_string(i);
    const int trouble = dice.below(6);
    const bool refuses = i == refusing && (pivot < 0 || i <= pivot);
    const auto run = [=](Local& step, Counter& counter) {
      leave_traces(step, counter, name, 1);
      if (trouble == 0 && step.context().attempt < 3) throw Busy("LATER", "simulated");
      if (refuses) throw Refused("NO", "simulated");
    };
    if (dice.below(4) == 0) {
      saga.each(name, &Counter::each, [=](Local& step, Counter& counter, std::int64_t& n) {
        leave_traces(step, counter, name, static_cast<int>(n));
        if (refuses && n == 2) throw Refused("NO", "simulated");
      });
      if (pivot < 0 || i < pivot)
        saga.undo(&Counter::each, [=](Local& step, Counter& counter, std::int64_t& n) {
          leave_traces(step, counter, "undo " + name, static_cast<int>(n));
        });
    } else {
      saga.local(name, run);
      if (pivot < 0 || i < pivot)
        saga.undo([=](Local& step, Counter& counter) {
          leave_traces(step, counter, "undo " + name, 1);
          if (trouble == 1 && step.context().attempt < 2) throw Busy("LATER", "simulated");
        });
    }
    saga.retry(4, 1us);
    if (i == pivot) saga.pivot();
    if (dice.below(5) == 0) saga.commit();
  }
  return saga;
}

class Fusion : public testing::Test {
 protected:
  // Everything that a reader can see afterwards, without ids and times.
  std::string run(std::uint64_t seed, int steps_max) {
    auto database = test::TestDatabase::sqlite(env_, {.path = "", .full_sync = false});
    Database& db = **database;
    db.migrate(tables::kComponent, tables::migrations());
    db.write("create", [](Transaction& tx) { tx.execute("CREATE TABLE effect (what TEXT PRIMARY KEY, n BIGINT)"); });
    const outbox::Routing routing;
    const OutboxOptions options;
    outbox::Emitter emitter(options, routing, [](std::uint64_t) {});
    db.set_commit_hook(&emitter);
    Registry registry;
    registry.add(draw(seed).definition());
    Runner runner(env_, db, registry, {[] { return "w"; }, {}, {}, {}, {}}, {.steps = steps_max, .time = 1h});
    const Started begun = runner.start(registry.latest("random"), std::make_shared<Counter>(Counter{0, {1, 2, 3}}), {});
    for (;;) {
      while (runner.run_one()) {}
      if (runner.poll() > 1s && !runner.run_one()) break;
    }
    const std::string seen = db.read_result([&](Transaction& tx) { return everything(tx, begun.id, registry); });
    db.set_commit_hook(nullptr);
    return seen;
  }

  static std::string everything(Transaction& tx, const std::string& id, const Registry& registry) {
    const SagaView view = view_of(*tables::saga::find(tx, id), registry);
    std::string out = std::string(enum_name(view.status)) + " " + view.state.text;
    if (view.error) out += " " + view.error->code;
    for (const StepView& step : view.steps)
      out += "\n" + step.name + " " + step.status + " " + std::to_string(step.attempt);
    for (const char* sql : {"SELECT what || ' ' || n FROM effect ORDER BY what",
                            "SELECT type || ' ' || payload FROM skald_outbox ORDER BY seq"}) {
      const Rows rows = tx.query(sql);
      for (std::size_t i = 0; i < rows.size(); ++i) out += "\n" + rows.get<std::string>(i, 0);
    }
    return out;
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
};

TEST_F(Fusion, CannotBeToldFromACommitPerStep) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string unfused = run(seed, 1);
    ASSERT_EQ(run(seed, 16), unfused) << "seed " << seed;
    ASSERT_EQ(run(seed, 3), unfused) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skald::saga
