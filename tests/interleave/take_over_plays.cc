// An owner at its work while another takes its partition over: the claim, the
// fence, and the take-over from a stopped process.
#include <algorithm>

#include "interleave/scenario.h"
#include "interleave/worker.h"

namespace skald::test {
namespace {

// Session 0 owns the partition and believes in its lease; session 1 has seen its
// beat stand still for a whole lease.
class TakeOver final : public Play {
 public:
  TakeOver(Stage& stage, Worker::Kind kind)
      : stage_(stage), kind_(kind), owner_(stage, 0, kind, sends_), taker_(stage, 1, kind, sends_) {
    owner_.membership().run_once();
    taker_.membership().run_once();
    const Duration half = owner_.options().lease / 2;
    stage.clock(1).move(half);
    taker_.membership().run_once();
    stage.clock(1).move(half);
    seed_events(stage, {event_of("e1", kKey), event_of("e2", kKey)});
  }

  void run(int session) override {
    if (session == 1) taker_.beat();
    (session == 0 ? owner_ : taker_).work();
  }

  std::string verdict() override {
    taker_.relay().wake(~std::uint64_t{0});
    taker_.work();
    if (auto broken = stage_.fence_broken({owner_.id(), taker_.id()}); !broken.empty()) return broken;
    if (stage_.count("SELECT count(*) FROM skald_outbox WHERE live = 0 AND status = 3") != 2)
      return "an event was never completed";
    if (stage_.count("SELECT count(*) FROM skald_dead_letter") != 0) return "a dead letter without a failure";
    if (kind_ != Worker::Kind::sends && stage_.effects() != "e1 e2")
      return "effects are '" + stage_.effects() + "', not 'e1 e2'";
    if (kind_ != Worker::Kind::handles) return verdict_on_sends();
    return {};
  }

 private:
  // Each sent, nobody out of order, and again only what was under way.
  std::string verdict_on_sends() const {
    for (const int session : {0, 1}) {
      const auto sent = sends_.sent(session);
      if (!std::ranges::is_sorted(sent)) return "session " + std::to_string(session) + " sent out of order";
    }
    const auto sent = sends_.sent();
    const auto first = std::ranges::find(sent, "e1"), second = std::ranges::find(sent, "e2");
    if (first == sent.end() || second == sent.end()) return "an event was never sent";
    if (second < first) return "e2 was sent before e1";
    if (sent.size() > 3) return "more was sent again than was under way";
    return {};
  }

  Stage& stage_;
  Worker::Kind kind_;
  SendLog sends_;
  Worker owner_, taker_;
};

}  // namespace

void add_take_over_scenarios(std::vector<Scenario>& out) {
  const auto with = [](Worker::Kind kind) {
    return [kind](Stage& stage) { return std::make_unique<TakeOver>(stage, kind); };
  };
  out.push_back({"claim",
                 "an owner scans and claims for a bus; another takes over in the middle",
                 2,
                 {},
                 with(Worker::Kind::sends)});
  out.push_back({"fence",
                 "an owner is inside a batch of handlers; a taker raises the fence",
                 2,
                 {},
                 with(Worker::Kind::handles)});
  out.push_back({"take-over",
                 "an owner is stopped anywhere, also inside a transaction; a taker goes on; the owner wakes",
                 2,
                 {0},
                 with(Worker::Kind::handles_then_sends)});
}

}  // namespace skald::test
