#include "sim_kit/fragile_database.h"

namespace skald::sim::kit {
namespace {

struct RunAgain {};

// What happens with the body done and nothing committed yet.
void before_commit(Kind kind) {
  switch (kind) {
    case Kind::crash_before: throw Crash{};
    case Kind::commit_fails: throw Unavailable("SIM_COMMIT_FAILED", "simulated: the commit failed");
    case Kind::runs_twice: throw RunAgain{};
    default: return;
  }
}

}  // namespace

void FragileDatabase::write(std::string_view name, const Body& body) {
  stage_.timeline.advance(1ms);
  stage_.disk.set_commit_hook(hook_);
  std::optional<Kind> fault;
  std::string stores;
  bool asked = false;
  const Body watched = [&](Transaction& tx) {
    body(tx);
    stores = chronicle_.changes(tx);
    if (stores.empty() || std::exchange(asked, true)) return;
    fault =
        stage_.meet({.what = Place::What::commit, .text = stores, .has_deadline = stage_.deadline > Duration::zero()});
    if (fault) before_commit(*fault);
  };
  try {
    stage_.disk.write(name, watched);
  } catch (const RunAgain&) {
    stage_.disk.write(name, watched);
  }
  chronicle_.committed();
  if (stores.empty()) return;
  stage_.note("commit of " + stores);
  stage_.check(stage_.scenario.always);
  if (fault == Kind::too_late) stage_.timeline.advance(stage_.deadline);
  if (fault == Kind::crash_after) throw Crash{};
  if (fault == Kind::answer_lost) throw CommitUnknown("SIM_ANSWER_LOST", "simulated: the commit's answer was lost");
}

}  // namespace skald::sim::kit
