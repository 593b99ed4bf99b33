// Workers that compete for what a dead one has left.
#include "interleave/scenario.h"
#include "interleave/worker.h"
#include "store/tables/partition.h"

namespace skald::test {
namespace {

// Sessions 0 and 1 have both seen that the worker of session 2 is dead.
class TwoTakers final : public Play {
 public:
  explicit TwoTakers(Stage& stage)
      : stage_(stage),
        takers_{Worker(stage, 0, Worker::Kind::handles, sends_), Worker(stage, 1, Worker::Kind::handles, sends_)},
        dead_(stage, 2, Worker::Kind::handles, sends_) {
    dead_.membership().run_once();
    const Duration half = dead_.options().lease / 2;
    for (int round = 0; round < 2; ++round) {
      for (const int session : {0, 1}) {
        takers_[session].membership().run_once();
        stage.clock(session).move(half);
      }
    }
    seed_events(stage, {event_of("e1", kKey)});
  }

  void run(int session) override {
    takers_[session].beat();
    takers_[session].work();
  }

  std::string verdict() override {
    if (auto broken = stage_.fence_broken({takers_[0].id(), takers_[1].id(), dead_.id()}); !broken.empty())
      return broken;
    if (stage_.count("SELECT count(*) FROM skald_worker") != 2)
      return "the dead worker's row is still there, or a living one's is gone";
    const auto owned = stage_.admin().read_result([](Transaction& tx) { return tables::partition::all(tx); });
    int believers = 0, owners = 0;
    for (Worker& taker : takers_) {
      const auto view = taker.membership().view();
      believers += static_cast<int>(view->shares.size());
      for (const auto& share : view->shares) owners += share.fence == owned[0].fence && view->worker == owned[0].owner;
    }
    if (believers != 1 || owners != 1)
      return std::to_string(believers) + " believe that they own the partition, " + std::to_string(owners) + " do";
    return stage_.effects() == "e1" ? "" : "effects are '" + stage_.effects() + "', not 'e1'";
  }

 private:
  Stage& stage_;
  SendLog sends_;
  Worker takers_[2];
  Worker dead_;
};

// Session 0 works while session 2, the same process, is asked to end and does not wait for it. Session 1 has seen its
// beat stand still for a whole lease: it takes over, or finds what is nobody's.
class Leave final : public Play {
 public:
  Leave(Stage& stage, Worker::Kind kind)
      : stage_(stage),
        kind_(kind),
        leaver_(stage, 0, kind, sends_, {.membership_session = 2}),
        taker_(stage, 1, kind, sends_) {
    leaver_.membership().run_once();
    leaver_id_ = leaver_.id();
    taker_.membership().run_once();
    const Duration half = leaver_.options().lease / 2;
    stage.clock(1).move(half);
    taker_.membership().run_once();
    stage.clock(1).move(half);
    seed_events(stage, {event_of("e1", kKey), event_of("e2", kKey)});
  }

  void run(int session) override {
    if (session == 0) leaver_.work([] { Conductor::switch_point("-- the next step"); });
    if (session == 2) leaver_.membership().leave(outbox::Membership::Unfinished::some);
    if (session == 1) {
      taker_.beat();
      taker_.work();
    }
  }

  std::string verdict() override {
    taker_.beat();  // as the leaver's announcement makes it
    taker_.relay().wake(~std::uint64_t{0});
    taker_.work();
    if (auto broken = stage_.fence_broken({leaver_id_, taker_.id(), leaver_id_}); !broken.empty()) return broken;
    if (stage_.count("SELECT count(*) FROM skald_worker") != 1) return "the worker that left is still there";
    if (stage_.count("SELECT count(*) FROM skald_outbox WHERE live = 0 AND status = 3") != 2)
      return "an event was never completed";
    if (kind_ == Worker::Kind::handles && stage_.effects() != "e1 e2")
      return "effects are '" + stage_.effects() + "', not 'e1 e2'";
    // Where nobody took over, nobody has died.
    if (taker_found_it_free() && stage_.count("SELECT count(*) FROM skald_attempt WHERE outcome = 'CRASHED'") != 0)
      return "what a worker left behind in peace counts as its death";
    return {};
  }

 private:
  bool taker_found_it_free() {
    return stage_.count("SELECT count(*) FROM owner_trail WHERE before <> '' AND after <> '' AND before <> after") == 0;
  }

  Stage& stage_;
  Worker::Kind kind_;
  SendLog sends_;
  Worker leaver_, taker_;
  std::string leaver_id_;
};

}  // namespace

void add_membership_scenarios(std::vector<Scenario>& out) {
  out.push_back({"takers", "two workers take over from the same dead one", 2, {}, [](Stage& stage) {
                   return std::make_unique<TwoTakers>(stage);
                 }});
  for (const auto& [name, kind] : {std::pair("leave", Worker::Kind::handles), {"leave_sends", Worker::Kind::sends}})
    out.push_back(
        {name, "a worker leaves with work in hand while another takes over from it", 3, {}, [kind](Stage& stage) {
           return std::make_unique<Leave>(stage, kind);
         }});
}

}  // namespace skald::test
