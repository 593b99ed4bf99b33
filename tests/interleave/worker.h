// A worker process in miniature: membership, relay, and a bus that only notes what
// it was given. It lives on one session of the stage.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "interleave/stage.h"
#include "outbox/membership.h"
#include "outbox/relay.h"
#include "outbox/routing.h"

namespace skald::test {

// What all workers of a play have sent, in order. Thread safe.
class SendLog {
 public:
  void note(int session, const std::string& event_id);
  // Event ids, in order; of one session where `session` is given.
  std::vector<std::string> sent(std::optional<int> session = {}) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<int, std::string>> sends_;
};

struct WorkerManner {
  bool refuses = false;                           // its bus does, everything
  std::optional<int> membership_session = {};     // where that is another thread
};

class Worker {
 public:
  enum class Kind { sends, handles, handles_then_sends };

  Worker(Stage& stage, int session, Kind kind, SendLog& sends, WorkerManner manner = {});

  outbox::Membership& membership() { return membership_; }
  outbox::Relay& relay() { return relay_; }
  const outbox::Routing& routing() const { return routing_; }
  const OutboxOptions& options() const { return options_; }
  std::string id() const { return membership_.view()->worker; }
  // Beats, takes over, shares out. A worker that was taken over in the middle of it
  // stops there and begins anew at its next beat.
  void beat();
  // Until the relay has nothing to do; `between` is called before each step.
  void work(const std::function<void()>& between = [] {});

 private:
  // Delivers (or refuses) at the next poll.
  class NotingBus final : public Bus {
   public:
    NotingBus(SendLog& sends, int session, bool refuses) : sends_(sends), session_(session), refuses_(refuses) {}
    void send(Message message, Done done) override;
    void poll(Duration wait, std::span<const int> wake) override;
    std::size_t in_flight() const override { return done_.size(); }

   private:
    SendLog& sends_;
    int session_;
    bool refuses_;
    std::vector<Done> done_;
  };

  OutboxOptions options_;
  outbox::Routing routing_;
  NotingBus bus_;
  outbox::Membership membership_;
  dead_letter::Undertaker undertaker_;
  outbox::Relay relay_;
};

inline constexpr char kType[] = "thing.happened";

Event event_of(const std::string& id, const std::string& key);
// Commits events as a producer would have, unobserved.
void seed_events(Stage& stage, const std::vector<Event>& events);

}  // namespace skald::test
