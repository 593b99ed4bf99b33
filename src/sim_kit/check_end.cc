#include "sim_kit/rehearsal.h"
#include "store/tables/semantic_lock.h"

namespace skald::sim::kit {
namespace {

struct Times {
  int done = 0, undone = 0;
};

// A remote step may be cancelled without having answered; a local one is undone exactly
// as often as it was done.
void check_undos(Stage& stage, const SagaView& view, const saga::Definition& definition) {
  std::map<std::string, Times> times;
  for (const StepView& line : view.steps) {
    times[line.name].done += line.status == "DONE";
    times[line.name].undone += line.status == "UNDONE";
  }
  for (const saga::Step& step : definition.steps) {
    if (!step.undo) continue;
    const auto [done, undone] = times[step.name];
    const std::string count = std::to_string(done) + " times done and " + std::to_string(undone) + " times undone";
    if (step.run.local && undone > done) stage.violate("'" + step.name + "' of " + view.id + " was " + count);
    if (view.status == SagaStatus::COMPENSATED && undone < done)
      stage.violate(view.id + " is COMPENSATED, and '" + step.name + "' was " + count);
  }
}

}  // namespace

void check_end(Stage& stage) {
  stage.look([&](Transaction& tx) {
    for (const auto& row : tables::saga::list(tx, {.status = {}, .type = {}, .key = {}, .after = {}, .limit = 1000}))
      check_undos(stage, saga::view_of(row, stage.registry), stage.registry.all().at({row.type, row.revision}));
    for (const auto& lock : tables::semantic_lock::all(tx, 10))
      stage.violate("the lock on " + lock.place.resource + " " + lock.place.key + " has outlived its saga " +
                    lock.root);
    const Rows lacking = tx.query("SELECT saga_id, resource, key FROM skald_shortage");
    for (std::size_t i = 0; i < lacking.size(); ++i)
      stage.violate("saga " + lacking.get<std::string>(i, 0) + " has ended and is said to lack " +
                    lacking.get<std::string>(i, 1) + " " + lacking.get<std::string>(i, 2));
  });
}

}  // namespace skald::sim::kit
