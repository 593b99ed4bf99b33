// Sagas: work that spans several transactions, declared once as data.
//
//   struct PlaceOrder { std::string sku; std::int64_t quantity; std::optional<std::string> charge; };
//   BOOST_DESCRIBE_STRUCT(PlaceOrder, (), (sku, quantity, charge))
//
//   const auto place_order = skald::Saga<PlaceOrder>("order.place")
//       .local("create order", create_order).undo(cancel_order)
//       .local("reserve stock", reserve_stock).undo(release_stock)
//           .holds("product", &PlaceOrder::sku, shared, wait_up_to(2s))
//       .remote("charge", charge_card).retry(3, 100ms).timeout(10s).pivot()
//       .local("confirm", confirm_order)
//       .deadline(60s);
//
// The state is one described struct that steps read and change; it is stored with
// every commit. Steps may run several times before they are committed, so they have
// no effects but through what they are given:
//
// | a step throws      | what it means             | what happens                              |
// | Refused            | the business says no      | what was done is undone in reverse        |
// | Stale, Busy, …     | a passing trouble         | tried again as retry() says, then undone  |
// | Busy with shortage | others have what it lacks | waits until that is freed, or for its limit |
// | CommitUnknown, …   | nobody knows (remote)     | asked again with the same key, never guessed |
// | after the pivot    | there is no way back      | tried again until it works or a person is called |
//
// A definition that makes no sense is refused when it is added to an engine, with a
// sentence that says what to change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "skald/isolation.h"
#include "skald/saga_definition.h"

namespace skald {

inline constexpr struct ByRollback {
} by_rollback;

template <class State>
class Saga {
 public:
  // `type` is stable and unique in an engine: "order.place".
  explicit Saga(std::string type) {
    definition_.type = std::move(type);
    definition_.codec = saga::codec_of<State>();
  }

  // Runs inside of the transaction that records it: exactly once. Consecutive local
  // steps share one.
  template <class F>
  Saga& local(std::string name, F run) {
    return add(saga::Kind::local, std::move(name), saga::local_step<State>(std::move(run)));
  }
  // Runs outside of any transaction, at least once, always with the same key.
  template <class F>
  Saga& remote(std::string name, F run) {
    return add(saga::Kind::remote, std::move(name), saga::remote_step<State>(std::move(run)));
  }
  // What the transaction of Sagas::start_in() does besides: there is nothing to run, only an
  // undo(). Where an await() follows, the saga waits as soon as that transaction has committed.
  Saga& given(std::string name) { return add(saga::Kind::local, std::move(name), {}); }
  // Once per element of a vector in the state, each undone by itself. `run` gets
  // (Local& or Remote&, State&, Element&).
  template <class Element, class F>
  Saga& each(std::string name, std::vector<Element> State::* elements, F run) {
    const bool is_local = std::is_invocable_v<F, Local&, State&, Element&>;
    add(is_local ? saga::Kind::local : saga::Kind::remote, std::move(name),
        saga::element_step<State>(elements, std::move(run)));
    last().count = [elements](const void* state) { return (static_cast<const State*>(state)->*elements).size(); };
    return *this;
  }
  // Remote branches side by side; all have ended before the saga goes on. Two
  // branches must not change the same member of the state.
  struct Branch {
    std::string name;
    std::function<void(Remote&, State&)> run;
    std::function<void(Remote&, State&)> undo = {};  // empty: nothing to undo
  };
  Saga& all(std::string name, std::vector<Branch> branches) {
    saga::Actions run, undo;
    std::vector<std::function<void(Remote&, State&)>> runs, undos;
    std::vector<std::string> names;
    bool undone = false;
    for (Branch& branch : branches) {
      names.push_back(std::move(branch.name));
      undone = undone || branch.undo;
      runs.push_back(std::move(branch.run));
      undos.push_back(branch.undo ? std::move(branch.undo) : [](Remote&, State&) {});
    }
    run.remote = saga::branch_step<State>(std::move(runs));
    undo.remote = saga::branch_step<State>(std::move(undos));
    add(saga::Kind::remote, std::move(name), std::move(run));
    if (undone) last().undo = std::move(undo);
    last().nothing_to_undo = !undone;
    last().parallel = true;
    last().branches = std::move(names);
    last().count = [n = branches.size()](const void*) { return n; };
    return *this;
  }
  // Another saga as a step: `make` gives its state, `then` hears what it ended with.
  // Where it ends undone, this step is refused with its reason.
  template <class Child>
  Saga& child(std::string name, const Saga<Child>& other, std::function<Child(const State&)> make,
              std::function<void(Local&, State&, const Child&)> then) {
    add(saga::Kind::child, std::move(name), {});
    last().child_type = other.definition().type;
    last().child_version = other.definition().version;
    last().child_deadline = other.definition().deadline;
    last().make_child = [make](const void* state) { return RawJson{to_json(make(*static_cast<const State*>(state)))}; };
    last().receive = [then](Local& step, void* state, const RawJson& ended) {
      then(step, *static_cast<State*>(state), from_json<Child>(ended.text));
    };
    return *this;
  }
  Saga& sleep(std::string name, Duration time) {
    return sleep(std::move(name), [time](const State&) { return time; });
  }
  Saga& sleep(std::string name, std::function<Duration(const State&)> time) {
    add(saga::Kind::sleep, std::move(name), {});
    last().sleep_time = [time](const void* state) { return time(*static_cast<const State*>(state)); };
    return *this;
  }
  // Waits for a signal of that name: by a person (POST /api/sagas/{id}/signal) or by code
  // (Sagas::signal, in an event's handler too). Refused with TIMED_OUT after timeout().
  // Without `receive` what the signal says does not matter, only that it came; where it is the
  // last step, the saga ends with the transaction that signals.
  Saga& await(std::string name, std::string signal) {
    add(saga::Kind::await, std::move(name), {});
    last().signal = std::move(signal);
    return *this;
  }
  Saga& await(std::string name, std::string signal, std::function<void(Local&, State&, const RawJson&)> receive) {
    await(std::move(name), std::move(signal));
    last().receive = [receive](Local& step, void* state, const RawJson& payload) {
      receive(step, *static_cast<State*>(state), payload);
    };
    return *this;
  }

