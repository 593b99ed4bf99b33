// A worker that loses its partition and gets it back while its relay still has
// something of the time before in hand.
#include "interleave/scenario.h"
#include "interleave/worker.h"

namespace skald::test {
namespace {

// Sessions 0 and 2 are one process, its relay and its membership, whose bus refuses
// everything; session 1 takes over, delivers, and leaves.
class Comeback final : public Play {
 public:
  explicit Comeback(Stage& stage)
      : stage_(stage),
        owner_(stage, 0, Worker::Kind::sends, sends_, {.refuses = true, .membership_session = 2}),
        taker_(stage, 1, Worker::Kind::sends, sends_) {
    owner_.membership().run_once();
    taker_.membership().run_once();
    const Duration half = owner_.options().lease / 2;
    stage.clock(1).move(half);
    taker_.membership().run_once();
    stage.clock(1).move(half);
    seed_events(stage, {event_of("e1", kKey)});
  }

  void run(int session) override {
    if (session == 0) owner_.work([] { Conductor::switch_point("-- the next step"); });
    if (session == 1) {
      taker_.beat();
      taker_.work();
      taker_.membership().leave();
    }
    // Sees that its lease is gone, and begins again under a new id.
    for (int i = 0; session == 2 && i < 2; ++i) owner_.beat();
  }

  std::string verdict() override {
    const auto status = stage_.count("SELECT status FROM skald_outbox");
    const auto letters = stage_.count("SELECT count(*) FROM skald_dead_letter WHERE state = 'DEAD'");
    if (status == static_cast<int>(EntryStatus::COMPLETED) && letters != 0)
      return "an event was delivered and is a dead letter";
    if (status == static_cast<int>(EntryStatus::DEAD_LETTER) && letters != 1)
      return "an event was given up without its dead letter";
    const auto live = stage_.count("SELECT live FROM skald_outbox");
    const bool ended =
        status == static_cast<int>(EntryStatus::COMPLETED) || status == static_cast<int>(EntryStatus::DEAD_LETTER);
    return ended == (live == 0) ? ""
                                : "an event with status " + std::to_string(status) +
                                      (live == 0 ? " is never sent again" : " is still live");
  }

 private:
  Stage& stage_;
  SendLog sends_;
  Worker owner_, taker_;
};

}  // namespace

void add_comeback_scenarios(std::vector<Scenario>& out) {
  out.push_back({"comeback",
                 "a worker loses its partition and gets it back while its relay buries an event of the time before",
                 3,
                 {},
                 [](Stage& stage) { return std::make_unique<Comeback>(stage); }});
}

}  // namespace skald::test
