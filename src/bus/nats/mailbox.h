// Where the threads of the NATS library put what happened, for poll() to find.
//
// The library calls back from threads of its own and may do so after a
// connection was destroyed. So it is not given a pointer but a number, the
// session: a callback whose session has ended finds nobody and does nothing.
#pragma once

#include <nats/nats.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "skald/env.h"
#include "skald/time.h"

namespace skald {

// Thread safe. Gives a message back to the library, soon.
void discard(natsMsg* message);

// A message that came in, owned.
class NatsMessage {
 public:
  NatsMessage() = default;
  explicit NatsMessage(natsMsg* message) : message_(message) {}

  std::string_view subject() const { return natsMsg_GetSubject(message_.get()); }
  std::string_view reply() const;  // empty where there is none
  std::string_view body() const;
  std::string_view header(const char* name) const;  // empty where there is none
  bool no_responders() const { return natsMsg_IsNoResponders(message_.get()); }

 private:
  struct Free {
    void operator()(natsMsg* message) const { discard(message); }
  };
  std::unique_ptr<natsMsg, Free> message_;
};

class NatsMailbox {
 public:
  enum class Kind { up, down, error, message };
  struct Entry {
    std::uintptr_t session;
    Kind kind;
    std::string text = {};
    NatsMessage message = {};
  };

  // More than this and messages are dropped and counted; whoever sent them finds
  // no answer. Answers never come to so many: their askers bound them.
  static constexpr std::size_t kEntriesMax = 65'536;

  NatsMailbox(const Env& env, std::chrono::milliseconds pause_min, std::chrono::milliseconds pause_max);
  ~NatsMailbox();
  NatsMailbox(const NatsMailbox&) = delete;
  NatsMailbox& operator=(const NatsMailbox&) = delete;

  // Thread safe.
  void put(Entry entry);
  // How long to wait before attempt number `attempt` (from 1).
  std::chrono::milliseconds pause(int attempt) const;

  // For the one thread that polls.
  std::optional<Entry> take();
  bool is_empty() const;
  void wait(Duration longest, std::span<const int> others);

  // A new session of `mailbox`; the number is never used again in this process.
  static std::uintptr_t begin_session(const std::shared_ptr<NatsMailbox>& mailbox);
  static void end_session(std::uintptr_t session);
  // Thread safe; nothing where the session has ended.
  static std::shared_ptr<NatsMailbox> of_session(std::uintptr_t session);

 private:
  Env env_;
  const std::chrono::milliseconds pause_min_, pause_max_;
  int fd_;  // an eventfd, readable while there is something
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  bool told_ = false;  // the eventfd was written to, or is about to be
};

}  // namespace skald
