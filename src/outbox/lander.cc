#include "outbox/lander.h"

#include <algorithm>

#include "outbox/integrity.h"
#include "outbox/relay.h"

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
               const OutboxOptions& options, std::function<void(std::uint64_t)> wake, const CrashNotes* notes)
    : env_(env),
      db_(db),
      membership_(membership),
      relay_(relay),
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
    landings.push_back({&message.event, message.source, message.time, message.out_of_order,
                        content_hash(message.event, options_.hash_key), options_.retries_max});
  }
  return landings;
}

// What is handled is taken from `landings`; where a handler throws, nothing.
void Lander::handle_what_is_free(Landings& landings) {
  const std::uint64_t wanted = partitions_of(landings) & relay_.orderly();
  if (wanted == 0 || !membership_.trusted()) return;
  const auto view = membership_.view();
  std::vector<Ownership> owned;
  for (const auto& share : view->shares)
    if ((wanted >> share.partition & 1) != 0) owned.push_back({share.partition, view->worker, share.fence});
  const Instant begun = env_.clock.steady();
  const Call call(*this, begun);
  std::unordered_set<std::string> landed;
  std::vector<Span> spans;
  try {
    db_.write("land and handle", [&](Transaction& tx) {
      landed = tables::outbox::land_completed(tx, view->worker, owned, landings);
      std::vector<Entry> entries;
      for (const Landing& landing : landings)
        if (landed.contains(landing.event->id)) entries.push_back(entry_of(landing));
      handling_.call_together(tx, entries, spans);
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

Duration Lander::busy_for() const {
  std::lock_guard lock(mutex_);
  return begun_.empty() ? Duration::zero() : env_.clock.steady() - *begun_.begin();
}

}  // namespace skald::outbox
