// Writes emitted events into the outbox as the last statements of their
// transaction, and wakes the relays once they are durable.
#pragma once

#include <atomic>

#include "outbox/routing.h"
#include "skald/database.h"
#include "skald/outbox.h"

namespace skald::outbox {

// Thread safe.
class Emitter final : public CommitHook {
 public:
  // `wake` gets a bit per partition: with new events that are for somebody here or for a bus, and with any new events.
  // Called from any thread.
  using Wake = std::function<void(std::uint64_t local, std::uint64_t all)>;
  // Of these partitions, those whose relays are in other processes.
  using Elsewhere = std::function<std::uint64_t(std::uint64_t partitions)>;
  Emitter(const OutboxOptions& options, const Routing& routing, Wake wake, Elsewhere elsewhere = {})
      : options_(options), routing_(routing), wake_(std::move(wake)), elsewhere_(std::move(elsewhere)) {}

  // From here on events may be owed to subscribers, or to nobody. At first they may.
  void set_subscribed(bool subscribed) { subscribed_ = subscribed; }

  void before_commit(Transaction& tx, std::span<const Event> events) override;
  void after_commit(std::span<const Event> events) noexcept override;
  News news_for_others(std::span<const Event> events) override;
  void after_told_commit(std::span<const Event> events, std::span<const int> told) noexcept override;

 private:
  void wake(std::span<const Event> events, std::uint64_t told) noexcept;

  const OutboxOptions& options_;
  const Routing& routing_;
  Wake wake_;
  Elsewhere elsewhere_;
  std::atomic<bool> subscribed_{true};
};

}  // namespace skald::outbox
