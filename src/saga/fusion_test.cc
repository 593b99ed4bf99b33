// A fused and an unfused run of the same saga cannot be told apart: rows, events, log, locks, answer,
// what was called. Random sagas, with refusals, passing troubles, boundaries, calls and locks; and
// with a worker that dies after any of its commits.
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

// What calls have done, by their keys: it outlives the workers.
using Outside = std::map<std::string, int>;

void call_outside(Outside& outside, const Remote& call, int value) {
  const std::string key = std::string(call.action_key()).substr(call.saga_id().size());
  if (value == 0) outside.erase(key);
  else outside.try_emplace(key, value);
}

void add_call(Saga<Counter>& saga, const std::string& name, bool refuses, bool undone, Outside& outside) {
  saga.remote(name, [&outside, refuses](Remote& call, Counter& counter) {
    if (refuses) throw Refused("NO", "simulated");
    call_outside(outside, call, 1);
    counter.sum = counter.sum * 3 + 2;
  });
  if (undone) saga.undo([&outside](Remote& call, Counter&) { call_outside(outside, call, 0); });
}

// The same seed gives the same saga, whose troubles depend on attempts alone.
Saga<Counter> draw(std::uint64_t seed, Outside& outside) {
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
    const bool undone = pivot < 0 || i < pivot;
    const int shape = dice.below(5);
    if (shape == 0) {
      add_call(saga, name, refuses, undone, outside);
    } else if (shape == 1) {
      saga.each(name, &Counter::each, [=](Local& step, Counter& counter, std::int64_t& n) {
        leave_traces(step, counter, name, static_cast<int>(n));
        if (refuses && n == 2) throw Refused("NO", "simulated");
      });
      if (undone)
        saga.undo(&Counter::each, [=](Local& step, Counter& counter, std::int64_t& n) {
          leave_traces(step, counter, "undo " + name, static_cast<int>(n));
        });
    } else {
      saga.local(name, run);
      if (undone)
        saga.undo([=](Local& step, Counter& counter) {
          leave_traces(step, counter, "undo " + name, 1);
          if (trouble == 1 && step.context().attempt < 2) throw Busy("LATER", "simulated");
        });
    }
    if (dice.below(4) == 0) saga.holds("thing", [name](const Counter&) { return name; }, skald::exclusive);
    saga.retry(4, 1us);
    if (i == pivot) saga.pivot();
    if (dice.below(5) == 0) saga.commit();
  }
  return saga;
}

constexpr int kNever = -1;

class Fusion : public testing::TestWithParam<Dialect> {
 protected:
  Fusion() {
    db().migrate(tables::kComponent, tables::migrations());
    db().write("create", [](Transaction& tx) { tx.execute("CREATE TABLE effect (what TEXT PRIMARY KEY, n BIGINT)"); });
    db().set_commit_hook(&emitter_);
  }
  ~Fusion() override { db().set_commit_hook(nullptr); }
  Database& db() { return **database_; }

  // Everything that a reader can see afterwards, without ids and times. The worker is gone after so
  // many commits behind the first, and another goes on.
  std::string run(std::uint64_t seed, int steps_max, int dies_after = kNever) {
    clear();
    Outside outside;
    Registry registry;
    registry.add(draw(seed, outside).definition());
    auto worker = runner(registry, "first", steps_max);
    const Started begun =
        worker->start(registry.latest("random"), std::make_shared<Counter>(Counter{0, {1, 2, 3}}), {});
    for (int commits = 0;; ++commits) {
      if (commits == dies_after) {
        db().write("take over", [](Transaction& tx) { tables::saga::release_all(tx, "first", true); });
        worker = runner(registry, "second", steps_max);
      }
      if (!worker->run_one() && worker->poll() > 1s && !worker->run_one()) break;
    }
    std::string seen = db().read_result([&](Transaction& tx) { return everything(tx, begun.id, registry); });
    for (const auto& [key, value] : outside) seen += "\ncalled " + key;
    return seen;
  }

 private:
  std::unique_ptr<Runner> runner(const Registry& registry, std::string name, int steps_max) {
    return std::make_unique<Runner>(env_, db(), registry, RunnerHooks{[name] { return name; }, {}, {}, {}, {}},
                                    GroupLimits{.steps = steps_max, .time = 1h});
  }

  void clear() {
    db().write("clear", [](Transaction& tx) {
      for (const char* table : {"effect", "skald_outbox", "skald_saga"})
        tx.execute(std::string("DELETE FROM ") + table);
    });
  }

  static std::string everything(Transaction& tx, const std::string& id, const Registry& registry) {
    const SagaView view = view_of(*tables::saga::find(tx, id), registry);
    std::string out = std::string(enum_name(view.status)) + " " + view.state.text;
    if (view.error) out += " " + view.error->code;
    for (const StepView& step : view.steps)
      out += "\n" + step.name + " " + step.status + " " + std::to_string(step.attempt);
    for (const char* sql : {"SELECT what || ' ' || n FROM effect ORDER BY what",
                            "SELECT type || ' ' || payload FROM skald_outbox ORDER BY seq",
                            "SELECT 'locked ' || key FROM skald_lock ORDER BY key"}) {
      const Rows rows = tx.query(sql);
      for (std::size_t i = 0; i < rows.size(); ++i) out += "\n" + rows.get<std::string>(i, 0);
    }
    return out;
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::of(GetParam(), env_);
  const outbox::Routing routing_;
  const OutboxOptions options_;
  outbox::Emitter emitter_{options_, routing_, [](std::uint64_t, std::uint64_t) {}};
};
INSTANTIATE_TEST_SUITE_P(Both, Fusion, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(Fusion, CannotBeToldFromACommitPerStep) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::string unfused = run(seed, 1);
    ASSERT_EQ(run(seed, 16), unfused) << "seed " << seed;
    ASSERT_EQ(run(seed, 3), unfused) << "seed " << seed;
  }
}

TEST_P(Fusion, CannotBeToldWhereAWorkerDies) {
  for (std::uint64_t seed = 100; seed <= 130; ++seed) {
    const std::string unharmed = run(seed, 1);
    for (const int steps : {1, 3, 16})
      for (const int commits : {0, 1, 2, 4, 7})
        ASSERT_EQ(run(seed, steps, commits), unharmed)
            << "seed " << seed << ", " << steps << " steps, dies after " << commits;
  }
}

}  // namespace
}  // namespace skald::saga
