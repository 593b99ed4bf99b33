#include "interleave/worker.h"

#include "outbox/integrity.h"
#include "store/tables/outbox.h"

namespace skald::test {
namespace {

constexpr int kStepsMax = 50;

}  // namespace

void SendLog::note(int session, const std::string& event_id) {
  const std::lock_guard lock(mutex_);
  sends_.emplace_back(session, event_id);
}

std::vector<std::string> SendLog::sent(std::optional<int> session) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [by, id] : sends_)
    if (!session || by == *session) out.push_back(id);
  return out;
}

void Worker::NotingBus::send(Message message, Done done) {
  sends_.note(session_, message.event.id);
  done_.push_back(std::move(done));
}

void Worker::NotingBus::poll(Duration, std::span<const int>) {
  for (const Done& done : std::exchange(done_, {})) done(refuses_ ? Outcome::refused("no") : Outcome::ok());
}

Worker::Worker(Stage& stage, int session, Kind kind, SendLog& sends, WorkerManner manner)
    : bus_(sends, session, manner.refuses),
      membership_(stage.env(session), stage.db(manner.membership_session.value_or(session)), {"stage", session},
                  outbox::Membership::Kind::leased, options_),
      undertaker_(stage.env(session), stage.db(session), nullptr, [](std::string_view, std::string_view) {}),
      relay_(stage.env(session), stage.db(session), membership_, routing_, undertaker_, options_) {
  if (kind != Kind::sends)
    routing_.add(Consumer{"consumer", kType, [](Transaction& tx, const Message& message) {
                            Stage::put_effect(tx, message.event.id, message.event.key);
                          }});
  if (kind != Kind::handles) routing_.add(Route{.type = kType, .bus = &bus_});
}

void Worker::beat() {
  try {
    while (membership_.run_once().again_in < options_.beat) {}  // sessions that it ends may need their time
  } catch (const Stale& error) {
    if (error.code() != "WORKER_GONE") throw;
  }
}

void Worker::work(const std::function<void()>& between) {
  for (int i = 0; i < kStepsMax; ++i) {
    between();
    if (relay_.run_once() != Duration::zero()) return;
  }
}

Event event_of(const std::string& id, const std::string& key) {
  return {.id = id, .type = kType, .key = key, .subject = id, .payload = "{}", .traceparent = ""};
}

void seed_events(Stage& stage, const std::vector<Event>& events) {
  stage.admin().write("seed", [&](Transaction& tx) {
    for (const Event& event : events) {
      const tables::outbox::NewEntry entry{&event, outbox::content_hash(event, ""), 3};
      tables::outbox::insert(tx, std::span(&entry, 1));
    }
  });
}

}  // namespace skald::test