  // What follows is about the step before it.

  // Undo is relative and must work from whatever it finds ("+ 3", never "= 100").
  // It runs as local or remote, as its signature says.
  template <class F>
  Saga& undo(F action) {
    if constexpr (std::is_invocable_v<F, Local&, State&>) last().undo = saga::local_step<State>(std::move(action));
    else last().undo = saga::remote_step<State>(std::move(action));
    return *this;
  }
  template <class Element, class F>  // of each()
  Saga& undo(std::vector<Element> State::* elements, F action) {
    last().undo = saga::element_step<State>(elements, std::move(action));
    return *this;
  }
  // Where nothing of the group is committed yet, a plain rollback may do instead of
  // the undo: what the step did is then never seen by anybody.
  Saga& undo(ByRollback) { return last().undone_by_rollback = true, *this; }
  Saga& nothing_to_undo() { return last().nothing_to_undo = true, *this; }
  // The point of no return: behind it only forward.
  Saga& pivot() { return last().pivot = true, *this; }
  // `tries` definite failures in all, `first` x attempt (and jitter) between them.
  Saga& retry(int tries, Duration first) { return last().retry = {tries, first}, *this; }
  // Of a remote call (it is told) or of a wait.
  Saga& timeout(Duration limit) { return last().timeout = limit, *this; }
  Saga& when(std::function<bool(const State&)> wanted) {
    last().wanted = [wanted](const void* state) { return wanted(*static_cast<const State*>(state)); };
    return *this;
  }
  // Ends the shared transaction here: others see what was done so far.
  Saga& commit() { return last().commits = true, *this; }
  // Semantic locks, from this step to the end of the saga. `keys`: a member (string
  // or vector of strings), or a function of the state; none yet: taken later.
  template <class Keys>
  Saga& holds(std::string resource, Keys keys, LockMode mode, WhenBusy when_busy = wait_up_to(2s)) {
    return holds(std::move(resource), std::move(keys), mode, [when_busy](const State&) { return when_busy; });
  }
  template <class Keys>
  Saga& holds(std::string resource, Keys keys, LockMode mode, std::function<WhenBusy(const State&)> when_busy) {
    holds(std::move(resource), std::move(keys), [mode](const State&) { return mode; }, std::move(when_busy));
    last().holds.back().fixed_mode = mode;
    return *this;
  }
  template <class Keys>
  Saga& holds(std::string resource, Keys keys, std::function<std::optional<LockMode>(const State&)> mode,
              std::function<WhenBusy(const State&)> when_busy) {
    last().holds.push_back({std::move(resource), saga::keys_of<State>(std::move(keys)),
                            [mode](const void* state) { return mode(*static_cast<const State*>(state)); },
                            [when_busy](const void* state) { return when_busy(*static_cast<const State*>(state)); }});
    return *this;
  }
  // A Stale step undoes what lies between and goes on from the step that read.
  Saga& rereads(std::string step) { return last().back_to = std::move(step), *this; }
  // For the analyser (`skald lint`): which data this step reads and writes, and what
  // keeps others away from it.
  Saga& reads(std::string resource, Guard guard = Guard::none) {
    return last().accesses.push_back({std::move(resource), DataAccess::read, guard}), *this;
  }
  Saga& writes(std::string resource, Guard guard = Guard::none) {
    return last().accesses.push_back({std::move(resource), DataAccess::write, guard}), *this;
  }

  // What follows is about the whole saga.
  Saga& deadline(Duration limit) { return definition_.deadline = limit, *this; }
  // Its first version is 1. A saga in flight ends on the version that it began with,
  // which must still be added, or `migrate` turns its state and step into this one's.
  Saga& version(int number) { return definition_.version = number, *this; }
  Saga& migrates_from(int version, std::function<saga::Migrated(const saga::Migrated&)> migrate) {
    definition_.migrations[version] = std::move(migrate);
    return *this;
  }
  Saga& forward_only() { return definition_.forward_only = true, *this; }

  const saga::Definition& definition() const { return definition_; }

 private:
  Saga& add(saga::Kind kind, std::string name, saga::Actions run) {
    definition_.steps.push_back({.kind = kind, .name = std::move(name), .run = std::move(run)});
    return *this;
  }
  saga::Step& last() {
    if (definition_.steps.empty())
      throw Invalid("SAGA_DEFINITION", definition_.type + ": say first which step this is about");
    return definition_.steps.back();
  }

  saga::Definition definition_;
};

}  // namespace skald
