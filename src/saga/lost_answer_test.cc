// A start whose commit's answer is lost, beside a thread that looks for work just then.
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

// Commits, and once tells nobody.
class Forgetful final : public Database {
 public:
  explicit Forgetful(Database& real) : real_(real) {}
  void write(std::string_view name, const Body& body) override {
    real_.write(name, body);
    if (std::exchange(forgets, false)) throw CommitUnknown("COMMIT_UNKNOWN", "the answer was lost");
  }
  void read(const Body& body) override { real_.read(body); }
  void migrate(std::string_view component, std::span<const Migration> steps) override {
    real_.migrate(component, steps);
  }
  Dialect dialect() const override { return real_.dialect(); }
  void set_commit_hook(CommitHook* hook) override { real_.set_commit_hook(hook); }
  void announce(std::span<const int>) override {}
  std::unique_ptr<Listener> listen() override { return nullptr; }

  bool forgets = false;

 private:
  Database& real_;
};

class LostAnswerTest : public SagaFixture {};
INSTANTIATE_TEST_SUITE_P(Both, LostAnswerTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(LostAnswerTest, ASagaWhoseStarterWasNotToldOfItGoesOn) {
  Forgetful forgetful(db());
  Runner* polling = nullptr;
  // Whoever is woken looks at once, before the starter has given its saga up.
  const auto poll = [&] {
    if (Runner* const runner = std::exchange(polling, nullptr)) {
      runner->note_due(Duration::zero());
      runner->poll();
    }
  };
  Runner runner(env_, forgetful, registry_, RunnerHooks{[] { return std::string("w1"); }, poll, {}, {}, {}, false});
  const auto trip = Saga<Trip>("trip").local("a", adds("a")).pivot().commit().local("b", adds("b"));
  know(trip);
  runner.poll();
  polling = &runner;
  forgetful.forgets = true;
  const Definition& definition = registry_.latest("trip");
  EXPECT_THROW(runner.start(definition, std::make_shared<Trip>(), {.key = {}, .id = "t1"}), CommitUnknown);
  EXPECT_EQ(polling, nullptr) << "it was looked at in between";
  settle(runner);
  EXPECT_EQ(view("t1").status, SagaStatus::COMPLETED);
  EXPECT_EQ(effects("b"), 1);
}

}  // namespace
}  // namespace skald::saga
