// The threads that run sagas, behind the public Sagas.
#pragma once

#include <memory>
#include <vector>

#include "runtime/loop.h"
#include "saga/runner.h"
#include "skald/sagas.h"

namespace skald::runtime {

class SagaThreads final : public Sagas {
 public:
  struct Hooks {
    std::function<std::string()> worker;   // see RunnerHooks
    std::function<void()> announce;
  };
  struct Options {
    int threads;
    Duration patience;                     // see saga::GroupLimits
    bool record_history;
    std::vector<Duration> crash_retries;   // see saga::GroupLimits
    const CrashNotes* notes = nullptr;
  };
  SagaThreads(Env env, Database& db, Hooks hooks, const Options& options);

  // Throws Invalid where sagas in flight fit no definition.
  void start(bool works);
  // Begins nothing new. What is in hand and is not being worked on is given to other processes at once; what ends
  // meanwhile by the next call.
  void hand_over();
  bool is_busy() const;
  // The same, and waits for what is under way.
  void stop();
  void note_due(Duration in) { runner_.note_due(in); }

  // What its threads do in one round each, for who has it without threads (steps.h).
  Duration poll();
  Duration run_one();
  bool poll_woken() const { return poll_woken_; }  // since the last round began
  bool run_woken() const { return run_woken_; }
  void drain() { runner_.drain(); }

  // For how long the slowest of the steps under way has been running.
  Duration busy_for() const;

  std::optional<SagaView> find(Transaction& tx, std::string_view id) override;
  std::vector<SagaView> list(Transaction& tx, const SagaFilter& filter) override;
  std::vector<LockView> locks(Transaction& tx, const LockFilter& filter) override;
  std::vector<checker::Operation> history(Transaction& tx, std::int64_t after, std::size_t commits) override;
  std::vector<std::reference_wrapper<const saga::Definition>> definitions() const override;
  void signal(Transaction& tx, std::string_view saga_id, std::string_view name, std::string_view payload,
              std::string_view id, std::string_view actor) override;
  void freed(Transaction& tx, std::string_view resource, std::string_view key) override {
    runner_.freed(tx, resource, key);
  }
  void retry(Transaction& tx, std::string_view saga_id, std::string_view actor) override;
  void compensate(Transaction& tx, std::string_view saga_id, std::string_view actor, std::string_view why) override;

 protected:
  void add_definition(const saga::Definition& definition) override { registry_.add(definition); }
  Started begin(const std::string& type, std::shared_ptr<void> state, const StartOptions& options,
                bool to_the_end) override;
  Started begin_in(Transaction& tx, const std::string& type, std::shared_ptr<void> state,
                   const StartOptions& options) override;

 private:
  void wake_poll() noexcept;
  void wake_run() noexcept;
  static void side_by_side(std::vector<std::function<void()>> calls);

  Env env_;
  Database& db_;
  Hooks hooks_;
  saga::Registry registry_;
  saga::Runner runner_;
  std::atomic<bool> running_{false};
  std::atomic<bool> poll_woken_{false}, run_woken_{false};
  std::unique_ptr<Loop> polling_;
  std::vector<std::unique_ptr<Loop>> running_loops_;
};

}  // namespace skald::runtime
