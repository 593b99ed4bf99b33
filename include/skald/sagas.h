// The sagas of an engine: adding definitions, starting, looking, deciding.
//
//   engine.sagas().add(place_order);
//   engine.start();
//   const Started begun = engine.sagas().start(place_order, PlaceOrder{…}, {.key = order_id});
//
// Thread safe after Engine::start().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/checker.h"
#include "skald/lock_view.h"
#include "skald/saga.h"
#include "skald/saga_start.h"
#include "skald/saga_view.h"

namespace skald {

struct SagaFilter {
  std::optional<SagaStatus> status;
  std::optional<std::string> type, key, after;
  int limit = 50;
  std::optional<std::string> code = {};  // of its error
};

class Sagas {
 public:
  virtual ~Sagas() = default;

  // Before Engine::start() only. Throws Invalid (SAGA_DEFINITION) with a sentence that
  // says what to change.
  template <class State>
  void add(const Saga<State>& saga) {
    add_definition(saga.definition());
  }

  // Returns once the saga is durable: after its first commit, which is its last where
  // everything in it is local. Throws what the database throws; nothing has happened then.
  template <class State>
  Started start(const Saga<State>& saga, State state, const StartOptions& options = {}) {
    return begin(saga.definition().type, std::make_shared<State>(std::move(state)), options, false);
  }
  // Goes on in this thread until the saga has ended, waits, or needs help.
  template <class State>
  Started run(const Saga<State>& saga, State state, const StartOptions& options = {}) {
    return begin(saga.definition().type, std::make_shared<State>(std::move(state)), options, true);
  }

  // In the caller's transaction, a handler's for example: the saga is there if that commits,
  // and a worker runs its first step then.
  template <class State>
  Started start_in(Transaction& tx, const Saga<State>& saga, State state, const StartOptions& options = {}) {
    return begin_in(tx, saga.definition().type, std::make_shared<State>(std::move(state)), options);
  }

  virtual std::optional<SagaView> find(Transaction& tx, std::string_view id) = 0;
  virtual std::vector<SagaView> list(Transaction& tx, const SagaFilter& filter) = 0;
  // Those that are held, by resource, key and holder.
  virtual std::vector<LockView> locks(Transaction& tx, const LockFilter& filter) = 0;
  // What sagas read and wrote, where EngineOptions::record_history is set: up to `commits`
  // commits behind the one at `after`, in their order; all operations of each.
  virtual std::vector<checker::Operation> history(Transaction& tx, std::int64_t after, std::size_t commits) = 0;
  virtual std::vector<std::reference_wrapper<const saga::Definition>> definitions() const = 0;

  // Decisions, in the caller's transaction; the saga goes on after its commit. `id` makes a
  // repeated signal one; `actor` is the person, if it is one. Throw NotFound, Conflict, Busy.
  virtual void signal(Transaction& tx, std::string_view saga_id, std::string_view name, std::string_view payload,
                      std::string_view id, std::string_view actor = {}) = 0;
  // Of `resource`, `key` there is more once this transaction has committed: steps that lack it
  // (Busy with a Shortage) look again, those first that have waited longest.
  virtual void freed(Transaction& tx, std::string_view resource, std::string_view key) = 0;
  virtual void retry(Transaction& tx, std::string_view saga_id, std::string_view actor) = 0;
  virtual void compensate(Transaction& tx, std::string_view saga_id, std::string_view actor, std::string_view why) = 0;

 protected:
  virtual void add_definition(const saga::Definition& definition) = 0;
  virtual Started begin(const std::string& type, std::shared_ptr<void> state, const StartOptions& options,
                        bool to_the_end) = 0;
  virtual Started begin_in(Transaction& tx, const std::string& type, std::shared_ptr<void> state,
                           const StartOptions& options) = 0;
};

}  // namespace skald
