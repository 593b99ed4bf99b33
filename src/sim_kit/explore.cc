// Which runs there are, and what came of them.
#include "sim_kit/rehearsal.h"
#include "skald/sim.h"

namespace skald::sim {
namespace {

using kit::Fault;
using kit::Kind;
using kit::Refusal;
using kit::Rehearsal;
using kit::Script;
using kit::Token;

class Exploration {
 public:
  explicit Exploration(const Scenario& scenario) : scenario_(scenario) {
    if (scenario.starts.empty()) throw Invalid("SIM_SCENARIO", "nothing is started: fill Scenario::starts");
  }

  Report everything() {
    play({});
    // What goes wrong by itself would go wrong with every fault, too.
    if (!report_.ok()) return report_;
    for (int refusal = 0; refusal <= static_cast<int>(refusable_.size()); ++refusal) {
      if (refusal > 0) play({.refusal = refusal});
      for (std::size_t kind = 0; kind < kit::kKinds; ++kind)
        for (int nth = 1; play({.refusal = refusal, .fault = Fault{static_cast<Kind>(kind), nth}}); ++nth) {}
    }
    for (int seed = 1; seed <= scenario_.seeds; ++seed) play({.seed = static_cast<std::uint64_t>(seed)});
    return report_;
  }

  Report only(const Token& token) {
    if (token.refusal > 0) {
      Rehearsal undisturbed(scenario_, Script(std::nullopt, std::nullopt));
      undisturbed.run();
      refusable_ = undisturbed.stage().script.refusable();
      if (token.refusal > static_cast<int>(refusable_.size()))
        throw Invalid("SIM_TOKEN", "fewer places can be refused than this token says: was the saga changed since?");
    }
    if (!play(token)) throw Invalid("SIM_TOKEN", "the place of this token is not reached: was the saga changed since?");
    return report_;
  }

 private:
  // False: its fault was never reached, or enough has failed.
  bool play(const Token& token) {
    if (report_.stopped_early) return false;
    Rehearsal rehearsal(scenario_, token.seed ? Script(*token.seed) : Script(refusal_of(token), token.fault));
    rehearsal.run();
    kit::Stage& stage = rehearsal.stage();
    if (!stage.script.struck()) return false;
    ++report_.runs;
    if (!token.seed && token.refusal == 0 && !token.fault) refusable_ = stage.script.refusable();
    if (!stage.violations.empty())
      report_.failures.push_back({kit::text_of(token), stage.script.words(), stage.violations, stage.story});
    report_.stopped_early = static_cast<int>(report_.failures.size()) >= scenario_.failures_max;
    return true;
  }

  std::optional<Refusal> refusal_of(const Token& token) const {
    if (token.refusal == 0) return std::nullopt;
    return refusable_[static_cast<std::size_t>(token.refusal - 1)];
  }

  const Scenario& scenario_;
  std::vector<Refusal> refusable_;
  Report report_;
};

}  // namespace

Report explore(const Scenario& scenario) {
  Exploration exploration(scenario);
  return scenario.only.empty() ? exploration.everything() : exploration.only(kit::parse_token(scenario.only));
}

bool Look::completed() const {
  return !sagas_.empty() &&
         std::ranges::all_of(sagas_, [](const SagaView& saga) { return saga.status == SagaStatus::COMPLETED; });
}

std::ostream& operator<<(std::ostream& out, const Report& report) {
  out << report.failures.size() << " of " << report.runs << " runs went wrong"
      << (report.stopped_early ? "; stopped there" : "") << "\n";
  for (const Failure& failure : report.failures) {
    for (const std::string& violation : failure.violations) out << "  broken: " << violation << "\n";
    out << "  when:   " << failure.schedule << "\n  replay: .only = \"" << failure.token << "\"\n";
  }
  if (report.ok()) return out;
  out << "the first of them:\n";
  for (const std::string& line : report.failures.front().story) out << line << "\n";
  return out;
}

}  // namespace skald::sim
