#include "outbox/membership.h"

#include <algorithm>
#include <array>

#include "env/seam.h"
#include "skald/id.h"
#include "skald/json.h"
#include "store/tables/blame.h"
#include "store/tables/outbox.h"
#include "store/tables/partition.h"
#include "store/tables/saga.h"
#include "store/tables/worker.h"

namespace skald::outbox {
namespace {

using tables::partition::Ownership;

constexpr auto kIdle = std::chrono::hours(1);
// News of sagas are told as news of this partition.
constexpr int kSagasPartition = 0;
// How soon sessions that did not end at once are looked for again.
constexpr Duration kResistingAgainIn = 50ms;

// What the dead worker had in hand is due, and suspect; what it had marked alone is counted.
void release_work_of_dead(Transaction& tx, std::string_view worker) {
  tables::saga::release_all(tx, worker, true);
  for (const auto& [kind, id, blame] : tables::blame::count_death(tx, worker))
    if (kind == tables::blame::Kind::saga && blame.pause() > Duration::zero())
      tables::saga::put_off(tx, id, tx.now() + blame.pause());
}

}  // namespace

Membership::Membership(Env env, Database& db, Identity identity, Kind kind, const OutboxOptions& options)
    : env_(env), db_(db), identity_(std::move(identity)), kind_(kind), options_(options) {}

Membership::Result Membership::run_once() {
  const Instant sent = env_.clock.steady();
  const bool late = joined_ && !trusted();
  if (!joined_) {
    const std::string id = make_id(env_.clock.now(), env_.random);
    id_ = id;
    View view;
    db_.write("join as worker", [&](Transaction& tx) { view = join(tx); });
    publish(std::move(view));
    joined_ = true;
    tell_others();
  }
  if (kind_ == Kind::sole) return {kIdle, 0, {}};

  const std::string sessions = sessions_text();
  const auto pulse = tables::worker::beat(db_, id_, sessions, owned_bits(), subscribers_);
  if (!pulse.alive) {
    drop_everything();
    return {Duration::zero(), 0, {}};
  }
  if (late) note_late_beat();
  note_beats_taken_back(pulse.beats);
  {
    std::lock_guard lock(mutex_);
    good_until_ = sent + options_.lease * 4 / 5;
  }
  if (pulse.sagas_adrift && seam::holds(seam::Rule::adrift_sagas_released))
    db_.write("release sagas", [](Transaction& tx) { tables::saga::release_adrift(tx); });
  const Beats dead = observe(pulse.beats, sent, env_.clock.steady());
  resisting_ = dead.empty() ? std::set<std::string>() : take_over(dead);
  // What was released is due now, and not when the next beat finds it.
  const auto saga_due_in = pulse.sagas_adrift || !dead.empty() ? Duration::zero() : pulse.saga_due_in;
  const std::size_t workers = pulse.beats.size() - dead.size();
  if (pulse.partitions_changed || workers != workers_seen_ || !dead.empty()) share_out(workers);
  workers_seen_ = workers;
  const bool subscribers_changed = subscribers_ != pulse.subscribers;
  subscribers_ = pulse.subscribers;
  return {resisting_.empty() ? options_.beat : std::min(options_.beat, kResistingAgainIn), pulse.live, saga_due_in,
          pulse.owed, subscribers_changed};
}

Membership::View Membership::join(Transaction& tx) {
  View view;
  view.worker = id_;
  if (kind_ == Kind::sole) {
    for (const auto& other : tables::worker::all(tx)) {
      release_work_of_dead(tx, other.id);
      tables::worker::remove(tx, other.id);
    }
    tables::saga::release_adrift(tx);
    for (const Ownership& seen : tables::partition::all(tx)) {
      if (const auto fence = tables::partition::take(tx, seen, id_))
        view.shares.push_back({seen.id, *fence, !seen.owner.empty(), false});
    }
  }
  tables::worker::insert(tx, {.id = id_, .host = identity_.host, .pid = identity_.pid, .sessions = sessions_text()});
  return view;
}

void Membership::drop_everything() {
  env_.observer.count("worker_lease_lost_total");
  env_.observer.log(Observer::Level::warn, "this worker's lease is lost; it begins again under a new id",
                    "\"worker\":\"" + id_ + "\"");
  joined_ = false;
  beats_acknowledged_ = 0;
  others_.clear();
  resisting_.clear();
  workers_seen_ = 0;
  publish(View{});
}

// It was stopped, starved or cut off. Its row is there, so everything that it owned is its own still.
void Membership::note_late_beat() const {
  env_.observer.count("worker_beats_late_total");
  env_.observer.log(Observer::Level::warn, "this worker's beat came late; nobody has taken its work, and it goes on",
                    "\"worker\":\"" + id_ + "\"");
}

// A standby that had not heard of them was promoted, or an old copy was put in the database's place: other commits
// are gone as well. The pulse shows the own beats without the one that it has just counted.
void Membership::note_beats_taken_back(const std::vector<std::pair<std::string, std::int64_t>>& beats) {
  const auto own = std::ranges::find(beats, id_, &std::pair<std::string, std::int64_t>::first);
  if (own == beats.end()) return;
  if (own->second < beats_acknowledged_) {
    env_.observer.count("database_went_back_total");
    env_.observer.log(
        Observer::Level::error,
        "the database has lost commits that it had acknowledged: was a standby promoted that did not have "
        "them?",
        "\"worker\":\"" + id_ + "\",\"beats\":" + std::to_string(own->second) +
            ",\"acknowledged\":" + std::to_string(beats_acknowledged_));
  }
  beats_acknowledged_ = own->second + 1;
}

void Membership::must_count(Transaction& tx) const {
  if (!tables::worker::hold(tx, id_))
    throw Stale("WORKER_GONE", "this worker was taken over meanwhile; its next beat begins anew");
}

// The workers whose beat has stood still for a whole lease on our own clock: from
// having the first answer to sending the question of the last.
Membership::Beats Membership::observe(const std::vector<std::pair<std::string, std::int64_t>>& beats, Instant sent,
                                      Instant answered) {
  std::map<std::string, Seen> current;
  Beats dead;
  for (const auto& [worker, beat] : beats) {
    if (worker == id_) continue;
    const auto before = others_.find(worker);
    Seen seen = before != others_.end() && before->second.beat == beat ? before->second : Seen{beat, answered, 0};
    ++seen.observations;
    const bool still =
        seam::holds(seam::Rule::lease_observed_whole) ? sent - seen.since >= options_.lease : seen.observations > 1;
    if (still) dead.emplace(worker, beat);
    current.emplace(worker, seen);
  }
  others_ = std::move(current);
  return dead;
}

// Those of the dead whose sessions are not all gone yet. They keep their row locks, so nothing of theirs can be
// taken; nobody waits for them here, or this worker's own lease would end meanwhile.
std::set<std::string> Membership::take_over(const Beats& dead) {
  std::set<std::string> resisting;
  const auto workers = db_.read_result([](Transaction& tx) { return tables::worker::all(tx); });
  for (const auto& worker : workers) {
    const auto seen = dead.find(worker.id);
    if (seen == dead.end() || seen->second != worker.beat) continue;
    const bool ended = !seam::holds(seam::Rule::old_backends_terminated) ||
                       db_.end_sessions(from_json<std::vector<Database::Session>>(worker.sessions));
    if (ended) take_over_from(worker.id, worker.beat);
    else resisting.insert(worker.id);
  }
  for (const std::string& worker : resisting) {
    if (resisting_.contains(worker)) continue;
    env_.observer.count("worker_sessions_resist_total");
    env_.observer.log(Observer::Level::warn,
                      "a worker is gone, and its database sessions are not: its work is taken over once the server has "
                      "ended them",
                      "\"worker\":\"" + id_ + "\",\"dead\":\"" + worker + "\"");
  }
  return resisting;
}

void Membership::take_over_from(const std::string& dead, std::int64_t beat) {
  std::lock_guard changing(changing_);
  View next = *view();
  const std::size_t before = next.shares.size();
  bool taken = false;
  db_.write("take over", [&](Transaction& tx) {
    next.shares.resize(before);
    must_count(tx);
    taken = tables::worker::remove_silent(tx, dead, beat);
    if (!taken) return;
    release_work_of_dead(tx, dead);
    for (const Ownership& seen : tables::partition::all(tx)) {
      if (seen.owner != dead) continue;
      if (const auto fence = tables::partition::take(tx, seen, id_))
        next.shares.push_back({seen.id, *fence, true, false});
    }
  });
  if (!taken) return;
  env_.observer.count("worker_take_overs_total");
  env_.observer.log(Observer::Level::warn, "took over the work of a worker that stopped beating",
                    "\"worker\":\"" + id_ + "\",\"dead\":\"" + dead +
                        "\",\"partitions\":" + std::to_string(next.shares.size() - before));
  publish(std::move(next));
}

// Takes what is nobody's up to a fair share, and marks the surplus as leaving.
void Membership::share_out(std::size_t workers) {
  const std::size_t fair = (kPartitions + workers - 1) / std::max<std::size_t>(workers, 1);
  std::lock_guard changing(changing_);
  View next = *view();
  const View before = next;
  db_.write("share out partitions", [&](Transaction& tx) {
    next = before;
    must_count(tx);
    for (const Ownership& seen : tables::partition::all(tx)) {
      const auto own = std::ranges::find(next.shares, seen.id, &Share::partition);
      if (own != next.shares.end()) {
        if (seen.owner != id_ || seen.fence != own->fence) next.shares.erase(own);
      } else if (seen.owner.empty() && next.shares.size() < fair) {
        if (const auto fence = tables::partition::take(tx, seen, id_))
          next.shares.push_back({seen.id, *fence, false, false});
      } else if (seen.owner == id_) {
        tables::partition::release(tx, seen);  // a take whose answer was lost
      }
    }
  });
  for (std::size_t i = 0; i < next.shares.size(); ++i) next.shares[i].leaving = i >= fair;
  publish(std::move(next));
}

void Membership::give_back(int partition) {
  std::lock_guard changing(changing_);
  View next = *view();
  const auto share = std::ranges::find(next.shares, partition, &Share::partition);
  if (share == next.shares.end()) return;
  const Ownership owned{share->partition, next.worker, share->fence};
  next.shares.erase(share);
  publish(std::move(next));
  db_.write("give partition back", [&](Transaction& tx) { tables::partition::release(tx, owned); });
  tell_others();
}

void Membership::leave(Unfinished unfinished) {
  if (!joined_) return;
  publish(View{});
  joined_ = false;
  const std::string sessions = sessions_text();
  db_.write("leave", [&](Transaction& tx) {
    if (unfinished == Unfinished::some) {
      tables::worker::end_other_sessions(tx, sessions);
      tables::outbox::release_claimed(tx, id_, tables::partition::hold_all(tx, id_));
    }
    tables::partition::release_all(tx, id_);
    tables::saga::release_all(tx, id_, false);
    tables::blame::lift_all(tx, id_);
    tables::worker::remove(tx, id_);
  });
  tell_others();
}

// They beat at once, and find what is nobody's.
void Membership::tell_others() {
  if (kind_ == Kind::leased) db_.announce(std::array{tables::worker::kChanged, kSagasPartition});
}

std::shared_ptr<const Membership::View> Membership::view() const {
  std::lock_guard lock(mutex_);
  return view_;
}

void Membership::publish(View view) {
  auto next = std::make_shared<const View>(std::move(view));
  std::lock_guard lock(mutex_);
  view_ = std::move(next);
}

bool Membership::trusted() const {
  if (kind_ == Kind::sole || !seam::holds(seam::Rule::self_stop_on_lost_lease)) return true;
  std::lock_guard lock(mutex_);
  return env_.clock.steady() < good_until_;
}

std::string Membership::sessions_text() const { return to_json(db_.sessions()); }

std::uint64_t Membership::owned_bits() const {
  std::uint64_t bits = 0;
  for (const Share& share : view()->shares) bits |= std::uint64_t{1} << share.partition;
  return bits;
}

}  // namespace skald::outbox
