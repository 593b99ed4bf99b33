#include "saga/semantic_locks.h"

#include <algorithm>
#include <set>

#include "env/foreign_code.h"
#include "env/seam.h"
#include "saga/recording.h"

namespace skald::saga {
namespace {

using seam::Rule;
using tables::semantic_lock::Place;
using tables::semantic_lock::Request;
using tables::semantic_lock::Row;
namespace table = tables::semantic_lock;

std::vector<Place> places_of(const std::vector<Request>& requests) {
  std::vector<Place> out;
  for (const Request& request : requests) out.push_back(request.place);
  return out;
}

auto order_of(const Place& place) { return std::tie(place.resource, place.key); }

bool covers(LockMode held, LockMode wanted) { return held == LockMode::exclusive || wanted == LockMode::shared; }

bool holds(const Instance& saga, const Request& request) {
  return std::ranges::any_of(saga.progress.locks, [&](const Held& held) {
    return held.resource == request.place.resource && held.key == request.place.key && covers(held.mode, request.mode);
  });
}

// What the saga has at the place already, or its root, or another child of that.
const Row* own_row(const std::vector<Row>& rows, const Place& place, const std::string& root) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) { return row.place == place && row.root == root; });
  return found == rows.end() ? nullptr : &*found;
}

void remember(Progress& progress, const Request& request) {
  for (Held& held : progress.locks) {
    if (held.resource != request.place.resource || held.key != request.place.key) continue;
    held.mode = request.mode;
    return;
  }
  progress.locks.push_back({request.place.resource, request.place.key, request.mode});
}

// Whether to wait for `place` can lead to no circle: all that its root holds comes before it.
bool in_order(Transaction& tx, const Instance& saga, const Place& place) {
  if (!seam::holds(Rule::locks_in_global_order)) return true;
  std::vector<Place> held;
  for (const Held& lock : saga.progress.locks) held.push_back({lock.resource, lock.key});
  if (saga.row.root != saga.row.id) std::ranges::move(table::held_by(tx, saga.row.root), std::back_inserter(held));
  return std::ranges::all_of(held, [&](const Place& one) { return order_of(one) < order_of(place); });
}

// The row that stands in the way of `request`, by its holder or by who came first. Who
// is inside already has been waited for by all who came later.
const Row* obstacle(const std::vector<Row>& rows, const Request& request, const std::string& root,
                    bool inside = false) {
  for (const Row& row : rows) {
    if (row.place != request.place || row.root == root) continue;
    if (!row.granted && (inside || !seam::holds(Rule::queue_not_overtaken))) continue;
    const bool compatible = row.granted && row.mode == LockMode::shared && request.mode == LockMode::shared;
    if (!compatible) return &row;
  }
  return nullptr;
}

Trouble busy(const Row& holder, const WhenBusy& policy, const std::string& step, bool parked) {
  const std::string who = holder.place.resource + " " + holder.place.key + " is held by saga " + holder.root +
                          " since " + format_time(holder.since) + " in step '" + holder.step + "'" +
                          (parked ? ", which waits for a person" : "");
  Trouble trouble{Trouble::Kind::refusal, {"BUSY", who + ": try again later", step}, {}};
  if (policy.kind == WhenBusy::Kind::retry) {
    trouble.kind = Trouble::Kind::passing;
    trouble.retry = Retry{policy.tries, policy.pause};
  }
  return trouble;
}

bool is_parked(Transaction& tx, const std::string& saga_id) {
  const auto row = tables::saga::find(tx, saga_id);
  return row && row->status == SagaStatus::NEEDS_HELP;
}

// Who may go on once `gone` has left: the head of the queue, and those behind it
// that can share with it.
std::vector<const Row*> heirs(const std::vector<Row>& rows, const Place& place, const std::string& gone) {
  std::vector<const Row*> out;
  bool held = false, exclusively = false;
  for (const Row& row : rows) {
    if (row.place != place || row.root == gone || !row.granted) continue;
    held = true;
    exclusively = exclusively || row.mode == LockMode::exclusive;
  }
  for (const Row& row : rows) {
    if (row.place != place || row.root == gone || row.granted) continue;
    if (exclusively || (row.mode == LockMode::exclusive && held)) break;
    out.push_back(&row);
    held = true;
    exclusively = row.mode == LockMode::exclusive;
  }
  return out;
}

// Never waits but where it is alone: the transaction may hold rows that those at the
// places are waiting for.
std::vector<Row> rows_at(Transaction& tx, const std::vector<Request>& requests, bool alone) {
  if (alone) return table::enter(tx, places_of(requests));
  auto rows = table::probe(tx, requests);
  if (!rows) throw PlaceTaken{};
  return std::move(*rows);
}

