#include "chaos/order_workers.h"

#include <signal.h>

namespace skald::chaos {

OrderWorkers::OrderWorkers(std::size_t count) : slots_(count) {
  for (Slot& slot : slots_) start(slot);
}

void OrderWorkers::start(Slot& slot) {
  slot.process = scene_.start();
  slot.port = slot.process->port();
}

void OrderWorkers::kill(std::size_t worker) {
  Slot& slot = slots_[worker];
  if (slot.frozen) return;
  gone_.push_back({slot.process->pid(), nullptr, std::chrono::steady_clock::now()});
  slot.process->kill_hard();
  start(slot);
}

bool OrderWorkers::freeze(std::size_t worker) {
  Slot& slot = slots_[worker];
  if (slot.frozen) return false;
  const pid_t pid = slot.process->pid();
  const auto since = std::chrono::steady_clock::now();
  slot.process->signal(SIGSTOP);
  watcher_.pause(50);  // until the server has heard the last word
  if (!watcher_.inside_of_transaction(pid)) {
    slot.process->signal(SIGCONT);
    return false;
  }
  slot.frozen = true;
  gone_.push_back({pid, &slot, since});
  return true;
}

void OrderWorkers::look() {
  for (auto gone = gone_.begin(); gone != gone_.end();) {
    if (watcher_.number("SELECT COUNT(*) FROM skald_worker WHERE pid = $1", gone->pid) > 0) {
      ++gone;
      continue;
    }
    (gone->frozen == nullptr ? after_death_ : after_freeze_).push_back(seconds_since(gone->since));
    if (gone->frozen != nullptr) {
      gone->frozen->process->signal(SIGCONT);
      gone->frozen->frozen = false;
    }
    gone = gone_.erase(gone);
  }
}

}  // namespace skald::chaos
