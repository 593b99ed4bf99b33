// Relay: the pass over what is live.
#include <algorithm>

#include "outbox/integrity.h"
#include "outbox/relay.h"

namespace skald::outbox {
namespace {

using dead_letter::Undertaker;

constexpr std::size_t kPageMin = 4;
constexpr std::size_t kManyAtOnce = 8;
constexpr Duration kRestOfEach = 400us, kRestMax = 40ms;
constexpr std::size_t kSharersMax = 2;
constexpr Duration kPutOff = 20ms;

bool begins_in(const Triage& work, int partition) {
  for (const auto* list : {&work.claimed, &work.careful, &work.send, &work.orphans, &work.forged, &work.condemned}) {
    if (std::ranges::find(*list, partition, &Entry::partition) != list->end()) return true;
  }
  return work.alone && work.alone->partition == partition;
}

}  // namespace

// A page of every lane that has a pass under way, in one transaction: local events
// are handled in it, events for a bus are claimed in it.
bool Relay::scan() {
  Page page;
  for (const auto& [partition, lane] : lanes_) {
    if (!lane.scanning || (lane.leaving && !lane.careful)) continue;
    page.positions.push_back({partition, lane.fence, lane.after});
    if (lane.careful) page.careful.insert(partition);
  }
  if (page.positions.empty()) return false;
  page.limit = std::max(kPageMin, options_.batch / page.positions.size());
  page.begun = env_.clock.steady();
  code_.begin_run();
  try {
    db_.write("relay outbox", [&](Transaction& tx) { work_on_page(tx, page); });
  } catch (const std::exception&) {
    if (!code_.is_own()) throw;
    for (const Entry& entry : page.work.local) take_in_hand(entry);
    run_one_by_one(page.work.local);
    return true;
  }
  code_.forgive();
  advance_lanes(page);
  rest_after(page);
  begin_work(page);
  return true;
}

// A pass costs nearly the same for one event as for many, and a commit of its own: the more come, the
// fewer passes are made.
void Relay::rest_after(const Page& page) {
  const bool more = std::ranges::any_of(lanes_, [](const auto& lane) { return lane.second.scanning; });
  if (more || page.work.local.size() < kManyAtOnce) return;
  // Each of two workers finds half of them, and both together should make as few.
  const auto sharers = std::clamp<std::size_t>(kPartitions / std::max<std::size_t>(lanes_.size(), 1), 1, kSharersMax);
  const auto came = static_cast<Duration::rep>(page.work.local.size() * sharers);
  rest_until_ = env_.clock.steady() + static_cast<Duration::rep>(sharers) * std::min(came * kRestOfEach, kRestMax);
}

// Some event of a batch cannot be handled; one by one they show which.
void Relay::run_one_by_one(std::vector<Entry>& entries) {
  for (Entry& entry : entries) {
    ++entry.attempts;
    singles_.push_back(std::move(entry));
  }
  entries.clear();
}

// Several at once are better off as a page.
bool Relay::take_offers() {
  const auto offered = std::exchange(offered_, {});
  bool done = false;
  for (const Entry& entry : offered) {
    const auto lane = lanes_.find(entry.partition);
    if (lane == lanes_.end()) continue;  // another's
    if (offered.size() == 1 && run_offered(lane->second, entry)) done = true;
    else lane->second.want_pass();
  }
  return done;
}

// In one round trip: that it is ours, new and the first of its key is checked by the server
// before the handlers' statements, and fails them all where it is not so.
bool Relay::run_offered(const Lane& lane, const Entry& entry) {
  if (lane.scanning || lane.careful || lane.leaving) return false;
  const auto& plan = routing_.plan(entry);
  if (plan.route != nullptr || plan.consumers.empty() || !verify(entry, options_.hash_key)) return false;
  std::vector<std::string> consumers;
  for (const Consumer* consumer : plan.consumers) consumers.push_back(consumer->name);
  const Instant begun = env_.clock.steady();
  std::vector<Span> spans;
  UserCode code;
  try {
    db_.write("relay an offer", [&](Transaction& tx) {
      // Whoever completed it then: its effects are there, once.
      tx.witness("SELECT 1 FROM skald_outbox WHERE id = $1 AND status = 3", entry.id);
      tables::outbox::complete_offered(tx, view_->worker, {entry.partition, lane.fence, 0}, entry.id, consumers);
      handling_.call_recorded(tx, entry, code, spans);
    });
  } catch (const std::exception&) {
    return false;  // a pass finds out what is the matter
  }
  handling_.note_delivered(1, begun, spans);
  return true;
}

void Relay::sort_out(Transaction& tx, Page& page) {
  page.held_keys.clear();
  page.pending = tables::outbox::pending(tx, view_->worker, page.positions, page.limit);
  page.now = tx.now();
  const std::uint64_t suspected = suspected_.load();
  for (const auto& position : page.positions) {
    const auto& keys = lanes_.at(position.partition).held_keys;
    page.held_keys.insert(keys.begin(), keys.end());
    if ((suspected >> position.partition & 1) != 0) page.careful.insert(position.partition);
  }
  std::vector<std::string> marked;
  for (const Entry& entry : page.pending.entries)
    if (is_alone(entry)) marked.push_back(entry.id);
  page.blames = tables::blame::find(tx, tables::blame::Kind::event, marked);
  const std::size_t room = options_.in_flight_max - std::min(options_.in_flight_max, in_hand_.size());
  page.work =
      triage({page.pending.entries, page.pending.blocked_keys, in_hand_, page.careful, routing_, options_.hash_key,
              page.now, room, page.blames, alone_.has_value(), has_suspects(), env_.random.next()},
             page.held_keys);
}

// May run several times: everything in `page` but its question is made anew.
void Relay::work_on_page(Transaction& tx, Page& page) {
  code_.begin_run();
  page.work = Triage{};
  page.put_off.reset();
  sort_out(tx, page);
  handling_.call_together(tx, page.work.local, code_, page.spans);
  complete(tx, page.work.local, false);
  std::vector<std::string> claims;
  for (const auto* list : {&page.work.send, &page.work.claimed, &page.work.careful})
    for (const Entry& entry : *list) claims.push_back(entry.id);
  if (page.work.alone) {
    const bool marked = tables::blame::mark(tx, tables::blame::Kind::event, page.work.alone->id, view_->worker);
    if (marked) claims.push_back(page.work.alone->id);
    else page.put_off = std::exchange(page.work.alone, std::nullopt)->partition;
  }
  tables::outbox::claim(tx, claims, view_->worker);
  for (const Entry& orphan : page.work.orphans) recover(tx, orphan, page.blames);
}

void Relay::advance_lanes(const Page& page) {
  std::map<int, std::size_t> read;
  for (const Entry& entry : page.pending.entries) {
    Lane& lane = lanes_.at(entry.partition);
    ++read[entry.partition];
    lane.after = entry.seq;
    if (entry.status == EntryStatus::FAILED && entry.next_retry_at > page.now) {
      const Instant at = env_.clock.steady() + (entry.next_retry_at - page.now);
      lane.due = lane.due ? std::min(*lane.due, at) : at;
    }
  }
  for (const std::string& key : page.held_keys)
    if (const auto lane = lanes_.find(partition_of(key)); lane != lanes_.end()) lane->second.held_keys.insert(key);
  // Some saga is the one that goes alone: nobody tells when that has survived.
  if (page.put_off) {
    Lane& lane = lanes_.at(*page.put_off);
    lane.wants_room = true;
    lane.due = env_.clock.steady() + kPutOff;
  }
  for (const auto& position : page.positions) {
    Lane& lane = lanes_.at(position.partition);
    if (page.work.no_room.contains(position.partition)) lane.wants_room = true;
    if (page.work.no_bus.contains(position.partition)) lane.wants_bus = true;
    if (page.work.behind.contains(position.partition)) lane.wants_front = true;
    const bool exhausted = read[position.partition] < page.limit;
    if (!exhausted) continue;
    lane.scanning = false;
    if (lane.under_way == 0 && !lane.wants_room && !begins_in(page.work, position.partition)) lane.careful = false;
    if (lane.again) lane.begin_pass();
  }
  note_orderly();
}

void Relay::begin_work(Page& page) {
  handling_.note_delivered(page.work.local.size(), page.begun, page.spans);
  for (const Entry& orphan : page.work.orphans) lanes_.at(orphan.partition).want_pass();
  for (Entry& entry : page.work.condemned) {
    take_in_hand(entry);
    const int deaths = page.blames.find(entry.id)->second.counted;
    burials_.push_back({std::move(entry), std::string(kCrashed),
                        "it killed the worker " + std::to_string(deaths) + " times", blocks_keys()});
  }
  for (Entry& entry : page.work.forged) {
    take_in_hand(entry);
    burials_.push_back({std::move(entry), "INTEGRITY", "the content does not match its hash", blocks_keys()});
  }
  for (Entry& entry : page.work.claimed) {
    entry.status = EntryStatus::PROCESSING;
    take_in_hand(entry);
    claimed_.push_back(std::move(entry));
  }
  for (Entry& entry : page.work.careful) {
    ++entry.attempts;
    take_in_hand(entry);
    singles_.push_back(std::move(entry));
  }
  if (page.work.alone) {
    Entry& entry = *page.work.alone;
    ++entry.attempts;
    take_in_hand(entry);
    alone_ = {entry.id, Instant::max()};
    const auto& plan = routing_.plan(entry);
    if (plan.consumers.empty() && plan.route != nullptr) send(entry);
    else singles_.push_front(std::move(entry));
  }
  for (Entry& entry : page.work.send) {
    ++entry.attempts;
    take_in_hand(entry);
    send(entry);
  }
}

}  // namespace skald::outbox