// Sharers leave side by side. Where somebody waits one must be alone: each would see
// the others, and none would let the waiter in. Nobody begins to wait beside a sharer.
void must_be_alone_where_one_waits(Transaction& tx, const std::vector<Row>& rows, const std::vector<Request>& leaving) {
  if (tx.on(Dialect::sqlite)) return;  // every writer is alone
  for (const Request& request : leaving)
    for (const Row& row : rows)
      if (request.mode == LockMode::shared && row.place == request.place && !row.granted) throw PlaceTaken{};
}

template <class F>
auto ask(F&& question) {
  try {
    return run_foreign(question);
  } catch (const std::exception&) {
    throw LockUnclear{std::current_exception()};
  }
}

WhenBusy policy_of(const Instance& saga, const Place& place) {
  for (const Step& step : saga.definition->steps)
    for (const Holds& declared : step.holds) {
      if (declared.resource != place.resource) continue;
      const auto keys = ask([&] { return declared.keys(saga.state.get()); });
      if (std::ranges::find(keys, place.key) == keys.end()) continue;
      return ask([&] { return declared.when_busy(saga.state.get()); });
    }
  return {};
}

}  // namespace

std::vector<Request> SemanticLocks::wanted(const Instance& saga, int index) const {
  std::vector<Request> out;
  const bool first = saga.progress.locks.empty();
  const auto& steps = saga.definition->steps;
  if (steps[static_cast<std::size_t>(index)].holds.empty()) return out;
  for (std::size_t i = static_cast<std::size_t>(index);
       i < (first ? steps.size() : static_cast<std::size_t>(index) + 1); ++i) {
    for (const Holds& declared : steps[i].holds) {
      const auto mode = ask([&] { return declared.mode(saga.state.get()); });
      if (!mode) continue;
      for (std::string& key : ask([&] { return declared.keys(saga.state.get()); })) {
        const Request request{{declared.resource, std::move(key)}, *mode};
        const auto same = std::ranges::find(out, request.place, &Request::place);
        if (same != out.end()) same->mode = std::max(same->mode, request.mode);
        else if (!holds(saga, request)) out.push_back(request);
      }
    }
  }
  std::ranges::sort(out, [](const Request& a, const Request& b) { return order_of(a.place) < order_of(b.place); });
  return out;
}

LockAnswer SemanticLocks::take(Transaction& tx, Instance& saga, int index, bool alone) {
  if (saga.progress.queued) {
    const LockAnswer answer = settle_queued(tx, saga);
    if (answer.kind != LockAnswer::Kind::granted) return answer;
  }
  const std::vector<Request> requests = wanted(saga, index);
  if (requests.empty()) return {};
  const Step& step = saga.definition->steps[static_cast<std::size_t>(index)];
  const std::vector<Row> rows = rows_at(tx, requests, alone);
  for (const Request& request : requests) {
    const Row* own = own_row(rows, request.place, saga.row.root);
    if (own != nullptr && covers(own->mode, request.mode)) continue;
    const Row* holder = obstacle(rows, request, saga.row.root, own != nullptr);
    if (holder == nullptr) {
      remember(saga.progress, request);
      const Row taken{request.place, saga.row.root, saga.row.id, request.mode, true, 0, tx.now(), step.name};
      const auto just_taken = std::ranges::find(taken_, request.place, &Row::place);
      if (own != nullptr) table::make_exclusive(tx, request.place, saga.row.root);
      else if (just_taken != taken_.end()) just_taken->mode = request.mode;
      else taken_.push_back(taken);
      record_lock(saga, checker::Kind::lock, taken);
      continue;
    }
    const WhenBusy policy = policy_of(saga, request.place);
    if (policy.kind != WhenBusy::Kind::wait)
      return {LockAnswer::Kind::refused, busy(*holder, policy, step.name, is_parked(tx, holder->root))};
    if (own != nullptr || !in_order(tx, saga, request.place)) return {LockAnswer::Kind::out_of_order, {}};
    if (!alone) throw PlaceTaken{};  // to stand in the queue one must be alone at its end
    table::insert(tx, {request.place, saga.row.root, saga.row.id, request.mode, false, 0, tx.now(), step.name});
    saga.progress.queued = Held{request.place.resource, request.place.key, request.mode};
    saga.progress.wait_until = tx.now() + policy.limit;
    return {LockAnswer::Kind::queued, {}};
  }
  return {};
}

