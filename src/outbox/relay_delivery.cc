// Relay: handing one event, or a batch of them, to whom it is for.
#include <algorithm>

#include "env/seam.h"
#include "outbox/relay.h"
#include "outbox/sending.h"
#include "store/tables/attempt.h"
#include "store/tables/inbox.h"

namespace skald::outbox {
namespace {

using dead_letter::Undertaker;
using seam::Rule;

}  // namespace

void Relay::complete(Transaction& tx, std::span<const Entry> entries, bool attempt_counted) {
  std::vector<tables::outbox::Completion> done;
  for (const Entry& entry : entries) done.push_back({entry.id, Duration::zero()});
  tables::outbox::complete(tx, done, view_->worker, attempt_counted);
}

// Each consumer in a transaction of its own, so that one that fails does not undo
// another's work; those that have it recorded are not called again. False where the
// partition is another's by now.
bool Relay::run_consumers(const Entry& entry) {
  const Message message = handling_.message_of(entry);
  for (const Consumer* consumer : routing_.plan(entry).consumers) {
    const bool together = seam::holds(Rule::dedupe_in_effect_transaction);
    bool ours = false, first = true;
    std::optional<Span> span;
    const auto run = [&](Transaction& tx) {
      code_.begin_run();
      span.reset();
      ours = owns(tx, entry);
      if (!ours) return;
      first = together ? tables::inbox::record(tx, consumer->name, entry.id)
                       : tx.query("SELECT 1 FROM skald_inbox WHERE event_id = $1 AND consumer = $2", entry.id,
                                  consumer->name)
                             .empty();
      if (first || !seam::holds(Rule::dedupe_checked)) handling_.call(tx, *consumer, message, code_, span);
    };
    code_.begin_run();
    try {
      db_.write(consumer->name, run);
    } catch (const std::exception& error) {
      if (span) end_failed_span(env_, *span, error.what());
      throw;
    }
    if (span) env_.observer.span(*span);
    if (!ours) return false;
    if (!together && first)
      db_.write("record apart", [&](Transaction& tx) { tables::inbox::record(tx, consumer->name, entry.id); });
  }
  return true;
}

void Relay::find_outlets() {
  outlets_.emplace();
  for (Bus* bus : routing_.buses()) outlets_->push_back({.bus = bus});
}

// What waited for a bus is looked at again when it is ready.
void Relay::follow_buses() {
  bool came = false;
  for (Outlet& outlet : *outlets_) {
    const bool ready = outlet.bus->is_ready();
    came |= ready && !outlet.was_ready;
    outlet.was_ready = ready;
  }
  if (!came) return;
  for (auto& [partition, lane] : lanes_)
    if (std::exchange(lane.wants_bus, false)) lane.want_pass();
}

void Relay::send(const Entry& entry) {
  const Instant begun = env_.clock.steady();
  if (alone_ && alone_->id == entry.id) alone_->until = begun + tables::blame::alone_for(entry.crashes);
  routing_.plan(entry).route->bus->send(
      outgoing(env_, handling_, entry),
      [this, entry, begun, span = begin_sending(env_, entry)](Outcome outcome) mutable {
        if (span) end_sending(env_, *span, entry, options_.source, outcome);
        finish(entry, std::move(outcome), env_.clock.steady() - begun);
      });
}

void Relay::finish(Entry entry, Outcome outcome, Duration took, bool unproven) {
  const auto held = in_hand_.find(entry.id);
  const InHand begun = held == in_hand_.end() ? InHand{} : held->second;
  const auto lane = lanes_.find(entry.partition);
  // Nothing of its key goes on, not even in a pass that is beyond it already.
  if (outcome.verdict != Verdict::delivered && lane != lanes_.end()) lane->second.held_keys.insert(entry.event.key);
  finished_.push_back({std::move(entry), begun, std::move(outcome), took, unproven});
}

// A service that is told of its events' ends has thrown: the one whose end it cannot bear has failed.
bool Relay::settle_by_itself(const std::exception& error) {
  if (settles_singly_ || finished_.size() == 1) finished_.front().outcome = Outcome::failed(error.what());
  settles_singly_ = true;
  end_code_.forgive();
  return true;
}

// The database cannot write either: they are run again, and no attempt is spent.
void Relay::take_back_unproven() {
  for (const Finished& f : finished_)
    if (f.unproven) singles_.push_front(f.entry);
  std::erase_if(finished_, [](const Finished& f) { return f.unproven; });
}

void Relay::warn_of(const Entry& entry, const std::string& error, Time again) const {
  env_.observer.log(Observer::Level::warn, "an event could not be delivered and is tried again",
                    "\"tag\":\"[Outbox]\",\"event\":" + to_json(entry.id) + ",\"type\":" + to_json(entry.event.type) +
                        ",\"key\":" + to_json(entry.event.key) + ",\"attempt\":" + std::to_string(entry.attempts) +
                        ",\"of\":" + std::to_string(entry.retries_max + 1) + ",\"error\":" + to_json(error) +
                        ",\"nextRetryAt\":\"" + format_time(again) + "\"");
}

// An entry that is PROCESSING in a partition of ours, but not in our hands: its
// owner died. It goes back at once; a death is no attempt of its own.
void Relay::recover(Transaction& tx, const Entry& orphan, const Blames& blames) {
  Entry entry = orphan;
  const auto& plan = routing_.plan(entry);
  // What is for consumers alone is claimed only where the owner before that one died, too.
  const bool second = entry.crashes == 0 && plan.route == nullptr;
  entry.crashes += second ? 2 : 1;
  env_.observer.count("outbox_stalled_recovered_total");
  tables::attempt::insert(
      tx, entry.id,
      {entry.attempts, tx.now(), entry.locked_by, "CRASHED", tx.now() - entry.locked_at, "its worker stopped"});
  --entry.attempts;
  const auto blame = blames.find(entry.id);
  const Duration pause = blame == blames.end() ? Duration::zero() : blame->second.pause();
  tables::outbox::reschedule(tx, entry, tx.now() + pause, "its worker stopped in the middle");
}

// Whatever it came to, it has run, and its process lives.
void Relay::clear_survivor(Transaction& tx, Entry& entry) const {
  if (is_alone(entry)) tables::blame::clear(tx, tables::blame::Kind::event, entry.id);
  entry.crashes = 0;
}

void Relay::end_alone() {
  alone_.reset();
  marks_stale_ = true;
}

// One that is on its way for long has survived for now: the next may go.
bool Relay::lift_alone() {
  if (alone_ && alone_->until <= env_.clock.steady()) end_alone();
  if (alone_ || !marks_stale_) return false;
  db_.write("lift a suspect",
            [&](Transaction& tx) { tables::blame::lift_kind(tx, tables::blame::Kind::event, view_->worker); });
  marks_stale_ = false;
  look_for_room();
  return true;
}

// So have the other suspects that are on their way: one may go alone now.
bool Relay::lift_suspects() {
  if (!suspects_until_ || *suspects_until_ > env_.clock.steady()) return false;
  suspects_until_.reset();
  look_for_room();
  return true;
}

// That may still kill.
bool Relay::has_suspects() const {
  return suspects_until_ && std::ranges::any_of(in_hand_, [](const auto& one) { return one.second.suspect; });
}

void Relay::look_for_room() {
  for (auto& [partition, lane] : lanes_)
    if (std::exchange(lane.wants_room, false)) lane.want_pass();
}

}  // namespace skald::outbox
