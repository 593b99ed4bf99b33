#include "outbox/lander.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "env/labelled.h"
#include "outbox/integrity.h"
#include "outbox/relay.h"
#include "store/tables/landing.h"

namespace skald::outbox {

namespace {

using tables::outbox::Landing;
using tables::partition::Ownership;

Entry entry_of(const Landing& landing) {
  Entry entry;
  entry.id = landing.event->id;
  entry.event = *landing.event;
  entry.partition = partition_of(landing.event->key);
  entry.source = landing.source;
  entry.created_at = landing.time;
  entry.out_of_order = landing.out_of_order;
  entry.content_hash = landing.content_hash;
  entry.retries_max = landing.retries_max;
  return entry;
}

std::uint64_t partitions_of(std::span<const Landing> landings) {
  std::uint64_t out = 0;
  for (const Landing& landing : landings) out |= std::uint64_t{1} << partition_of(landing.event->key);
  return out;
}

// What each lane has once this transaction is committed.
void write_receipts(Transaction& tx, std::span<const tables::outbox::ArrivedLetter> letters,
                    const tables::outbox::TakenLetters& taken, std::vector<Receipt>& receipts) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto& letter = letters[i];
    if (taken.taken[i]) {
      receipts[i] = {Receipt::Kind::landed, letter.number, {}, std::string(letter.former), letter.ids};
      continue;
    }
    const auto last = tables::landing::last(tx, letter.sender, letter.partition).value_or(tables::landing::Last{});
    if (last.number == letter.number) receipts[i] = {Receipt::Kind::landed, last.number, {}, last.former, last.ids};
    else receipts[i] = {Receipt::Kind::gap, last.number, last.chain};
  }
}

std::uint64_t waiting_in(std::span<const tables::outbox::ArrivedLetter> letters,
                         const tables::outbox::TakenLetters& taken) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < letters.size(); ++i)
    for (const Landing& landing : letters[i].landings)
      if (taken.taken[i] && !taken.handled.contains(landing.event->id)) out |= std::uint64_t{1} << letters[i].partition;
  return out;
}

}  // namespace

