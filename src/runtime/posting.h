// The thread that sends letters to other services, and those who want them.
#pragma once

#include <vector>

#include "post/sender.h"
#include "runtime/loop.h"

namespace skald::runtime {

class Posting {
 public:
  Posting(Env env, Database& db, const outbox::Membership& membership, const outbox::Routing& routing,
          const OutboxOptions& options, dead_letter::Alert alert);

  // Before start().
  void set_courier(Courier& courier);
  void add(Subscriber subscriber) { configured_.push_back(std::move(subscriber)); }

  // Writes down who is configured; a thread only where it `works`. False: nobody subscribes, and no other process can.
  bool start(bool works);
  // Sends no more; the thread goes on with what is under way.
  void drain() { sender_.drain(); }
  bool is_at_work() const { return loop_.is_busy() || sender_.under_way() > 0; }
  // Drained, it is to look at once whether something has ended.
  void wake_to_end() noexcept;
  void stop() { loop_.stop(); }

  void wake(std::uint64_t partitions) noexcept;
  // Other partitions are ours, or other subscribers are there.
  void look_again() noexcept;
  bool is_up() const { return up_; }
  bool is_used() const { return courier_ != nullptr; }

  std::vector<SubscriberView> views() const;
  std::optional<SubscriberDetail> find(Transaction& tx, std::string_view name) const;
  // Engine::remove_subscriber().
  std::int64_t remove(Transaction& tx, std::string_view name, std::string_view actor, std::string_view reason);
  post::Sender& sender() { return sender_; }
  // One round, for who has no threads (steps.h); when it wants to be called again.
  Duration step();

 private:
  void add_what_is_known_here(SubscriberView& view, const std::map<std::string, post::Trouble>& troubles) const;

  Env env_;
  Database& db_;
  post::Sender sender_;
  Courier* courier_ = nullptr;
  std::vector<Subscriber> configured_;
  std::atomic<bool> up_{true};
  Loop loop_;
};

}  // namespace skald::runtime
