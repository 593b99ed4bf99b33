#include "interleave/saga_cast.h"

#include "interleave/scenario.h"
#include "skald/saga.h"

namespace skald::test {

struct Part {
  std::string product = "lamp";
};
BOOST_DESCRIBE_STRUCT(Part, (), (product))

namespace {

constexpr int kRoundsMax = 20;

void add_one(Local& step, Part&) {
  const Rows rows = step->query("SELECT amount FROM account WHERE id = 'a'");
  step->execute("UPDATE account SET amount = $1 WHERE id = 'a'", rows.get<std::int64_t>(0, 0) + 1);
}

void take_one(Local& step, Part&) {
  if (step->execute("UPDATE account SET amount = amount - 1 WHERE id = 'a' AND amount > 0") == 0)
    throw Busy("BUSY", "there is none", std::nullopt, Shortage{"account", "a", 1h});
}

void nothing(Local&, Part&) {}

auto effect(std::string id) {
  return [id](Local& step, Part&) { Stage::put_effect(step.tx(), id, kKey); };
}

Saga<Part> keeper(std::string type, LockMode mode, WhenBusy when_busy) {
  return Saga<Part>(std::move(type))
      .local("touch", nothing)
      .nothing_to_undo()
      .holds("product", &Part::product, mode, when_busy)
      .await("end", "end", [](Local&, Part&, const RawJson&) {})
      .timeout(1h);
}

}  // namespace

SagaCast::SagaCast(Stage& stage) : stage_(stage) {
  const auto child = Saga<Part>("child").local("leg", effect("leg")).nothing_to_undo();
  registry_.add(Saga<Part>("adder")
                    .local("add", add_one)
                    .nothing_to_undo()
                    .holds("product", &Part::product, exclusive, wait_up_to(1h))
                    .definition());
  registry_.add(keeper("keeper", exclusive, wait_up_to(1h)).definition());
  registry_.add(keeper("sharer", shared, wait_up_to(1h)).definition());
  registry_.add(keeper("hasty", exclusive, wait_up_to(0s)).definition());
  registry_.add(Saga<Part>("pair")
                    .local("first", nothing)
                    .nothing_to_undo()
                    .commit()
                    .local("a", effect("a"))
                    .nothing_to_undo()
                    .local("b", effect("b"))
                    .nothing_to_undo()
                    .definition());
  registry_.add(Saga<Part>("listener")
                    .local("first", nothing)
                    .nothing_to_undo()
                    .commit()
                    .await("end", "end", [](Local&, Part&, const RawJson&) {})
                    .timeout(1h)
                    .definition());
  registry_.add(child.definition());
  registry_.add(Saga<Part>("parent")
                    .child<Part>(
                        "child", child, [](const Part& part) { return part; }, [](Local&, Part&, const Part&) {})
                    .nothing_to_undo()
                    .definition());
  registry_.add(Saga<Part>("buyer").local("take", take_one).nothing_to_undo().definition());
  for (int i = 0; i < Stage::kSessions; ++i)
    runners_.push_back(std::make_unique<saga::Runner>(
        stage.env(i), stage.db(i), registry_,
        saga::RunnerHooks{[worker = "w" + std::to_string(i)] { return worker; }, {}, {}, {}, {}}));
}

Started SagaCast::start(int session, const std::string& type, const std::string& id, const std::string& key) {
  return runners_[static_cast<std::size_t>(session)]->start(registry_.latest(type), std::make_shared<Part>(),
                                                            {.key = key, .id = id});
}

void SagaCast::claim(int session) {
  saga::Runner& runner = *runners_[static_cast<std::size_t>(session)];
  runner.note_due(Duration::zero());
  runner.poll();
}

void SagaCast::work(int session) {
  while (runners_[static_cast<std::size_t>(session)]->run_one()) {}
}

void SagaCast::signal(Database& db, const std::string& id) {
  db.write("signal", [&](Transaction& tx) { runners_.front()->signal(tx, id, "end", "{}", "s"); });
}

void SagaCast::give(int session) {
  stage_.db(session).write("give", [&](Transaction& tx) {
    tx.execute("UPDATE account SET amount = amount + 1 WHERE id = 'a'");
    runners_[static_cast<std::size_t>(session)]->freed(tx, "account", "a");
  });
}

void SagaCast::settle() {
  constexpr int last = Stage::kSessions - 1;
  for (int round = 0; round < kRoundsMax; ++round) {
    claim(last);
    if (!runners_[last]->run_one()) return;
    work(last);
  }
}

SagaStatus SagaCast::status(const std::string& id) {
  return stage_.admin().read_result([&](Transaction& tx) { return tables::saga::find(tx, id)->status; });
}

std::string SagaCast::verdict_on_lock() {
  const auto granted = stage_.count("SELECT count(*) FROM skald_lock WHERE granted = 1");
  const auto waiting = stage_.count("SELECT count(*) FROM skald_lock WHERE granted = 0");
  if (stage_.count("SELECT count(*) FROM skald_lock l LEFT JOIN skald_saga s ON s.id = l.root WHERE s.live IS DISTINCT "
                   "FROM 1") > 0)
    return "a saga has ended and its lock has not";
  if (granted > 1) return std::to_string(granted) + " sagas hold the lock at once";
  return granted == 0 && waiting > 0 ? "a saga waits for a lock that nobody holds" : "";
}

}  // namespace skald::test