// Tells busy_for() of a call, while it goes on.
class Lander::Call {
 public:
  Call(Lander& lander, Instant begun) : lander_(lander) {
    std::lock_guard lock(lander_.mutex_);
    place_ = lander_.begun_.insert(begun);
  }
  ~Call() {
    std::lock_guard lock(lander_.mutex_);
    lander_.begun_.erase(place_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Lander& lander_;
  std::multiset<Instant>::iterator place_;
};

Lander::Lander(Env env, Database& db, const Membership& membership, const Routing& routing, Relay& relay,
               dead_letter::Undertaker& undertaker, const OutboxOptions& options,
               std::function<void(std::uint64_t)> wake, const CrashNotes* notes)
    : env_(env),
      db_(db),
      membership_(membership),
      relay_(relay),
      undertaker_(undertaker),
      options_(options),
      handling_(env, routing, options, notes),
      wake_(std::move(wake)) {}

void Lander::land(std::span<const Message> messages) {
  Landings landings = read(messages);
  const bool fresh = std::ranges::all_of(messages, [](const Message& message) { return message.attempt <= 1; });
  if (fresh) handle_what_is_free(landings);
  else relay_.be_careful(partitions_of(landings));
  if (!landings.empty()) land_for_relay(landings);
}

Lander::Landings Lander::read(std::span<const Message> messages) const {
  Landings landings;
  std::unordered_set<std::string_view> ids;
  for (const Message& message : messages) {
    if (message.source.empty() || message.event.id.empty() || message.event.type.empty() || message.event.key.empty())
      throw Invalid("INVALID_EVENT", "an event of another service needs its id, type, key and source");
    if (!ids.insert(message.event.id).second) continue;
    landings.push_back(landing_of(message));
  }
  return landings;
}

Landing Lander::landing_of(const Message& message) const {
  return {&message.event,
          message.source,
          message.time,
          message.out_of_order,
          content_hash(message.event, options_.hash_key),
          options_.landed_retries_max.value_or(options_.retries_max)};
}

std::vector<Ownership> Lander::owned_of(std::uint64_t wanted, const Membership::View& view) const {
  std::vector<Ownership> owned;
  for (const auto& share : view.shares)
    if ((wanted >> share.partition & 1) != 0) owned.push_back({share.partition, view.worker, share.fence});
  return owned;
}

// What is handled is taken from `landings`; where a handler throws, nothing.
void Lander::handle_what_is_free(Landings& landings) {
  const std::uint64_t wanted = partitions_of(landings) & relay_.orderly();
  if (wanted == 0 || !membership_.trusted()) return;
  const auto view = membership_.view();
  const std::vector<Ownership> owned = owned_of(wanted, *view);
  const Instant begun = env_.clock.steady();
  const Call call(*this, begun);
  std::unordered_set<std::string> landed;
  std::vector<Span> spans;
  UserCode code;
  try {
    db_.write("land and handle", [&](Transaction& tx) {
      landed = tables::outbox::land_completed(tx, view->worker, owned, landings);
      std::vector<Entry> entries;
      for (const Landing& landing : landings)
        if (landed.contains(landing.event->id)) entries.push_back(entry_of(landing));
      handling_.call_together(tx, entries, code, spans);
    });
  } catch (const std::exception&) {
    return;  // once they are landed, a pass of the relay finds out what is the matter
  }
  std::erase_if(landings, [&](const Landing& landing) { return landed.contains(landing.event->id); });
  handling_.note_delivered(landed.size(), begun, spans);
}

void Lander::land_for_relay(const Landings& landings) {
  db_.write("land", [&](Transaction& tx) {
    tables::outbox::land(tx, landings);
    tx.after_commit([&] { wake_(partitions_of(landings)); });
  });
}

// Of a lane one letter after the other, each in a round of its own.
std::vector<Receipt> Lander::accept(std::span<const Letter> letters) {
  std::vector<Receipt> receipts(letters.size());
  std::vector<std::size_t> left(letters.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  while (!left.empty()) {
    std::set<std::tuple<std::string_view, int>> lanes;
    std::vector<std::size_t> now, later;
    for (const std::size_t i : left)
      (lanes.emplace(letters[i].sender, letters[i].partition).second ? now : later).push_back(i);
    std::vector<const Letter*> round;
    for (const std::size_t i : now) round.push_back(&letters[i]);
    const auto answers = accept_of_different_lanes(round);
    for (std::size_t i = 0; i < now.size(); ++i) receipts[now[i]] = answers[i];
    left = std::move(later);
  }
  return receipts;
}

std::vector<Receipt> Lander::accept_of_different_lanes(std::span<const Letter* const> letters) {
  std::vector<Arrived> arrived;
  bool fresh = true;
  std::uint64_t partitions = 0;
  std::vector<Receipt> receipts(letters.size());
  try {
    for (const Letter* letter : letters) {
      fresh = fresh && !letter->again;
      partitions |= std::uint64_t{1} << letter->partition;
      arrived.push_back({letter->sender, letter->partition, letter->number, letter->former, letter->ids, {}});
      for (const auto& one : letter->unreadable) undertaker_.set_aside(letter->sender, one.bytes, one.why);
      for (const Message& message : letter->events) arrived.back().landings.push_back(landing_of(message));
    }
    if (!fresh) relay_.be_careful(partitions);
    if (!fresh || !take_and_handle(arrived, receipts)) take_for_relay(arrived, receipts);
  } catch (const Error& error) {
    env_.observer.log(Observer::Level::warn, "letters of another service cannot be taken now; they come again",
                      "\"tag\":\"[Outbox]\",\"code\":\"" + error.code() + "\"");
    receipts.assign(letters.size(), Receipt{});
  }
  return receipts;
}

// False where a handler throws: nothing has happened then.
bool Lander::take_and_handle(std::span<const Arrived> letters, std::vector<Receipt>& receipts) {
  std::uint64_t wanted = 0;
  for (const Arrived& letter : letters) wanted |= std::uint64_t{1} << letter.partition;
  wanted &= relay_.orderly();
  if (wanted == 0 || !membership_.trusted()) return false;
  const auto view = membership_.view();
  const std::vector<Ownership> owned = owned_of(wanted, *view);
  const Instant begun = env_.clock.steady();
  const Call call(*this, begun);
  tables::outbox::TakenLetters taken;
  std::vector<Span> spans;
  UserCode code;
  try {
    db_.write("take letters and handle", [&](Transaction& tx) {
      taken = tables::outbox::take_letters(tx, view->worker, owned, letters);
      std::vector<Entry> entries;
      for (const Arrived& letter : letters)
        for (const Landing& landing : letter.landings)
          if (taken.handled.contains(landing.event->id)) entries.push_back(entry_of(landing));
      handling_.call_together(tx, entries, code, spans);
      write_receipts(tx, letters, taken, receipts);
      tx.after_commit([&] { wake_(waiting_in(letters, taken)); });
    });
  } catch (const std::exception&) {
    return false;  // once they are landed, a pass of the relay finds out what is the matter
  }
  handling_.note_delivered(taken.handled.size(), begun, spans);
  count(letters, taken, receipts);
  return true;
}

void Lander::take_for_relay(std::span<const Arrived> letters, std::vector<Receipt>& receipts) {
  tables::outbox::TakenLetters taken;
  db_.write("take letters", [&](Transaction& tx) {
    taken = tables::outbox::take_letters(tx, {}, {}, letters);
    write_receipts(tx, letters, taken, receipts);
    tx.after_commit([&] { wake_(waiting_in(letters, taken)); });
  });
  count(letters, taken, receipts);
}

// By the service that a sender is, as its events say; by its id where none of them can be read.
void Lander::count(std::span<const Arrived> letters, const tables::outbox::TakenLetters& taken,
                   std::span<const Receipt> receipts) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const auto& [sender, landings] = std::tie(letters[i].sender, letters[i].landings);
    const std::string_view metric = receipts[i].kind == Receipt::Kind::gap ? "post_landing_gaps_total"
                                    : taken.taken[i]                       ? "post_landed_letters_total"
                                                                           : "post_landed_repeats_total";
    env_.observer.count(labelled(metric, "sender", landings.empty() ? sender : landings.front().source));
  }
}

Knowledge Lander::answer(const Inquiry& inquiry) {
  return db_.read_result([&](Transaction& tx) {
    Knowledge out{tables::landing::lasts(tx, inquiry.sender), {}, tx.now() - options_.retention};
    for (const Entry& entry : tables::outbox::find_all(tx, inquiry.ids)) out.ids.push_back(entry.id);
    return out;
  });
}

Duration Lander::busy_for() const {
  std::lock_guard lock(mutex_);
  return begun_.empty() ? Duration::zero() : env_.clock.steady() - *begun_.begin();
}

}  // namespace skald::outbox
