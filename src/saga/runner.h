// Runs sagas: who starts one owns it at birth and runs it from memory; the database
// is read only to recover, for timers, and for others' work.
//
// | failure                            | what happens                                          |
// | process dies                       | its sagas become due; another claims them under a higher fence |
// | it comes back late                 | every transaction checks the fence first: it changes nothing |
// | the step kills its process         | what was in hand is suspect (store/tables/blame.h); the third death that |
// |                                    | is surely its own parks it                            |
// | result lost with what follows      | it is committed alone, then what follows is tried     |
// | its row cannot be read             | it is parked (UNREADABLE); those claimed with it go on |
// | begun by a newer program           | left to those that know its version                   |
// | database away                      | nothing is lost; tried again after a pause            |
//
// No thread is owned here. start() and run_one() are called by any number of threads,
// poll() by one.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>

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

  // In the caller's transaction: unowned, and due when that commits, or waiting already.
  Started start_in(Transaction& tx, const Definition& definition, std::shared_ptr<void> state,
                   const StartOptions& options);

  // One transaction or call of a saga that is ready. False: none is.
  bool run_one();
  // When run_one() has something to do, unless woken.
  Duration ready_in();
  // Claims what is due; when it wants to be called again, unless woken.
  Duration poll();
  // Something in the database becomes due then.
  void note_due(Duration in);

  // In the caller's transaction; the saga goes on after its commit, or ends with it.
  void signal(Transaction& tx, std::string_view saga_id, std::string_view name, std::string_view payload,
              std::string_view id);
  // Who lacks this looks again when the transaction has committed.
  void freed(Transaction& tx, std::string_view resource, std::string_view key);
  // A person's decisions about a saga that nobody owns. Throw NotFound, Conflict, Busy.
  void retry(Transaction& tx, std::string_view saga_id);
  void compensate(Transaction& tx, std::string_view saga_id, std::string_view why);

  // Claims nothing new, and begins nothing that is ready: the rows are handed back by
  // the worker's leaving.
  void drain() { draining_ = true; }
  // What is ready becomes due for other workers, but for suspects: theirs is the worker's leaving. After drain().
  void give_back_ready();

 private:
  using Handle = std::unique_ptr<Instance>;

  static constexpr Duration kIdleMax = std::chrono::hours(1);
  static constexpr Duration kPauseAfterError = 500ms;
  static std::int64_t ticks(Instant instant) { return instant.time_since_epoch().count(); }

  void run_in(Transaction& tx, Instance& saga, std::optional<std::string> signal);
  void look_after(Transaction& tx);
  void wake_lacking(const Freed& what);
  bool ends_by(const tables::saga::Row& row, std::string_view signal) const;
  bool end_in(Transaction& tx, const tables::saga::Row& row, std::string_view payload);
  // While a newborn is in its starter's hands, its row is not taken for a lost one.
  class Birth {
   public:
    Birth(Runner& runner, const std::string& id) : runner_(runner), id_(id) {
      std::lock_guard lock(runner_.mutex_);
      runner_.held_.insert(id_);
    }
    ~Birth() {
      if (std::uncaught_exceptions() > 0) runner_.give_up(id_);
    }

   private:
    Runner& runner_;
    const std::string id_;
  };

  Handle make(const Definition& definition, std::shared_ptr<void> state, const StartOptions& options);
  Handle load(tables::saga::Row row) const;
  std::optional<Started> start_first(Instance& saga, const StartOptions& options, After& after);
  // One transaction, with what the call before it came to.
  After commit(Instance& saga, std::optional<Trouble> trouble);
  // Of an exception that is being handled: whether a step of the saga is to answer for it, which is trial.met
  // then, or the same is to be tried once more under watch.
  bool is_steps_own(Instance& saga, Trial& trial);
  // For the next run of the group: where it is to stop, and for what.
  void learn(Instance& saga, Trial& trial, bool& result_alone);
  void commit_result_alone(Instance& saga);
  void watch_for_circle(const Instance& saga);
  After step(Instance& saga, After before);
  Handle reload(const Instance& saga);
  void put_back(Handle saga, After after);
  // poll() has to look then, or sooner. True: that is sooner than was known.
  bool look_sooner(Duration in);
  void look_at(Duration in);
  std::vector<std::string> definitions() const;
  void take_in_hand(const tables::saga::Row& row, const tables::blame::Blame& blame);
  void park_unreadable(tables::saga::Row row, const std::string& why);
  std::vector<std::string> held();
  void let_go(const std::string& id);
  void drop_outdated(const std::string& id);
  // As above, where its row may be there and be ours.
  void give_up(const std::string& id);
  // Of claimed sagas, the suspects that find no place beside those in hand are given back; `admitted` are the others.
  struct Suspect {
    bool alone = false;  // else in a group
    int deaths = 0;
    Instant until = Instant::max();  // it holds its place until then; known when it has begun
    tables::blame::Blame blame = {};
  };
  using Suspects = std::map<std::string, Suspect>;
  void put_off_suspects(Transaction& tx, std::vector<tables::saga::Row>& claimed, Suspects& admitted);
  // Those whose time is over have survived for now.
  Suspects expired_suspects();
  bool has_one_alone();
  void note_begun(const std::string& id);
  void trust(const std::string& id);
  void try_again_later(Handle saga, const std::exception& error);

  struct Ready {
    Handle saga;
    After after = After::go_on;
    Instant not_before{};
    bool reload = false;  // its last transaction may or may not have happened
  };

  Env env_;
  Database& db_;
  const Registry& registry_;
  const RunnerHooks hooks_;
  const GroupLimits limits_;
  std::mutex mutex_;  // guards ready_, held_ and suspects_
  std::deque<Ready> ready_;
  std::set<std::string> held_;  // what this process owns, as far as it knows
  Suspects suspects_;  // of those, what may kill this process
  // A commit without an answer may have left rows that are ours and not in memory.
  std::atomic<bool> adrift_{false};
  std::atomic<std::int64_t> next_look_;  // steady microseconds
  std::atomic<bool> draining_{false};
};

SagaView view_of(const tables::saga::Row& row, const Registry& registry);

}  // namespace skald::saga
