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
    const Route* route = routing_.plan(event.type).route;
    const auto own = route != nullptr ? route->retries_max : std::nullopt;
    entries.push_back({&event, content_hash(event, options_.hash_key), own.value_or(options_.retries_max)});
  }
  tables::outbox::insert(tx, entries);
}

void Emitter::after_commit(std::span<const Event> events) noexcept { wake_(partitions_of(events)); }

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
  std::uint64_t partitions = partitions_of(events);
  for (const int one : told) partitions &= ~(std::uint64_t{1} << one);
  if (partitions != 0) wake_(partitions);
}

}  // namespace skald::outbox
