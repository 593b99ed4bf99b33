// A saga's definition as data, without the type of its state: what saga.h builds and
// the engine runs. Not for direct use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/isolation.h"
#include "skald/json.h"
#include "skald/saga_view.h"

namespace skald {

// What a step is told about its saga.
struct StepContext {
  std::string saga_id;
  std::string key;              // the business key, or empty
  std::string step;
  int attempt = 1;              // of this step: 1, 2, …
  std::size_t element = 0;      // of each()
  std::string traceparent = {};  // W3C trace context for what a remote step calls, or empty; emit() takes it by itself
  std::optional<SagaError> failure = {};  // in an undo: why; none where the saga goes on anew from an earlier step
};

// Something that steps may lack (Busy with a Shortage of the same two names).
struct Freed {
  std::string resource, key;
};

class Local {
 public:
  Local(Transaction& tx, const StepContext& context, std::vector<Freed>& freed)
      : tx_(tx), context_(context), freed_(freed) {}
  Transaction& tx() const { return tx_; }
  Transaction* operator->() const { return &tx_; }
  const std::string& saga_id() const { return context_.saga_id; }
  const std::string& key() const { return context_.key; }
  const StepContext& context() const { return context_; }
  // There is more of it once this step has committed: those that lack it look again. As
  // Sagas::freed(), for the steps of sagas.
  void freed(std::string resource, std::string key) { freed_.push_back({std::move(resource), std::move(key)}); }

 private:
  Transaction& tx_;
  const StepContext& context_;
  std::vector<Freed>& freed_;
};

class Remote {
 public:
  Remote(const StepContext& context, std::string idempotency_key, std::int64_t fence, Duration timeout)
      : context_(context), idempotency_key_(std::move(idempotency_key)), fence_(fence), timeout_(timeout) {}
  // The same at every try of this step (or undo) of this saga; another one where the step
  // was undone and is done anew, by rereads() or for a lock.
  const std::string& idempotency_key() const { return idempotency_key_; }
  // In an undo: the key of the calls that it cancels. Elsewhere the same as above.
  std::string_view action_key() const {
    constexpr std::string_view undo = "/undo";
    std::string_view key = idempotency_key_;
    if (key.ends_with(undo)) key.remove_suffix(undo.size());
    return key;
  }
  // Counts up with each owner: a provider may refuse a lower one than it has seen.
  std::int64_t fence() const { return fence_; }
  // How long the call may take. One that ends without an answer throws CommitUnknown.
  Duration timeout() const { return timeout_; }
  const std::string& saga_id() const { return context_.saga_id; }
  const std::string& key() const { return context_.key; }
  const StepContext& context() const { return context_; }

 private:
  const StepContext& context_;
  std::string idempotency_key_;
  std::int64_t fence_;
  Duration timeout_;
};

namespace saga {

enum class Kind { local, remote, child, sleep, await };
BOOST_DESCRIBE_ENUM(Kind, local, remote, child, sleep, await)

// One of the two is set.
struct Actions {
  std::function<void(Local&, void* state, std::size_t element)> local;
  std::function<void(Remote&, void* state, std::size_t element)> remote;
  explicit operator bool() const { return local || remote; }
};

struct Retry {
  int tries = 3;
  Duration first = 100ms;
};

struct Holds {
  std::string resource;
  std::function<std::vector<std::string>(const void*)> keys;
  std::function<std::optional<LockMode>(const void*)> mode;  // none: no lock for this one
  std::function<WhenBusy(const void*)> when_busy;
  std::optional<LockMode> fixed_mode = {};  // where it does not depend on the state: what the analyser relies on
};

struct Step {
  Kind kind = Kind::local;
  std::string name;
  Actions run = {};
  Actions undo = {};
  bool nothing_to_undo = false;
  bool undone_by_rollback = false;
  bool pivot = false;
  bool parallel = false;  // its elements are called side by side
  std::vector<std::string> branches = {};  // where it is: their names
  bool commits = false;
  Retry retry = {};
  Duration timeout = 30s;
  std::string back_to = {};  // where Stale leads to; empty: tried again here
  std::vector<Holds> holds = {};
  std::vector<DataAccess> accesses = {};
  std::function<bool(const void*)> wanted = {};  // empty: always
  std::function<std::size_t(const void*)> count = {};  // of elements; empty: one
  std::function<Duration(const void*)> sleep_time = {};
  std::string signal = {};
  std::string child_type = {};
  int child_version = 1;
  std::optional<Duration> child_deadline = {};
  std::function<RawJson(const void*)> make_child = {};
  std::function<void(Local&, void*, const RawJson&)> receive = {};  // a signal's payload, a child's end
};

// The state without its type.
struct Codec {
  std::function<std::shared_ptr<void>(const RawJson&)> read;
  std::function<std::string(const void*)> write;
  std::function<std::shared_ptr<void>(const void*)> copy;
};

// A saga in flight as a migration sees it.
struct Migrated {
  std::string next_step;  // empty: behind the last one
  RawJson state;
};

struct Definition {
  std::string type;
  int version = 1;
  Codec codec;
  std::vector<Step> steps = {};
  std::optional<Duration> deadline = {};
  bool forward_only = false;
  std::map<int, std::function<Migrated(const Migrated&)>> migrations = {};
};

template <Described State>
Codec codec_of() {
  return {
      [](const RawJson& json) -> std::shared_ptr<void> { return std::make_shared<State>(from_json<State>(json.text)); },
      [](const void* state) { return to_json(*static_cast<const State*>(state)); },
      [](const void* state) -> std::shared_ptr<void> {
        return std::make_shared<State>(*static_cast<const State*>(state));
      }};
}

template <class State, class F>
Actions local_step(F run) {
  return {[run = std::move(run)](Local& step, void* state, std::size_t) { run(step, *static_cast<State*>(state)); },
          {}};
}
template <class State, class F>
Actions remote_step(F run) {
  return {{},
          [run = std::move(run)](Remote& step, void* state, std::size_t) { run(step, *static_cast<State*>(state)); }};
}
template <class State, class Element, class F>
Actions element_step(std::vector<Element> State::* elements, F run) {
  const auto call = [elements, run = std::move(run)](auto& step, void* erased, std::size_t element) {
    State& state = *static_cast<State*>(erased);
    run(step, state, (state.*elements).at(element));
  };
  if constexpr (std::is_invocable_v<F, Local&, State&, Element&>) return {call, {}};
  else return {{}, call};
}
template <class State>
std::function<void(Remote&, void*, std::size_t)> branch_step(
    std::vector<std::function<void(Remote&, State&)>> branches) {
  return [branches = std::move(branches)](Remote& step, void* state, std::size_t element) {
    branches.at(element)(step, *static_cast<State*>(state));
  };
}

template <class State, class Keys>
std::function<std::vector<std::string>(const void*)> keys_of(Keys keys) {
  return [keys = std::move(keys)](const void* erased) -> std::vector<std::string> {
    const auto& state = *static_cast<const State*>(erased);
    decltype(auto) found = std::invoke(keys, state);
    using Found = std::remove_cvref_t<decltype(found)>;
    if constexpr (std::is_same_v<Found, std::vector<std::string>>) return found;
    else if constexpr (json::is_optional<Found>)
      return found ? std::vector<std::string>{*found} : std::vector<std::string>{};
    else return {found};
  };
}

}  // namespace saga
}  // namespace skald
