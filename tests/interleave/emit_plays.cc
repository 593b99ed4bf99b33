// Producers that commit while a relay reads: order, completeness, wake-ups.
#include "interleave/scenario.h"
#include "interleave/worker.h"
#include "outbox/emitter.h"

namespace skald::test {
namespace {

// Writes events as the emitter does, with a switch point between drawing their
// ids and COMMIT, which travel together otherwise; notes the order of commits.
class SplitCommit final : public CommitHook {
 public:
  SplitCommit(Worker& reader, std::vector<std::string>& committed)
      : emitter_(reader.options(), reader.routing(),
                 [&reader](std::uint64_t, std::uint64_t partitions) { reader.relay().wake(partitions); }),
        committed_(committed) {}
  void before_commit(Transaction& tx, std::span<const Event> events) override {
    emitter_.before_commit(tx, events);
    tx.query("SELECT 'drawn'");
  }
  void after_commit(std::span<const Event> events) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      for (const Event& event : events) committed_.push_back(event.id);
    }
    emitter_.after_commit(events);
  }

 private:
  outbox::Emitter emitter_;
  std::mutex mutex_;
  std::vector<std::string>& committed_;
};

class Emission : public Play {
 public:
  // `keys`: of each producer's event; the last session reads.
  Emission(Stage& stage, std::vector<std::string> keys)
      : stage_(stage),
        keys_(std::move(keys)),
        reading_(static_cast<int>(keys_.size())),
        reader_(stage, reading_, Worker::Kind::handles, sends_),
        hook_(reader_, committed_) {
    reader_.membership().run_once();
    for (int i = 0; i < reading_; ++i) stage.db(i).set_commit_hook(&hook_);
  }

  void run(int session) override {
    if (session == reading_) return read();
    const std::string number = std::to_string(session);
    stage_.db(session).write(
        "emit", [&](Transaction& tx) { tx.emit(event_of("e" + number, keys_[static_cast<std::size_t>(session)])); });
  }

 protected:
  // Two passes: one may see a part of it.
  virtual void read() {
    for (int i = 0; i < 2; ++i) {
      reader_.relay().wake(~std::uint64_t{0});
      reader_.relay().run_once();
    }
  }
  void read_the_rest() {
    reader_.relay().wake(~std::uint64_t{0});
    reader_.work();
  }
  std::string commit_order() const {
    std::string out;
    for (const std::string& id : committed_) out += (out.empty() ? "" : " ") + id;
    return out;
  }
  bool all_delivered() { return stage_.count("SELECT count(*) FROM skald_outbox WHERE live = 1") == 0; }

  Stage& stage_;
  std::vector<std::string> keys_;
  int reading_;
  SendLog sends_;
  Worker reader_;
  std::vector<std::string> committed_;
  SplitCommit hook_;
};

class SameKey final : public Emission {
 public:
  explicit SameKey(Stage& stage) : Emission(stage, {kKey, kKey}) {}
  std::string verdict() override {
    read_the_rest();
    if (stage_.effects() == commit_order()) return {};
    return "committed as '" + commit_order() + "', delivered as '" + stage_.effects() + "'";
  }
};

// Keys that share a partition have no order between them, but none may be skipped.
class TwoKeys final : public Emission {
 public:
  explicit TwoKeys(Stage& stage) : Emission(stage, {kKey, neighbour()}) {}
  std::string verdict() override {
    read_the_rest();
    if (!all_delivered()) return "an event was skipped";
    const std::string effects = stage_.effects();
    return effects == "e0 e1" || effects == "e1 e0" ? "" : "effects are '" + effects + "'";
  }

 private:
  static std::string neighbour() {
    for (int i = 0;; ++i)
      if (const std::string key = "key" + std::to_string(i); partition_of(key) == partition_of(kKey)) return key;
  }
};

// The relay sleeps when nothing woke it.
class WakeUp final : public Emission {
 public:
  explicit WakeUp(Stage& stage) : Emission(stage, {kKey}) {}
  std::string verdict() override {
    return !all_delivered() && !reader_.relay().has_work() ? "the relay sleeps beside a committed event" : "";
  }

 protected:
  void read() override {
    while (reader_.relay().has_work()) reader_.relay().run_once();
  }
};

}  // namespace

void add_emit_scenarios(std::vector<Scenario>& out) {
  out.push_back({"emit", "two producers commit to one key while a relay reads", 3, {}, make_play<SameKey>});
  out.push_back(
      {"skip", "two producers commit to two keys of one partition while a relay reads", 3, {}, make_play<TwoKeys>});
  out.push_back({"wake", "a producer commits while a relay is about to sleep", 2, {}, make_play<WakeUp>});
}

}  // namespace skald::test
