// Two or three sessions at one countermeasure: barrier, lock, version file.
#include "interleave/scenario.h"
#include "skald/distributed_lock.h"
#include "skald/isolation.h"
#include "skald/version_file.h"

namespace skald::test {
namespace {

// An action, the same once more, and its undo.
class Overtaking final : public Play {
 public:
  explicit Overtaking(Stage& stage) : stage_(stage) {}
  void run(int session) override {
    const Side side = session == 1 ? Side::undo : Side::action;
    stage_.db(session).write("pass", [&](Transaction& tx) {
      if (pass_barrier(tx, "saga", "step", side) == Passage::first)
        Stage::put_effect(tx, side == Side::action ? "done" : "undone", kKey);
    });
  }
  std::string verdict() override {
    const std::string effects = stage_.effects();
    return effects.empty() || effects == "done undone" ? "" : "action and undo had the effects '" + effects + "'";
  }

 private:
  Stage& stage_;
};

// The lease of session 0 ends while its effect begins; the others want the lock.
class LateHolder final : public Play {
 public:
  explicit LateHolder(Stage& stage) : stage_(stage), late_(*lock(stage.admin()).try_acquire("late")) {}
  void run(int session) override {
    if (session == 0) {
      effect(session, late_, "late");
    } else if (session == 1) {
      stage_.db(session).write(
          "time passes", [](Transaction& tx) { tx.execute("UPDATE skald_permit SET expires_at = 1 WHERE fence = 1"); });
    } else if (const auto permit = lock(stage_.db(session)).try_acquire("next")) {
      lent_ = true;
      effect(session, *permit, "next");
    }
  }
  std::string verdict() override {
    const std::string effects = stage_.effects();
    if (effects == "next late") return "the late holder had its effect after the next one's";
    if (lent_ == (effects.find("next") == std::string::npos)) return "lent, but the effects are '" + effects + "'";
    return {};
  }

 private:
  static DistributedLock lock(Database& db) { return {db, "lamp", 1h}; }
  void effect(int session, const Permit& permit, std::string_view id) {
    try {
      stage_.db(session).write("effect", [&](Transaction& tx) {
        lock(stage_.db(session)).check(tx, permit);
        Stage::put_effect(tx, id, kKey);
      });
    } catch (const Stale&) {}
  }

  Stage& stage_;
  Permit late_;
  std::atomic<bool> lent_ = false;
};

// Two append, and one comes with the number 2 from elsewhere.
class Numbers final : public Play {
 public:
  explicit Numbers(Stage& stage) : stage_(stage) {}
  void run(int session) override {
    const VersionFile file(
        [](Transaction& tx, const VersionEntry& entry) { Stage::put_effect(tx, std::to_string(entry.seq), kKey); });
    try {
      stage_.db(session).write("append", [&](Transaction& tx) {
        if (session == 2) file.arrive(tx, {.resource = "lamp", .seq = 2, .saga_id = "s2", .action = "RESTOCK"});
        else file.append(tx, "lamp", "s" + std::to_string(session), "RESERVE", 1);
      });
    } catch (const Conflict& error) {
      if (session != 2 || error.code() != "VERSION_TAKEN") throw;
      ++refused_;
    }
  }
  std::string verdict() override {
    const std::string effects = stage_.effects();
    const auto stored = stage_.count("SELECT count(*) FROM skald_version_entry");
    if (stored + refused_ != 3) return std::to_string(stored) + " entries are stored";
    // The early 2 makes both append behind it: nothing is applied before 1 is there.
    const bool gap = stage_.count("SELECT min(seq) FROM skald_version_entry") == 2;
    const std::string wanted = gap ? "" : stored == 2 ? "1 2" : "1 2 3";
    return effects == wanted ? "" : "applied were '" + effects + "', not '" + wanted + "'";
  }

 private:
  Stage& stage_;
  std::atomic<int> refused_ = 0;
};

}  // namespace

void add_isolation_scenarios(std::vector<Scenario>& out) {
  out.push_back({"barrier", "an action, its undo and its repetition come at once", 3, {}, make_play<Overtaking>});
  out.push_back(
      {"late-holder", "a lease ends while its holder acts and another wants it", 3, {}, make_play<LateHolder>});
  out.push_back({"version-file", "two append to a version file and an early entry arrives", 3, {}, make_play<Numbers>});
}

}  // namespace skald::test
