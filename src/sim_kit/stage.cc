#include "sim_kit/stage.h"

#include <fmt/format.h>

#include "isolation/schema.h"
#include "saga/runner.h"
#include "sim_kit/watched.h"
#include "store/tables/schema.h"

namespace skald::sim::kit {
namespace {

constexpr std::uint64_t kSeed = 1;      // of what the engine draws
constexpr std::size_t kLinesMax = 2000;

}  // namespace

Stage::Stage(const Scenario& given, Script exact_or_drawn)
    : scenario(given),
      script(std::move(exact_or_drawn)),
      clock(timeline),
      random(script.dice() != nullptr ? script.dice()->next() : kSeed),
      disk({clock, random, silent_observer()}, {.path = ":memory:", .full_sync = false, .slow_body = 24h}) {
  const auto add = [&](const saga::Definition& definition) {
    if (!registry.all().contains({definition.type, definition.version})) registry.add(watched(definition, *this));
    deadline = std::max(deadline, definition.deadline.value_or(Duration::zero()));
  };
  for (const Start& start : scenario.starts) {
    add(start.definition);
    ids.push_back(start.options.id.empty() ? "sim-" + std::to_string(ids.size() + 1) : start.options.id);
  }
  for (const saga::Definition& definition : scenario.also) add(definition);
  disk.migrate(tables::kComponent, tables::migrations());
  disk.migrate(isolation::kComponent, isolation::isolation_migrations());
  if (scenario.setup) scenario.setup(disk);
}

void Stage::check(const std::function<void(Look&)>& body) {
  if (!body) return;
  std::vector<std::string> found;
  try {
    look([&](Transaction& tx) {
      found.clear();
      std::vector<SagaView> views;
      for (const std::string& id : ids)
        if (auto row = tables::saga::find(tx, id)) views.push_back(saga::view_of(*row, registry));
      Look seen(tx, std::move(views), found);
      body(seen);
    });
  } catch (const std::exception& error) {
    found.push_back(std::string("the check itself failed: ") + error.what());
  }
  for (std::string& sentence : found) violate(std::move(sentence));
}

void Stage::note(std::string line) {
  if (story.size() > kLinesMax) return;
  const auto seconds = std::chrono::duration<double>(timeline.steady() - Timeline().steady()).count();
  story.push_back(fmt::format("{:10.3f} s  {}", seconds, line));
}

std::optional<Kind> Stage::meet(const Place& place) {
  const auto kind = script.at(place);
  if (kind) note("--- " + words_for(*kind, place));
  return kind;
}

}  // namespace skald::sim::kit
