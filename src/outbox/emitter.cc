#include "outbox/emitter.h"

#include "outbox/integrity.h"
#include "store/tables/outbox.h"

namespace skald::outbox {

void Emitter::before_commit(Transaction& tx, std::span<const Event> events) {
  std::vector<tables::outbox::NewEntry> entries;
  entries.reserve(events.size());
  for (const Event& event : events) {
    const Route* route = routing_.plan(event.type).route;
    entries.push_back(
        {&event, content_hash(event, options_.hash_key), route != nullptr ? route->retries_max : options_.retries_max});
  }
  tables::outbox::insert(tx, entries);
}

void Emitter::after_commit(std::span<const Event> events) noexcept {
  std::uint64_t partitions = 0;
  for (const Event& event : events) partitions |= std::uint64_t{1} << partition_of(event.key);
  wake_(partitions);
}

}  // namespace skald::outbox
