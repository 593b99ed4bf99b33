#include "outbox/emitter.h"

#include "outbox/integrity.h"
#include "store/tables/outbox.h"

namespace skald::outbox {
namespace {

std::uint64_t partitions_of(std::span<const Event> events) {
  std::uint64_t out = 0;
  for (const Event& event : events) out |= std::uint64_t{1} << partition_of(event.key);
  return out;
}

}  // namespace

void Emitter::before_commit(Transaction& tx, std::span<const Event> events) {
  std::vector<tables::outbox::NewEntry> entries;
  entries.reserve(events.size());
  for (const Event& event : events) {
    const Routing::Plan& plan = routing_.plan(event.type);
    const auto own = plan.route != nullptr ? plan.route->retries_max : std::nullopt;
    entries.push_back(
        {&event, content_hash(event, options_.hash_key), own.value_or(options_.retries_max), plan.is_local()});
  }
  using tables::outbox::Owed;
  tables::outbox::insert(tx, entries, subscribed_ ? Owed::to_subscribers : Owed::to_nobody);
}

void Emitter::wake(std::span<const Event> events, std::uint64_t told) noexcept {
  std::uint64_t local = 0, all = 0;
  for (const Event& event : events) {
    const std::uint64_t bit = (std::uint64_t{1} << partition_of(event.key)) & ~told;
    all |= bit;
    if (routing_.plan(event.type).is_local()) local |= bit;
  }
  if (all != 0) wake_(local, all);
}

void Emitter::after_commit(std::span<const Event> events) noexcept { wake(events, 0); }

News Emitter::news_for_others(std::span<const Event> events) {
  News out;
  if (!elsewhere_) return out;
  const std::uint64_t bits = elsewhere_(partitions_of(events));
  for (int i = 0; i < kPartitions; ++i)
    if ((bits >> i & 1) != 0) out.partitions.push_back(i);
  if (events.size() == 1) {
    out.offer = tables::outbox::kOffer;
    out.id = events[0].id;
  }
  return out;
}

void Emitter::after_told_commit(std::span<const Event> events, std::span<const int> told) noexcept {
  std::uint64_t bits = 0;
  for (const int one : told) bits |= std::uint64_t{1} << one;
  wake(events, bits);
}

}  // namespace skald::outbox
