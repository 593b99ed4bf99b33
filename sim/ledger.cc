#include "sim/ledger.h"

#include "sim/business.h"
#include "sim/signals.h"
#include "skald/bus.h"

namespace skald::sim {

void Ledger::broken(std::string invariant, const std::string& text) {
  throw BrokenInvariant{std::move(invariant), text};
}

void Ledger::wrote(std::string_view name) {
  dirty_ = true;
  if (name == "take over" || name == "join as worker" || name == "share out partitions" ||
      name == "give partition back" || name == "leave")
    owners_dirty_ = true;
  if (name == "bury" || name == "end a dead letter's entry" || name == "import dead letter" || name == "replay" ||
      name == "discard")
    letters_dirty_ = true;
}

void Ledger::observe() {
  if (dirty_) {
    dirty_ = false;
    stage_.look([&](Transaction& tx) {
      observe_emitted(tx);
      observe_effects(tx);
      observe_settled(tx);
      observe_donations(tx);
      if (owners_dirty_) observe_owners(tx);
    });
    owners_dirty_ = false;
  }
  if (letters_dirty_) check_dead_letters();
}

void Ledger::observe_emitted(Transaction& tx) {
  const Rows rows = tx.query(
      "SELECT n, id, key, type, subject, payload, (SELECT COUNT(*) FROM skald_outbox o WHERE o.id = e.id) FROM "
      "sim_emitted e "
      "WHERE n > $1 ORDER BY n",
      emitted_upto_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    emitted_upto_ = rows.get<std::int64_t>(i, 0);
    const auto id = rows.get<std::string>(i, 1);
    Emitted event{emitted_upto_,
                  rows.get<std::string>(i, 2),
                  rows.get<std::string>(i, 3),
                  rows.get<std::string>(i, 4),
                  rows.get<std::string>(i, 5),
                  {},
                  0};
    subjects_.insert(event.subject);
    if (rows.get<int>(i, 6) != 1)
      broken("I1", "the business of " + event.subject + " is committed without its event " + id);
    if (denied_.contains(event.subject)) broken("I9", event.subject + " was denied to its client and committed");
    events_.emplace(id, std::move(event));
  }
}

Ledger::Emitted& Ledger::known(const std::string& id, std::string_view where) {
  const auto found = events_.find(id);
  if (found == events_.end())
    broken("I1", "event " + id + " came to " + std::string(where) + " and was never committed");
  return found->second;
}

void Ledger::observe_effects(Transaction& tx) {
  const Rows rows = tx.query(
      "SELECT n, consumer, event_id, payload, fence, worker, fence_held, owner, out_of_order FROM sim_effect WHERE n > "
      "$1 ORDER BY n",
      effects_upto_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    effects_upto_ = rows.get<std::int64_t>(i, 0);
    const auto consumer = rows.get<std::string>(i, 1), id = rows.get<std::string>(i, 2);
    Emitted& event = known(id, consumer);
    if (event.payload != rows.get<std::string_view>(i, 3))
      broken("I1", consumer + " was given other bytes than were committed as " + id);
    if (++event.effects[consumer] > 1) broken("I1", consumer + " has applied " + id + " twice");
    check_footing(rows, i, 4, consumer + " applied", id);
    const auto fence = rows.get<std::int64_t>(i, 4);
    const auto worker = rows.get<std::string>(i, 5);
    const auto [owner, first] = owners_.try_emplace({partition_of(event.key), fence}, worker);
    if (!first && owner->second != worker)
      broken("I3", "fence " + std::to_string(fence) + " has two owners: " + owner->second + " and " + worker);
    check_order(consumer, event, id, rows.get<bool>(i, 8));
    first_delivery(id);
  }
}

void Ledger::observe_settled(Transaction& tx) {
  const Rows rows =
      tx.query("SELECT n, event_id, status, fence, worker, fence_held, owner FROM sim_settled WHERE n > $1 ORDER BY n",
               settled_upto_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    settled_upto_ = rows.get<std::int64_t>(i, 0);
    // PENDING is an operator's replay, which needs no partition.
    if (const auto status = rows.get<std::string>(i, 2); status != "PENDING")
      check_footing(rows, i, 3, status + " was told of", rows.get<std::string>(i, 1));
  }
}

// From `column` on: the fence and worker acted under, the fence and owner held.
void Ledger::check_footing(const Rows& rows, std::size_t row, std::size_t column, const std::string& what,
                           const std::string& id) {
  const auto fence = rows.get<std::int64_t>(row, column), held = rows.get<std::int64_t>(row, column + 2);
  const auto worker = rows.get<std::string>(row, column + 1), owner = rows.get<std::string>(row, column + 3);
  if (fence == held && worker == owner) return;
  broken("I3", what + " " + id + " under fence " + std::to_string(fence) + " of " + worker + ", but " +
                   std::to_string(held) + " is held by " + owner);
}

void Ledger::check_order(std::string_view by, const Emitted& event, const std::string& id, bool out_of_order) {
  if (out_of_order) return;
  std::int64_t& latest = progress_[{std::string(by), event.key}];
  if (event.n <= latest)
    broken("I2", std::string(by) + " got " + id + " (" + event.key + " #" + std::to_string(event.n) + ") after #" +
                     std::to_string(latest));
  latest = event.n;
}

void Ledger::observe_donations(Transaction& tx) {
  const Rows rows = tx.query("SELECT n, request FROM sim_donation WHERE n > $1 ORDER BY n", donations_upto_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    donations_upto_ = rows.get<std::int64_t>(i, 0);
    const auto request = rows.get<std::string>(i, 1);
    if (!donations_.emplace(request, donations_upto_).second) broken("I7", "request " + request + " had two effects");
    subjects_.insert(request);
  }
}

// A partition changes hands only when nobody holds it, when its holder is gone, or
// when the holder has not beaten for a whole lease; and its fence counts up.
void Ledger::observe_owners(Transaction& tx) {
  const Rows rows = tx.query("SELECT id, COALESCE(owner, ''), fence FROM skald_partition");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto owner = rows.get<std::string>(i, 1);
    const auto fence = rows.get<std::int64_t>(i, 2);
    auto& [before, old_fence] = held_[rows.get<int>(i, 0)];
    if (owner == before && fence == old_fence) continue;
    const auto beat = last_beats_.find(before);
    if (!stage_.plan.sole && !owner.empty() && !before.empty() && beat != last_beats_.end() &&
        stage_.now() - beat->second < stage_.plan.options.lease)
      broken("I3", "partition " + std::to_string(rows.get<int>(i, 0)) + " was taken from " + before + " by " + owner +
                       " while its lease ran");
    before = owner;
    old_fence = fence;
  }
}

