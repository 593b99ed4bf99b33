#include "outbox/relay.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "env/seam.h"
#include "outbox/backoff.h"
#include "store/tables/attempt.h"

namespace skald::outbox {
namespace {

using dead_letter::Undertaker;
using seam::Rule;
using tables::partition::Ownership;

constexpr Duration kIdleMax = std::chrono::seconds(1);
namespace blame = tables::blame;

constexpr std::size_t kErrorBytesMax = 500;
constexpr int kCutOffsSpared = 10;

// From here on it is tried again after the pauses of a setting, and then a person's.
void park_crashed(Transaction& tx, const std::string& id, std::span<const Duration> retries) {
  const auto found = blame::find(tx, blame::Kind::event, std::span(&id, 1));
  if (found.empty()) return;
  const auto pause = blame::retry_after(found.begin()->second, retries);
  blame::park(tx, blame::Kind::event, id, pause ? std::optional(tx.now() + *pause) : std::nullopt);
}

}  // namespace

Relay::Relay(Env env, Database& db, Membership& membership, const Routing& routing, Undertaker& undertaker,
             const OutboxOptions& options, const CrashNotes* notes)
    : env_(env),
      db_(db),
      membership_(membership),
      routing_(routing),
      undertaker_(undertaker),
      options_(options),
      handling_(env, routing, options, notes) {}

Duration Relay::run_once() {
  try {
    const Duration again = step();
    failures_ = 0;
    return again;
  } catch (const Error& error) {
    ++failures_;
    env_.observer.count("outbox_relay_errors_total");
    env_.observer.log(
        Observer::Level::warn, "the relay could not work and tries again",
        "\"tag\":\"[Outbox]\",\"code\":\"" + error.code() + "\",\"error\":" + to_json(std::string(error.what())));
    return std::min<Duration>(50ms * (1 << std::min(failures_, 5)), kIdleMax);
  }
}

Duration Relay::step() {
  if (!outlets_) find_outlets();
  for (Outlet& outlet : *outlets_) outlet.bus->poll(Duration::zero());
  follow_membership();
  follow_buses();
  if (!membership_.trusted()) return options_.beat / 10;
  if (settle() || lift_alone() || lift_suspects() || bury_next() || run_next_single() || run_claimed() ||
      hand_over_leaving())
    return Duration::zero();
  if (draining_) return kIdleMax;
  if (take_offers()) return Duration::zero();
  const Instant now = env_.clock.steady();
  if (rest_until_.load() > now) return rest_until_.load() - now;
  follow_suspicion();
  const std::uint64_t woken = seam::holds(Rule::wake_flag_cleared_first) ? woken_.exchange(0) : woken_.load();
  for (auto& [partition, lane] : lanes_) {
    const bool due = lane.due && *lane.due <= env_.clock.steady();
    if ((woken >> partition & 1) != 0 || due) lane.want_pass();
  }
  const bool scanned = scan();
  if (!seam::holds(Rule::wake_flag_cleared_first)) woken_.store(0);
  return scanned ? Duration::zero() : idle_time();
}

void Relay::follow_membership() {
  const auto view = membership_.view();
  if (view == view_) return;
  std::map<int, Lane> next;
  for (const auto& share : view->shares) {
    const auto before = lanes_.find(share.partition);
    Lane lane;
    if (before != lanes_.end() && before->second.fence == share.fence && view_->worker == view->worker) {
      lane = std::move(before->second);
    } else {
      lane.fence = share.fence;
      lane.careful = share.careful;
    }
    lane.leaving = share.leaving;
    next.emplace(share.partition, std::move(lane));
  }
  lanes_ = std::move(next);
  view_ = view;
  cut_offs_.clear();
  note_orderly();
  // What is no longer ours is forgotten: its new owner finds it in the table.
  const auto lost = [&](const Entry& entry) {
    const auto lane = lanes_.find(entry.partition);
    const auto held = in_hand_.find(entry.id);
    return lane == lanes_.end() || held == in_hand_.end() || held->second.fence != lane->second.fence;
  };
  std::erase_if(claimed_, [&](const Entry& entry) { return lost(entry) && in_hand_.erase(entry.id) <= 1; });
  std::erase_if(singles_, [&](const Entry& entry) { return lost(entry) && in_hand_.erase(entry.id) <= 1; });
  std::erase_if(burials_, [&](const Undertaker::Burial& burial) {
    return lost(burial.entry) && in_hand_.erase(burial.entry.id) <= 1;
  });
  if (alone_ && !in_hand_.contains(alone_->id)) end_alone();
}

void Relay::follow_suspicion() {
  const std::uint64_t suspected = suspected_.exchange(0);
  if (suspected == 0) return;
  for (auto& [partition, lane] : lanes_) {
    if ((suspected >> partition & 1) == 0) continue;
    lane.careful = true;
    lane.want_pass();
  }
  note_orderly();
}

void Relay::note_orderly() {
  std::uint64_t orderly = 0;
  for (const auto& [partition, lane] : lanes_)
    if (!lane.careful && !lane.leaving) orderly |= std::uint64_t{1} << partition;
  orderly_ = orderly;
}

// Writes down what became of the sends and single runs.
bool Relay::settle() {
  if (finished_.empty()) return false;
  const auto together = static_cast<std::ptrdiff_t>(settles_singly_ ? 1 : finished_.size());
  const std::vector<Finished> finished(finished_.begin(), finished_.begin() + together);
  std::vector<Undertaker::Burial> dead;
  end_code_.begin_run();
  try {
    db_.write("settle outbox", [&](Transaction& tx) {
      end_code_.begin_run();
      dead.clear();
      write_down(tx, finished, dead);
    });
  } catch (const std::exception& error) {
    if (end_code_.is_own()) return settle_by_itself(error);
    if (dynamic_cast<const Unavailable*>(&error) != nullptr) take_back_unproven();
    throw;
  }
  end_code_.forgive();
  for (const Finished& f : finished) {
    const bool burying = std::ranges::any_of(dead, [&](const auto& burial) { return burial.entry.id == f.entry.id; });
    if (f.outcome.verdict == Verdict::delivered) release_delivered(f.entry);
    else if (!burying) release_from_hand(f.entry);
    if (f.outcome.at_once) ++cut_offs_[f.entry.id];
    else cut_offs_.erase(f.entry.id);
    env_.observer.timing("outbox_delivery_seconds", f.took);
    env_.observer.count(f.outcome.verdict == Verdict::delivered ? "outbox_delivered_total"
                                                                : "outbox_failed_attempts_total");
  }
  for (auto& burial : dead) burials_.push_back(std::move(burial));
  finished_.erase(finished_.begin(), finished_.begin() + together);
  settles_singly_ = settles_singly_ && !finished_.empty();
  return true;
}

void Relay::write_down(Transaction& tx, std::span<const Finished> finished, std::vector<Undertaker::Burial>& dead) {
  std::vector<Ownership> shares;
  for (const Finished& f : finished) note_share(shares, f.entry.partition);
  const auto ours = tables::partition::check(tx, view_->worker, shares);
  std::vector<tables::outbox::Completion> delivered;
  for (const Finished& f : finished) {
    const bool still_ours =
        std::ranges::find(ours, f.entry.partition) != ours.end() && lanes_.at(f.entry.partition).fence == f.begun.fence;
    if (!still_ours && seam::holds(Rule::fence_checked)) continue;
    Entry entry = f.entry;
    clear_survivor(tx, entry);
    if (f.outcome.verdict == Verdict::delivered) {
      delivered.push_back({f.entry.id, f.took});
      routing_.settle(tx, f.entry, EntryStatus::COMPLETED, end_code_);
      continue;
    }
    const bool refused = f.outcome.verdict == Verdict::refused;
    // A bus that breaks says nothing of what was on its way, unless it does so each time.
    const bool spared = f.outcome.at_once && cut_offs_[f.entry.id] < kCutOffsSpared;
    const bool exhausted = !spared && f.entry.attempts > f.entry.retries_max && seam::holds(Rule::attempts_capped);
    tables::attempt::insert(tx, f.entry.id,
                            {f.entry.attempts, tx.now(), view_->worker, refused ? "REFUSED" : "RETRY", f.took,
                             cut_text(f.outcome.error, kErrorBytesMax)});
    if (refused || exhausted) {
      dead.push_back({entry, refused ? "REFUSED" : "RETRIES_EXHAUSTED", f.outcome.error, blocks_keys()});
    } else {
      const Duration wait = f.outcome.at_once ? Duration::zero()
                                              : backoff(options_, f.entry.attempts, f.outcome.retry_after, env_.random);
      if (spared) --entry.attempts;
      const std::string error = cut_text(f.outcome.error, kErrorBytesMax);
      tables::outbox::reschedule(tx, entry, tx.now() + wait, error);
      if (!spared) tx.after_commit([this, entry, error, again = tx.now() + wait] { warn_of(entry, error, again); });
    }
  }
  tables::outbox::complete(tx, delivered, view_->worker, true);
}

bool Relay::bury_next() {
  if (burials_.empty()) return false;
  const Undertaker::Burial burial = burials_.front();
  Undertaker::Surroundings around{.still_ours = [&](Transaction& tx) { return owns(tx, burial.entry); }, .also = {}};
  if (burial.reason == kCrashed)
    around.also = [&](Transaction& tx, const Entry& entry) { park_crashed(tx, entry.id, options_.crash_retries); };
  around.tell = [&](Transaction& tx, const Entry& entry, UserCode& code) {
    routing_.settle(tx, entry, EntryStatus::DEAD_LETTER, code);
  };
  const auto rest = undertaker_.bury(burial, around);
  if (rest == Undertaker::Rest::nowhere) {
    // It stays where it is, and its key waits: tried again like any failure.
    db_.write("keep an unsaved dead letter", [&](Transaction& tx) {
      if (owns(tx, burial.entry))
        tables::outbox::reschedule(tx, burial.entry, tx.now() + options_.backoff_first,
                                   cut_text(burial.error, kErrorBytesMax));
    });
  }
  burials_.pop_front();
  release_from_hand(burial.entry);
  return true;
}

// What was claimed, in one transaction; what is another's by now is left to that one.
bool Relay::run_claimed() {
  if (claimed_.empty()) return false;
  const Instant begun = env_.clock.steady();
  std::vector<Entry> entries;
  std::vector<Span> spans;
  code_.begin_run();
  try {
    db_.write("relay claimed", [&](Transaction& tx) {
      code_.begin_run();
      std::vector<Ownership> shares;
      for (const Entry& entry : claimed_) note_share(shares, entry.partition);
      const auto ours = tables::partition::check(tx, view_->worker, shares);
      entries.clear();
      for (const Entry& entry : claimed_)
        if (std::ranges::find(ours, entry.partition) != ours.end()) entries.push_back(entry);
      handling_.call_together(tx, entries, code_, spans);
      complete(tx, entries, true);
      for (Entry& entry : entries) clear_survivor(tx, entry);
    });
  } catch (const std::exception&) {
    if (!code_.is_own()) throw;  // the database is away: nobody's fault, tried again
    run_one_by_one(claimed_);
    return true;
  }
  code_.forgive();
  handling_.note_delivered(entries.size(), begun, spans);
  for (const Entry& entry : std::exchange(claimed_, {})) release_delivered(entry);
  return true;
}

// One event alone, each of its consumers in a transaction of its own; what it
// leads to is settled like a send.
bool Relay::run_next_single() {
  if (singles_.empty()) return false;
  const Entry entry = singles_.front();
  const Instant begun = env_.clock.steady();
  Outcome outcome;
  bool ours = true, unproven = false;
  try {
    ours = run_consumers(entry);
  } catch (const Refused& error) {
    outcome = Outcome::refused(error.what());
  } catch (const Invalid& error) {
    outcome = Outcome::refused(error.what());
  } catch (const std::exception& error) {
    if (!code_.is_own()) throw;  // the database is away: nobody's fault, tried again
    unproven = dynamic_cast<const Unavailable*>(&error) != nullptr;
    outcome = Outcome::failed(error.what());
  }
  code_.forgive();
  singles_.pop_front();
  if (!ours) {
    // Its new owner finds it in the table; what is sent from here on is a repeat.
    if (alone_ && alone_->id == entry.id) end_alone();
    release_from_hand(entry);
    return true;
  }
  if (outcome.verdict == Verdict::delivered && routing_.plan(entry).route != nullptr) {
    send(entry);
    return true;
  }
  if (outcome.verdict != Verdict::delivered) {
    // What lies behind it in its key waits for its retry.
    std::erase_if(singles_, [&](const Entry& other) {
      if (other.event.key != entry.event.key) return false;
      const bool claimed = other.status == EntryStatus::PROCESSING;
      if (claimed) finish(other, Outcome::cut_off("an event before it could not be handled"), Duration::zero());
      else release_from_hand(other);
      return true;
    });
  }
  finish(entry, outcome, env_.clock.steady() - begun, unproven);
  return true;
}

bool Relay::hand_over_leaving() {
  for (const auto& [partition, lane] : lanes_) {
    // One whose owner died is looked through first: its next owner would not know
    // that something in it may kill.
    if (!lane.leaving || lane.careful || lane.under_way > 0) continue;
    membership_.give_back(partition);
    return true;
  }
  return false;
}

Duration Relay::idle_time() const {
  Duration idle = kIdleMax;
  const Instant now = env_.clock.steady();
  for (const auto& [partition, lane] : lanes_)
    if (lane.due) idle = std::clamp<Duration>(*lane.due - now, Duration::zero(), idle);
  if (alone_) idle = std::clamp<Duration>(alone_->until - now, Duration::zero(), idle);
  if (suspects_until_) idle = std::clamp<Duration>(*suspects_until_ - now, Duration::zero(), idle);
  return idle;
}

void Relay::take_in_hand(const Entry& entry) {
  Lane& lane = lanes_.at(entry.partition);
  ++lane.under_way;
  const bool suspect = entry.crashes > 0;
  in_hand_.emplace(entry.id, InHand{lane.fence, suspect});
  if (suspect) suspects_until_ = env_.clock.steady() + tables::blame::alone_for(tables::blame::kDeathsAlone);
}

void Relay::release_from_hand(const Entry& entry) {
  release_delivered(entry);
  if (const auto lane = lanes_.find(entry.partition); lane != lanes_.end()) lane->second.want_pass();
}

// As release_from_hand() of what is done with: a pass is made only where something may have
// waited for it, and for room not before there is some for many.
void Relay::release_delivered(const Entry& entry) {
  const auto held = in_hand_.extract(entry.id);
  const bool was_alone = alone_ && alone_->id == entry.id;
  if (was_alone) alone_.reset();
  if (in_hand_.size() <= options_.in_flight_max / 2 || was_alone) look_for_room();
  const auto found = lanes_.find(entry.partition);
  if (found == lanes_.end() || held.empty()) return;
  Lane& lane = found->second;
  const bool same_share = lane.fence == held.mapped().fence;
  if (same_share) --lane.under_way;
  if (!same_share || lane.scanning || lane.wants_front || lane.careful) lane.want_pass();
}

bool Relay::owns(Transaction& tx, const Entry& entry) const {
  if (!lanes_.contains(entry.partition)) return false;
  const Ownership share = ownership(entry.partition);
  return !tables::partition::check(tx, view_->worker, std::span(&share, 1)).empty();
}

void Relay::note_share(std::vector<Ownership>& shares, int partition) const {
  if (lanes_.contains(partition) && std::ranges::find(shares, partition, &Ownership::id) == shares.end())
    shares.push_back(ownership(partition));
}

Ownership Relay::ownership(int partition) const { return {partition, view_->worker, lanes_.at(partition).fence}; }

void Relay::Lane::want_pass() {
  due.reset();
  if (scanning && after > 0) {
    again = true;  // the pass under way ends first, or a busy front would starve the rest
  } else {
    begin_pass();
  }
}

void Relay::Lane::begin_pass() {
  scanning = true;
  again = wants_front = false;
  held_keys.clear();
  if (seam::holds(Rule::pending_read_from_start)) after = 0;
}

}  // namespace skald::outbox
