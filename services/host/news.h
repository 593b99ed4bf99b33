// Wakes the event streams of this process when another one has news for them.
#pragma once

#include <functional>
#include <string_view>

#include "bus/nats/request_reply.h"
#include "runtime/loop.h"
#include "skald/env.h"

namespace skald::host {

class News {
 public:
  // `publish` is called with each topic that Asking::tell_news() was given in any process, on
  // a thread of its own. Invalid (NATS_…).
  News(Env env, const NatsOptions& nats, std::function<void(std::string_view topic)> publish);

 private:
  NatsResponder responder_;  // in the loop's thread
  runtime::Loop loop_;       // last: its thread uses the other
};

}  // namespace skald::host
