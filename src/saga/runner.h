// Runs sagas: who starts one owns it at birth and runs it from memory; the database
// is read only to recover, for timers, and for others' work.
//
// | failure                            | what happens                                          |
// | process dies                       | its sagas become due; another claims them under a higher fence |
// | it comes back late                 | every transaction checks the fence first: it changes nothing |
// | the step kills its process         | the third take-over parks it                          |
// | result lost with what follows      | it is committed alone, then what follows is tried     |
// | database away                      | nothing is lost; tried again after a pause            |
//
// No thread is owned here. start() and run_one() are called by any number of threads,
// poll() by one.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>

#include "saga/group.h"
#include "saga/registry.h"
#include "saga/runner_hooks.h"
#include "skald/saga_start.h"

namespace skald::saga {

class Runner {
 public:
  Runner(Env env, Database& db, const Registry& registry, RunnerHooks hooks, GroupLimits limits = {});

  // Returns after the first commit; the rest runs in run_one().
  Started start(const Definition& definition, std::shared_ptr<void> state, const StartOptions& options);
  // Goes on in this thread for as long as it needs nobody else: until it has ended,
  // waits, or is parked.
  Started run(const Definition& definition, std::shared_ptr<void> state, const StartOptions& options);

  // One transaction or call of a saga that is ready. False: none is.
  bool run_one();
  // When run_one() has something to do, unless woken.
  Duration ready_in();
  // Claims what is due; when it wants to be called again, unless woken.
  Duration poll();
  // Something in the database becomes due then.
  void note_due(Duration in);

  // In the caller's transaction; the saga goes on after its commit.
  void signal(Transaction& tx, std::string_view saga_id, std::string_view name, std::string_view payload,
              std::string_view id);
  // A person's decisions about a saga that nobody owns. Throw NotFound, Conflict, Busy.
  void retry(Transaction& tx, std::string_view saga_id);
  void compensate(Transaction& tx, std::string_view saga_id, std::string_view why);

  std::size_t in_hand() const { return in_hand_; }
  // Claims nothing new, and begins nothing that is ready: the rows are handed back by
  // the worker's leaving.
  void drain() { draining_ = true; }

 private:
  using Handle = std::unique_ptr<Instance>;

  Handle make(const Definition& definition, std::shared_ptr<void> state, const StartOptions& options);
  Handle load(tables::saga::Row row) const;
  std::optional<Started> start_first(Instance& saga, const StartOptions& options, After& after);
  // One transaction, with what the call before it came to.
  After commit(Instance& saga, std::optional<Trouble> trouble);
  void commit_result_alone(Instance& saga);
  After step(Instance& saga, After before);
  Handle reload(const Instance& saga);
  void put_back(Handle saga, After after);
  void look_at(Duration in);
  std::vector<std::string> types() const;

  struct Ready {
    Handle saga;
    After after = After::go_on;
    Instant not_before{};
    bool reload = false;             // its last transaction may or may not have happened
  };

  Env env_;
  Database& db_;
  const Registry& registry_;
  const RunnerHooks hooks_;
  const GroupLimits limits_;
  std::mutex mutex_;                 // guards ready_
  std::deque<Ready> ready_;
  std::atomic<std::size_t> in_hand_{0};
  std::atomic<std::int64_t> next_look_;   // steady microseconds
  std::atomic<bool> draining_{false};
};

SagaView view_of(const tables::saga::Row& row, const Registry& registry);

}  // namespace skald::saga
