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

}  // namespace

void add_membership_scenarios(std::vector<Scenario>& out) {
  out.push_back({"takers", "two workers take over from the same dead one", 2, {}, [](Stage& stage) {
                   return std::make_unique<TwoTakers>(stage);
                 }});
}

}  // namespace skald::test
