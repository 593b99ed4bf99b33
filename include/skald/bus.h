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

// For how long after its sending an event may be given to a bus again.
inline constexpr Duration kGivenAgainMax = 24h;

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
  // and spends none of their attempts. Changes inside of poll() and hold() only.
  virtual bool is_ready() const { return true; }

  // Whether several events of a key may be on their way at once: they arrive in the order in
  // which they were sent, and where the sending of one ends other than delivered, so does that
  // of all later ones of its key that are on their way.
  virtual bool keeps_order() const { return false; }

  // Whether its receivers run in this process, inside of poll(): they could kill it, so what is sent
  // to them is claimed before, and what they died of is known after.
  virtual bool delivers_here() const { return false; }

  // The rest is for a bus whose far end may lose what it has acknowledged. Such a bus
  // is *held* then: nothing new goes out until whoever keeps the events has given it
  // again what was delivered within the last minutes, oldest first, and says resume().
  // If it cannot be finished, it is asked for from the start.

  // `lost` is called inside of poll() whenever that begins; it must not throw. Before it all
  // that was on its way has ended: nothing is told to be delivered to the end that may have
  // lost it. Without `lost` nobody keeps anything, and the bus goes on by itself.
  virtual void on_loss(std::function<void()> /*lost*/) {}
  // Holds the bus: for a keeper that took over events of another, and does not know
  // what became of them. `lost` is called where the bus is not ready; else
  // republish() may begin at once.
  virtual void hold() {}
  virtual bool is_held() const { return false; }
  // While held: the event of each partition that the far end took last of those it still has.
  // It has all that it took before, so those need not be given again. Where nothing is known
  // of a partition, all of it is.
  virtual std::map<int, std::string> last_kept() const { return {}; }
  // Only while held; ignored otherwise. In as many parts as one likes.
  virtual void republish(std::span<const Message> /*messages*/) {}
  // Given to republish() and not acknowledged yet: to give the next part at zero.
  virtual std::size_t republishing() const { return 0; }
  virtual void resume() {}
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
