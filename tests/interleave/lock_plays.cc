// Sagas that meet at one semantic lock.
#include "interleave/saga_cast.h"
#include "interleave/scenario.h"

namespace skald::test {
namespace {

// Two sagas whose one transaction takes the lock and gives it back: no row tells of it.
class Probe final : public Play {
 public:
  explicit Probe(Stage& stage) : stage_(stage), cast_(stage) {
    stage.admin().write("seed", [](Transaction& tx) { tx.execute("INSERT INTO account VALUES ('a', 0, 0)"); });
  }
  void run(int session) override { cast_.start(session, "adder", "saga" + std::to_string(session)); }
  std::string verdict() override {
    cast_.settle();
    const auto amount = stage_.count("SELECT amount FROM account");
    if (amount != 2) return "two sagas added one each under a lock, and made " + std::to_string(amount);
    return stage_.count("SELECT count(*) FROM skald_lock") == 0 ? "" : "they left locks behind";
  }

 private:
  Stage& stage_;
  SagaCast cast_;
};

class AtOneLock : public Play {
 public:
  explicit AtOneLock(Stage& stage) : stage_(stage), cast_(stage) {}
  void run(int session) override { cast_.work(session); }
  std::string verdict() override {
    for (int round = 0; round < 2; ++round) {
      if (auto wrong = cast_.verdict_on_lock(); !wrong.empty()) return wrong;
      cast_.settle();
    }
    return stage_.count("SELECT count(*) FROM skald_lock WHERE granted = 1") == 1 ? "" : "nobody holds the lock";
  }

 protected:
  // Holds the lock, has been told to end, and is in the session's hands.
  void ends(int session, const std::string& type, const std::string& id) {
    cast_.start(session, type, id);
    cast_.signal(stage_.admin(), id);
    cast_.claim(session);
  }

  Stage& stage_;
  SagaCast cast_;
};

// A holder ends while another comes.
class Newcomer final : public AtOneLock {
 public:
  explicit Newcomer(Stage& stage) : AtOneLock(stage) { ends(0, "keeper", "holder"); }
  void run(int session) override {
    if (session == 0) cast_.work(session);
    else cast_.start(session, "keeper", "newcomer");
  }
};

// The holder ends while the time of the first in the queue is over; a third waits behind it.
class GrantOrTimeout final : public AtOneLock {
 public:
  explicit GrantOrTimeout(Stage& stage) : AtOneLock(stage) {
    cast_.start(0, "keeper", "holder");
    cast_.start(1, "hasty", "hasty");
    cast_.claim(1);
    cast_.start(2, "keeper", "patient");
    cast_.signal(stage.admin(), "holder");
    cast_.claim(0);
  }
  std::string verdict() override {
    if (auto wrong = AtOneLock::verdict(); !wrong.empty()) return wrong;
    const bool holds = stage_.count("SELECT count(*) FROM skald_lock WHERE granted = 1 AND root = 'hasty'") == 1;
    const bool refused = cast_.status("hasty") == SagaStatus::COMPENSATED;
    return holds == refused ? "a saga was refused and holds the lock, or neither" : "";
  }
};

// Two who share the lock end at once; a third waits to have it alone.
class Handover final : public AtOneLock {
 public:
  explicit Handover(Stage& stage) : AtOneLock(stage) {
    cast_.start(0, "sharer", "holder0");
    cast_.start(1, "sharer", "holder1");
    cast_.start(2, "keeper", "waiter");
    for (const int session : {0, 1}) {
      cast_.signal(stage.admin(), "holder" + std::to_string(session));
      cast_.claim(session);
    }
  }
};

}  // namespace

void add_lock_scenarios(std::vector<Scenario>& out) {
  out.push_back({"lock-probe", "two sagas take a lock and give it back in one transaction", 2, {}, make_play<Probe>});
  out.push_back({"lock-newcomer", "a lock is given back while another saga comes for it", 2, {}, make_play<Newcomer>});
  out.push_back({"lock-grant", "a lock is given back while a waiter's time is over", 2, {}, make_play<GrantOrTimeout>});
  out.push_back({"lock-handover", "two give a shared lock back that a third waits for", 2, {}, make_play<Handover>});
}

}  // namespace skald::test
