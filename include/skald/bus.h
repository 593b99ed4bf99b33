// A bus carries events out of the outbox. It promises nothing but to tell what
// became of each one; order, retries and dead letters are the relay's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  int attempt = 1;            // above 1: somebody had it before, and is not known to have been done with it
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
  bool at_once = false;                 // a retry that need not wait, but for its bus to be ready

  static Outcome ok() { return {}; }
  static Outcome failed(std::string why, std::optional<Duration> after = std::nullopt) {
    return {Verdict::retry, std::move(why), after};
  }
  // The way broke while it was under way: nothing is known of it, and nothing held against it.
  static Outcome cut_off(std::string why) { return {Verdict::retry, std::move(why), std::nullopt, true}; }
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

  // False while it knows that nothing can go out. Who claims events for it waits then,
  // and spends none of their attempts. Changes inside of poll() only.
  virtual bool is_ready() const { return true; }
};

// Brings events of other services in: takes them from a bus, lands them (Engine::land),
// and only then tells the bus. Not thread safe: an engine drives it, from one thread.
class Inlet {
 public:
  virtual ~Inlet() = default;

  // Bit n: partition n is ours. Nothing is taken of others.
  virtual void set_partitions(std::uint64_t mask) = 0;
  // Lands what has come, or waits at most `wait` for something to come or for one of
  // `wake` to become readable. Must not throw.
  virtual void poll(Duration wait, std::span<const int> wake = {}) = 0;
  virtual bool is_up() const = 0;
  // For how long after its sending an event may come once more.
  virtual Duration memory() const = 0;
};

// The CloudEvents 1.0 envelope in structured JSON form; the payload's bytes are
// put in as `data` untouched.
std::string cloud_event(const Message& message);

}  // namespace skald
