#include "order/lab_sagas.h"

#include "skald/id.h"

namespace order {
namespace {

// A run takes milliseconds. What is left of one whose process has died is gone after this.
constexpr skald::Duration kLimit = std::chrono::seconds(30);
constexpr skald::Duration kGlance = std::chrono::milliseconds(2);

}  // namespace

skald::Saga<LabWork> lab_saga() {
  return skald::Saga<LabWork>("order.lab")
      .local("enter", [](skald::Local&, LabWork&) {})
      .nothing_to_undo()
      .holds("lab", &LabWork::product, skald::exclusive, skald::wait_up_to(kLimit))
      .await("work", "leave")
      .timeout(kLimit);
}

LabSagas::LabSagas(skald::Engine& engine, const skald::Saga<LabWork>& saga, skald::Env env, skald::Pause pause,
                   std::string product)
    : engine_(engine), saga_(saga), env_(env), pause_(std::move(pause)), product_(std::move(product)) {}

LabSagas::~LabSagas() {
  for (const auto& [name, id] : ids_) {
    try {
      if (!has_ended(id)) signal(id);
    } catch (const skald::Error&) {
      env_.observer.count("order_lab_sagas_left_to_timeout_total");
    }
  }
}

bool LabSagas::enter(const std::string& name) {
  if (!ids_.contains(name)) {
    const std::string id = ids_[name] = skald::make_id(env_.clock.now(), env_.random);
    engine_.sagas().start(saga_, LabWork{product_}, {.id = id});
  }
  return engine_.database().read_result([&](skald::Transaction& tx) {
    return !tx.query("SELECT 1 FROM skald_lock WHERE resource = 'lab' AND key = $1 AND root = $2 AND granted = 1",
                     product_, ids_.at(name))
                .empty();
  });
}

// It ends with the signal where it waits for that. One that has just been granted its lock may
// still be on the way there, in a worker's hands, and ends when it arrives.
void LabSagas::leave(const std::string& name) {
  const std::string& id = ids_.at(name);
  signal(id);
  const skald::Time limit = env_.clock.now() + kLimit;
  while (!has_ended(id)) {
    if (env_.clock.now() > limit)
      throw skald::Corrupt("LAB_SAGA_STUCK", "saga " + id + " was told to leave and has not ended: look at it");
    pause_(kGlance);
  }
}

void LabSagas::signal(const std::string& id) {
  engine_.database().write("lab",
                           [&](skald::Transaction& tx) { engine_.sagas().signal(tx, id, "leave", "{}", "leave"); });
}

bool LabSagas::has_ended(const std::string& id) {
  return engine_.database().read_result([&](skald::Transaction& tx) {
    const auto saga = engine_.sagas().find(tx, id);
    return !saga || saga->finished_at.has_value();
  });
}

}  // namespace order