std::int64_t Ledger::fence_of(int partition) {
  std::int64_t fence = 0;
  stage_.look([&](Transaction& tx) {
    fence = tx.query("SELECT fence FROM skald_partition WHERE id = $1", partition).get<std::int64_t>(0, 0);
  });
  return fence;
}

void Ledger::sending(const Message& message, std::int64_t fence, Duration since_step_began) {
  const std::int64_t held = fence_of(partition_of(message.event.key));
  if (held == fence) return;
  stage_.markers.hit(Marker::fenced_out);
  // A process that froze inside of a step cannot know; any other must have stopped
  // by its own clock before another could take the partition.
  if (since_step_began < stage_.plan.options.lease / 6)
    broken("I3", "event " + message.event.id + " was sent under fence " + std::to_string(fence) + " though " +
                     std::to_string(held) + " is held");
}

void Ledger::received(const Message& message, bool stray) {
  observe();
  Emitted& event = known(message.event.id, "the receiver");
  if (event.payload != message.event.payload || event.key != message.event.key || event.type != message.event.type ||
      event.subject != message.event.subject)
    broken("I1", "the receiver was given other bytes than were committed as " + message.event.id);
  if (++event.receipts > 1) {
    stage_.markers.hit(Marker::sent_twice);
    return;
  }
  if (!stray) check_order("receiver", event, message.event.id, message.out_of_order);
  first_delivery(message.event.id);
}

void Ledger::first_delivery(const std::string& id) {
  if (wakes_lost_.erase(id) > 0) stage_.markers.hit(Marker::wake_lost_then_delivered);
}

void Ledger::acknowledged(const std::string& subject) {
  dirty_ = true;
  observe();
  acknowledged_.insert(subject);
  if (!subjects_.contains(subject)) broken("I9", subject + " was acknowledged and is not there");
}

void Ledger::denied(const std::string& subject) {
  observe();
  denied_.insert(subject);
  if (subjects_.contains(subject)) broken("I9", subject + " was denied to its client and is there");
}

void Ledger::answered(const std::string& key, const std::string& request_body, const std::string& answer) {
  acknowledged(key);
  if (answer.find(request_body) == answer.npos)
    broken("I7", "key " + key + " with body " + request_body + " got the answer to another: " + answer);
  const auto [first, fresh] = answers_.try_emplace(key, answer);
  if (!fresh && first->second != answer)
    broken("I7", "key " + key + " got two answers: " + first->second + " and " + answer);
}

}  // namespace skald::sim
