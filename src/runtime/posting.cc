#include "runtime/posting.h"

#include <algorithm>
#include <utility>

#include "store/tables/audit.h"
#include "store/tables/subscriber_views.h"

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
  return db_.dialect() != Dialect::sqlite || !db_.read_result(tables::subscriber::all).empty();
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
  auto views = db_.read_result(tables::subscriber::views);
  const auto troubles = sender_.troubles();
  for (SubscriberView& view : views) add_what_is_known_here(view, troubles);
  return views;
}

std::optional<SubscriberDetail> Posting::find(Transaction& tx, std::string_view name) const {
  auto found = tables::subscriber::detail(tx, name);
  if (found) add_what_is_known_here(*found, sender_.troubles());
  return found;
}

void Posting::add_what_is_known_here(SubscriberView& view, const std::map<std::string, post::Trouble>& troubles) const {
  view.configured = std::ranges::find(configured_, view.name, &Subscriber::name) != configured_.end();
  const auto trouble = troubles.find(view.name);
  if (trouble == troubles.end()) return;
  view.trouble = trouble->second.why;
  view.trouble_since = trouble->second.since;
}

std::int64_t Posting::remove(Transaction& tx, std::string_view name, std::string_view actor, std::string_view reason) {
  const std::int64_t owed = tables::subscriber::remove(tx, name);
  tables::audit::insert(tx, env_.random, actor, "subscriber.remove", name,
                        "it was still owed " + std::to_string(owed) + " events: " + std::string(reason));
  tx.after_commit([this] { look_again(); });
  return owed;
}

Duration Posting::step() {
  const Duration idle = sender_.run_once();
  up_ = !is_used() || courier_->is_up();
  return idle;
}

}  // namespace skald::runtime
