// A bus carries events out of the outbox. It promises nothing but to tell what
// became of each one; order, retries and dead letters are the relay's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "skald/event.h"
#include "skald/time.h"

namespace skald {

// An event on its way, with what the outbox knows of it. The same id and the same
// bytes at every attempt.
struct Message {
  Event event;
  std::string source;         // CloudEvents source: the service that emitted it
  Time time{};                // when it was emitted
  int attempt = 1;
  bool out_of_order = false;  // replayed after later events of its key had gone on
};

enum class Verdict {
  delivered,
  retry,    // a passing failure, or an unknown result
  refused,  // cannot get better by trying again
};

struct Outcome {
  Verdict verdict = Verdict::delivered;
  std::string error;
  std::optional<Duration> retry_after;  // what the receiver asked for

  static Outcome ok() { return {}; }
  static Outcome failed(std::string why, std::optional<Duration> after = std::nullopt) {
    return {Verdict::retry, std::move(why), after};
  }
  static Outcome refused(std::string why) { return {Verdict::refused, std::move(why), std::nullopt}; }
};

// Not thread safe: one relay drives one bus, from one thread at a time.
class Bus {
 public:
  virtual ~Bus() = default;
  using Done = std::function<void(Outcome)>;

  // Starts sending and returns at once. `done` is called exactly once, from
  // inside of poll(), however the sending ends.
  virtual void send(Message message, Done done) = 0;

  // Goes on with what is under way: waits at most `wait` for progress or for one
  // of `wake` (file descriptors) to become readable.
  virtual void poll(Duration wait, std::span<const int> wake = {}) = 0;

  virtual std::size_t in_flight() const = 0;
};

// The CloudEvents 1.0 envelope in structured JSON form; the payload's bytes are
// put in as `data` untouched.
std::string cloud_event(const Message& message);

}  // namespace skald
