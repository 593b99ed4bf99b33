// PostWorld: how a run ends, and what must have come true then.
#include <map>

#include "sim/post_world.h"

namespace skald::sim {
namespace {

constexpr Duration kPostHealingMax = 900s;
constexpr int kPostDecisionsMax = 30000;
constexpr int kPostRoundsMax = 20;

}  // namespace

void PostWorld::run() {
  while (decisions() < stage_.plan.decisions) step(Instant::max());
  heal();
  run_until_quiet();
  for (int round = 0; help(); ++round) {
    if (round == kPostRoundsMax) throw BrokenInvariant{"P3", "dead letters still need help after every help"};
    run_until_quiet();
  }
  check_end();
}

void PostWorld::heal() {
  stage_.trace.note(stage_.now(), {"everything heals"});
  stage_.plan.rates = {};
  stage_.plan.healed = true;
  network_.heal();
  bring_back();
}

std::vector<PostEnd> PostWorld::ends() {
  std::vector<PostEnd> out;
  for (Machine& one : machines_) out.push_back({one.name, one.disk->db()});
  return out;
}

std::string PostWorld::unfinished() {
  std::string out;
  for (const PostEnd& end : ends()) out += unfinished_events(end);
  return out + lanes_apart(ends(), stage_.engine_random);
}

void PostWorld::run_until_quiet() {
  const Instant begun = stage_.now();
  const int before = decisions();
  for (;;) {
    for (int i = 0; i < 20; ++i) step(Instant::max());
    bool idle = network_.empty();
    for (const Machine& one : machines_) idle = idle && one.unit && one.unit->steps().relay_idle();
    const std::string left = unfinished();
    if (idle && left.empty()) return;
    if (stage_.now() - begun > kPostHealingMax || decisions() - before > kPostDecisionsMax)
      throw BrokenInvariant{"P3", "never ended, all being well:" + left};
  }
}

bool PostWorld::help() {
  bool helped = false;
  for (int i = 0; i < kServices; ++i)
    work(i, [&](PostUnit& at) { helped = replay_dead(stage_, machine(i).disk->db(), at.db(), at.engine()) || helped; });
  return helped;
}

void PostWorld::check_end() {
  check_heard(machines_[0], machines_[1]);
  check_heard(machines_[1], machines_[0]);
  for (Machine& one : machines_) check_time(one.disk->db());
  // What comes late may bring a restored receiver up to date before anybody has looked.
  if (is_to_be_told_ && !stage_.plan.is_anything_late)
    throw BrokenInvariant{"P4", "a disk was put back, and nobody was told"};
}

void PostWorld::check_heard(Machine& from, Machine& to) {
  std::map<std::string, int> written;  // how often each was heard
  look_at(from.disk->db(), [&](Transaction& tx) {
    const Rows rows = tx.query("SELECT id FROM sim_written");
    for (std::size_t i = 0; i < rows.size(); ++i) written[rows.get<std::string>(i, 0)] = 0;
  });
  std::map<std::string, std::int64_t> last;
  look_at(to.disk->db(), [&](Transaction& tx) {
    const Rows rows = tx.query("SELECT id, key, number, out_of_order FROM sim_heard ORDER BY place");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto id = rows.get<std::string>(i, 0);
      const auto note = written.find(id);
      if (note == written.end()) continue;
      if (++note->second > 1) throw BrokenInvariant{"P1", to.name + " has heard " + id + " twice"};
      if (rows.get<bool>(i, 3)) continue;
      std::int64_t& number = last[rows.get<std::string>(i, 1)];
      if (rows.get<std::int64_t>(i, 2) < number)
        throw BrokenInvariant{"P2", to.name + " has heard " + id + " after a later one of its key"};
      number = rows.get<std::int64_t>(i, 2);
    }
  });
  for (const auto& [id, times] : written)
    if (times == 0) throw BrokenInvariant{"P1", to.name + " has never heard " + id};
}

}  // namespace skald::sim