// Granted meanwhile, or its time is over: the row decides, and nobody else is at it.
LockAnswer SemanticLocks::settle_queued(Transaction& tx, Instance& saga) {
  const Held queued = *saga.progress.queued;
  const Place place{queued.resource, queued.key};
  const auto rows = table::enter(tx, std::span(&place, 1));
  const auto own = std::ranges::find_if(rows, [&](const Row& row) { return row.root == saga.row.root; });
  const bool in_time = saga.progress.wait_until && tx.now() < *saga.progress.wait_until;
  const bool granted = own != rows.end() && own->granted && (in_time || seam::holds(Rule::grant_beats_timeout));
  if (granted) {
    saga.progress.locks.push_back(queued);
    saga.progress.queued.reset();
    saga.progress.wait_until.reset();
    return {};
  }
  if (own != rows.end() && in_time) return {LockAnswer::Kind::queued, {}};
  const Row* holder = obstacle(rows, {place, queued.mode}, saga.row.root);
  Trouble trouble = busy(holder != nullptr ? *holder : *own, {}, own != rows.end() ? own->step : "",
                         holder != nullptr && is_parked(tx, holder->root));
  leave_queue(tx, saga);
  return {LockAnswer::Kind::refused, std::move(trouble)};
}

void SemanticLocks::keep(Transaction& tx) const {
  for (const Row& row : taken_) table::insert(tx, row);
}

// Takes the saga off a place and lets those go on who can.
void SemanticLocks::vacate(Transaction& tx, Instance& saga, const std::vector<Row>& rows, const Place& place) {
  const std::string& root = saga.row.root;
  table::remove(tx, place, root);
  for (const Row& row : rows)
    if (row.place == place && row.root == root && row.granted) record_lock(saga, checker::Kind::unlock, row);
  if (!seam::holds(Rule::granted_on_release)) return;
  for (const Row* heir : heirs(rows, place, root)) {
    table::grant(tx, *heir);
    record_lock(saga, checker::Kind::lock, *heir);
    woken_.push_back(heir->waiter);
  }
}

void SemanticLocks::enter(Transaction& tx, const Instance& saga, int index) const {
  std::vector<Place> places;
  for (const Held& held : saga.progress.locks) places.push_back({held.resource, held.key});
  const auto& steps = saga.definition->steps;
  for (auto i = static_cast<std::size_t>(index); i < steps.size(); ++i) {
    if (steps[i].holds.empty()) continue;
    try {
      for (const Request& request : wanted(saga, static_cast<int>(i))) places.push_back(request.place);
    } catch (const LockUnclear&) {  // shown by take(), where it is the step's failure
    }
    break;
  }
  if (!places.empty()) table::enter(tx, places);
}

void SemanticLocks::release(Transaction& tx, Instance& saga, bool alone) {
  leave_queue(tx, saga);
  const bool has_children =
      std::ranges::any_of(saga.definition->steps, [](const Step& step) { return step.kind == Kind::child; });
  std::vector<Request> leaving;
  if (saga.row.root != saga.row.id && seam::holds(Rule::child_leaves_locks)) return;  // its root holds them
  if (has_children && !saga.newborn) {
    for (Place& place : table::held_by(tx, saga.row.root)) leaving.push_back({std::move(place), LockMode::exclusive});
  } else {
    for (const Held& held : saga.progress.locks) {
      const Place place{held.resource, held.key};
      if (std::ranges::find(taken_, place, &Row::place) == taken_.end()) leaving.push_back({place, held.mode});
    }
  }
  saga.progress.locks.clear();
  for (const Row& row : taken_) record_lock(saga, checker::Kind::unlock, row);
  taken_.clear();
  if (leaving.empty()) return;
  const auto rows = rows_at(tx, leaving, alone);
  if (!alone && seam::holds(Rule::lock_given_back_alone)) must_be_alone_where_one_waits(tx, rows, leaving);
  for (const Request& request : leaving) vacate(tx, saga, rows, request.place);
}

void SemanticLocks::leave_queue(Transaction& tx, Instance& saga) {
  if (!saga.progress.queued) return;
  const Place place{saga.progress.queued->resource, saga.progress.queued->key};
  const auto rows = table::enter(tx, std::span(&place, 1));
  const auto own = std::ranges::find_if(rows, [&](const Row& row) { return row.root == saga.row.root; });
  if (own != rows.end()) vacate(tx, saga, rows, place);
  saga.progress.queued.reset();
  saga.progress.wait_until.reset();
}

}  // namespace skald::saga
