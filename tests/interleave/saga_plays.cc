// Sagas that are taken over, started twice, signalled, and that wait for each other.
#include "interleave/saga_cast.h"
#include "interleave/scenario.h"
#include "store/tables/saga.h"

namespace skald::test {
namespace {

// An owner is about to run two steps in one transaction; another takes its sagas over.
class FusedTakeOver final : public Play {
 public:
  explicit FusedTakeOver(Stage& stage) : stage_(stage), cast_(stage) { cast_.start(0, "pair", "saga"); }
  void run(int session) override {
    if (session == 1) {
      stage_.db(1).write("take over", [](Transaction& tx) { tables::saga::release_all(tx, "w0", true); });
      cast_.claim(1);
    }
    cast_.work(session);
  }
  std::string verdict() override {
    cast_.settle();
    if (stage_.effects() != "a b") return "effects are '" + stage_.effects() + "', not 'a b'";
    return cast_.status("saga") == SagaStatus::COMPLETED ? "" : "the saga has not ended";
  }

 private:
  Stage& stage_;
  SagaCast cast_;
};

class OneBusinessKey final : public Play {
 public:
  explicit OneBusinessKey(Stage& stage) : stage_(stage), cast_(stage) {}
  void run(int session) override {
    told_[session] = cast_.start(session, "listener", "saga" + std::to_string(session), "k").id;
  }
  std::string verdict() override {
    const auto live = stage_.count("SELECT count(*) FROM skald_saga WHERE live = 1");
    if (live != 1) return std::to_string(live) + " live sagas have one business key";
    return told_[0] == told_[1] ? "" : "two starts with one key were told of " + told_[0] + " and " + told_[1];
  }

 private:
  Stage& stage_;
  SagaCast cast_;
  std::string told_[2];
};

// A saga is about to wait for the signal that is being sent.
class SignalAgainstWait final : public Play {
 public:
  explicit SignalAgainstWait(Stage& stage) : stage_(stage), cast_(stage) { cast_.start(0, "listener", "saga"); }
  void run(int session) override {
    if (session == 0) cast_.work(0);
    else cast_.signal(stage_.db(1), "saga");
  }
  std::string verdict() override {
    cast_.settle();
    return cast_.status("saga") == SagaStatus::COMPLETED ? "" : "the saga waits beside its signal";
  }

 private:
  Stage& stage_;
  SagaCast cast_;
};

// A child ends while its parent, disturbed by a signal, looks after it.
class ChildsEnd final : public Play {
 public:
  explicit ChildsEnd(Stage& stage) : cast_(stage) {
    cast_.start(0, "parent", "saga");
    cast_.claim(0);
    cast_.signal(stage.admin(), "saga");
    cast_.claim(1);
  }
  void run(int session) override { cast_.work(session); }
  std::string verdict() override {
    cast_.settle();
    return cast_.status("saga") == SagaStatus::COMPLETED ? "" : "the parent waits for a child that has ended";
  }

 private:
  SagaCast cast_;
};

// One that lacks something is about to wait for it while it is freed.
class FreedAgainstWait final : public Play {
 public:
  explicit FreedAgainstWait(Stage& stage) : cast_(stage) {
    stage.admin().write("seed", [](Transaction& tx) { tx.execute("INSERT INTO account VALUES ('a', 0, 0)"); });
  }
  void run(int session) override {
    if (session == 1) return cast_.give(1);
    cast_.start(0, "buyer", "saga");
    cast_.work(0);
  }
  std::string verdict() override {
    cast_.settle();
    return cast_.status("saga") == SagaStatus::COMPLETED ? "" : "the saga waits beside what it lacks";
  }

 private:
  SagaCast cast_;
};

}  // namespace

void add_saga_scenarios(std::vector<Scenario>& out) {
  out.push_back(
      {"saga-take-over", "a saga is taken over while its owner runs two steps", 2, {}, make_play<FusedTakeOver>});
  out.push_back({"saga-key", "two sagas of one business key are started at once", 2, {}, make_play<OneBusinessKey>});
  out.push_back({"saga-signal", "a signal is sent while its saga begins to wait", 2, {}, make_play<SignalAgainstWait>});
  out.push_back(
      {"saga-freed", "something is freed while a saga begins to wait for it", 2, {}, make_play<FreedAgainstWait>});
  out.push_back({"saga-child", "a child ends while its parent looks after it", 2, {}, make_play<ChildsEnd>});
}

}  // namespace skald::test
