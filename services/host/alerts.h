// Alerts by webhook: tells a person what the engine cannot help itself with.
#pragma once

#include <atomic>
#include <string_view>

#include "bus/webhook/webhook_bus.h"
#include "runtime/worker_pool.h"
#include "skald/env.h"

namespace skald::host {

// Sends from a thread of its own. An alert that cannot be sent is logged and
// counted; the engine has logged what it is about before. Thread safe.
class Alerts {
 public:
  Alerts(Env env, WebhookOptions options);

  // Returns at once, throws nothing. While 100 wait to be sent, further ones go
  // to the log alone.
  void raise(std::string_view code, std::string_view text);

 private:
  void send(Message message);

  Env env_;
  WebhookBus bus_;
  std::atomic<int> waiting_ = 0;
  runtime::WorkerPool sender_{1};  // last: its thread uses the others
};

}  // namespace skald::host
