#include "sim_kit/worker.h"

#include <algorithm>

namespace skald::sim::kit {
namespace {

constexpr Duration kPauseAfterError = 100ms;

void one_by_one(std::vector<std::function<void()>> calls) {
  for (auto& one : calls) one();
}

}  // namespace

void Worker::Teller::log(Level level, std::string_view message, std::string_view fields) {
  if (level >= Level::warn) stage.note("  log: " + std::string(message) + " " + std::string(fields));
}

Worker::Worker(Stage& stage, Chronicle& chronicle, std::string id)
    : stage_(stage),
      id_(std::move(id)),
      teller_(stage),
      env_{stage.clock, stage.random, teller_},
      db_(stage, chronicle),
      emitter_(options_, routing_, [](std::uint64_t, std::uint64_t) {}),
      runner_(env_, db_, stage.registry, {[this] { return id_; }, {}, {}, {}, one_by_one}) {
  db_.set_commit_hook(&emitter_);
}

Duration Worker::turn() {
  try {
    const Duration until_due = runner_.poll();
    return runner_.run_one() ? Duration::zero() : std::min(until_due, runner_.ready_in());
  } catch (const Error& error) {
    stage_.note("  " + id_ + " pauses: " + error.what());
    return kPauseAfterError;
  }
}

}  // namespace skald::sim::kit
