#include "interleave/explorer.h"

#include <map>
#include <random>

namespace skald::test {
namespace {

// How soon a client hears that its backend was ended is not the schedule's to
// decide; a run that went another way for it is made again.
constexpr int kRepeatsMax = 3;

// Orders still to run, by their number of preemptions. Within one number they are
// taken at random (always the same way), so that a limit leaves no corner out.
class Agenda {
 public:
  void add(int preemptions, Schedule schedule) { orders_[preemptions].push_back(std::move(schedule)); }
  bool empty() const { return orders_.empty(); }
  int preemptions() const { return orders_.begin()->first; }
  Schedule next() {
    auto& bucket = orders_.begin()->second;
    std::swap(bucket[random_() % bucket.size()], bucket.back());
    Schedule out = std::move(bucket.back());
    bucket.pop_back();
    if (bucket.empty()) orders_.erase(orders_.begin());
    return out;
  }

 private:
  std::map<int, std::vector<Schedule>> orders_;
  std::mt19937 random_{1};
};

// The orders that first differ from this performance behind its given schedule.
void add_alternatives(Agenda& agenda, const Performance& performance, std::size_t given, int preemptions) {
  Schedule before = performance.schedule();
  for (std::size_t turn = before.size(); turn-- > given;) {
    before.resize(turn);
    const Decision& decision = performance.decisions[turn];
    for (const Choice& other : decision.options) {
      if (other == decision.chosen) continue;
      Schedule schedule = before;
      schedule.push_back(other);
      agenda.add(preemptions + (decision.could_go_on && !other.stop ? 1 : 0), std::move(schedule));
    }
  }
}

}  // namespace

Replay replay(Stage& stage, const Scenario& scenario, const Schedule& schedule) {
  stage.reset(kKey);
  const std::unique_ptr<Play> play = scenario.make(stage);
  std::vector<std::function<void()>> bodies;
  for (int i = 0; i < scenario.sessions; ++i) bodies.push_back([&play, i] { play->run(i); });
  Replay out{stage.conductor().perform(bodies, scenario.stoppable, schedule), {}};
  out.what = out.performance.problems.empty() ? play->verdict() : out.performance.problems.front();
  return out;
}

Exploration explore(Stage& stage, const Scenario& scenario, int schedules_max) {
  Exploration out;
  Agenda agenda;
  agenda.add(0, {});
  while (!agenda.empty() && out.schedules < schedules_max) {
    out.preemptions = agenda.preemptions();
    const Schedule schedule = agenda.next();
    Replay run = replay(stage, scenario, schedule);
    for (int again = 0; run.performance.diverged && run.what.empty() && again < kRepeatsMax; ++again)
      run = replay(stage, scenario, schedule);
    ++out.schedules;
    if (run.performance.diverged) ++out.diverged;
    if (!run.what.empty()) {
      out.finding = Finding{run.what, run.performance.schedule(), run.performance.trace};
      return out;
    }
    if (!run.performance.diverged) add_alternatives(agenda, run.performance, schedule.size(), out.preemptions);
  }
  out.complete = agenda.empty();
  if (!out.complete) out.preemptions = agenda.preemptions();
  return out;
}

std::string report(const Scenario& scenario, const Finding& finding) {
  std::string out = scenario.name + ": " + finding.what + "\n";
  for (const std::string& line : finding.trace) out += "    " + line + "\n";
  return out + "  again: skald_interleave --scenario " + scenario.name + " --schedule " + to_text(finding.schedule) +
         "\n";
}

}  // namespace skald::test
