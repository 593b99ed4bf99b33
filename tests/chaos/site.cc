#include "chaos/site.h"

namespace skald::chaos {

Site::Site(std::size_t servers) {
  for (std::size_t i = 0; i < servers; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->data = std::make_unique<test::TemporaryFolder>();
    start(*slots_.back());
  }
}

void Site::start(Slot& slot) {
  slot.server = std::make_unique<test::SkaldServer>(
      std::vector<std::string>{"--data", slot.data->path().string(), "--outbox-backoff-first", "1s"},
      test::SkaldServer::Variables{{"SKALD_DB", database_.url()},
                                   {"SKALD_DONATION_WEBHOOK", receiver_.url()},
                                   {"SKALD_WEBHOOK_ALLOW_PRIVATE", "1"},
                                   {"SKALD_DONATION_WEBHOOK_SECRET", "one-secret-for-all-servers"}});
  slot.port = slot.server->port();
}

void Site::kill_and_restart(std::size_t server) {
  Slot& slot = *slots_[server];
  std::lock_guard lock(slot.mutex);
  slot.server->kill_hard();
  start(slot);
}

pid_t Site::pid(std::size_t server) {
  std::lock_guard lock(slots_[server]->mutex);
  return slots_[server]->server->pid();
}

void Site::drain_logs() {
  for (auto& slot : slots_) {
    std::lock_guard lock(slot->mutex);
    slot->server->log();
  }
}

test::HttpAnswer Site::get(const std::string& target) {
  std::lock_guard lock(slots_[0]->mutex);
  return slots_[0]->server->request("GET", target);
}

}  // namespace skald::chaos
