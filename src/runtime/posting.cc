#include "runtime/posting.h"

#include <utility>

namespace skald::runtime {

Posting::Posting(Env env, Database& db, const outbox::Membership& membership, const outbox::Routing& routing,
                 const OutboxOptions& options, dead_letter::Alert alert)
    : env_(env),
      db_(db),
      sender_(env, db, membership, routing, options, std::move(alert)),
      loop_(
          env, "post", [this] { return step(); },
          [this](Duration longest, Wakeup& wakeup) {
            const int wake[] = {wakeup.fd()};
            courier_->poll(longest, wake);
            wakeup.clear();
          }) {}

void Posting::set_courier(Courier& courier) {
  courier_ = &courier;
  sender_.set_courier(courier);
}

bool Posting::start(bool works) {
  for (const Subscriber& subscriber : configured_)
    db_.write("subscribe", [&](Transaction& tx) { tables::subscriber::put(tx, subscriber); });
  if (works && is_used()) loop_.start();
  return db_.dialect() != Dialect::sqlite || !views().empty();
}

void Posting::wake_to_end() noexcept {
  if (sender_.under_way() > 0) loop_.wake();
}

void Posting::wake(std::uint64_t partitions) noexcept {
  if (!is_used() || partitions == 0) return;
  sender_.wake(partitions);
  loop_.wake();
}

void Posting::look_again() noexcept {
  if (!is_used()) return;
  sender_.look_again();
  loop_.wake();
}

std::vector<SubscriberView> Posting::views() const {
  auto views = db_.read_result([](Transaction& tx) { return tables::subscriber::views(tx); });
  const auto troubles = sender_.troubles();
  for (SubscriberView& view : views)
    if (const auto trouble = troubles.find(view.name); trouble != troubles.end()) view.trouble = trouble->second;
  return views;
}

Duration Posting::step() {
  const Duration idle = sender_.run_once();
  up_ = !is_used() || courier_->is_up();
  return idle;
}

}  // namespace skald::runtime
