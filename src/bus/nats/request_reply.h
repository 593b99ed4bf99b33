// Questions to another service over NATS, answered at once or not at all: no
// stream, nothing is kept. For what must not be lost use events.
//
// Whoever asks says an idempotency key in the body and asks again with the same
// one after CommitUnknown: the question may have been answered unheard.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "bus/nats/link.h"
#include "skald/env.h"

namespace skald {

class NatsRequester {
 public:
  class Answer {
   public:
    explicit Answer(std::string body) : body_(std::move(body)) {}
    explicit Answer(std::exception_ptr error) : error_(std::move(error)) {}
    // Throws
    //   Unavailable    nobody answers there, or there is no connection: nothing happened;
    //   CommitUnknown  no answer in time, or the connection broke: it may have happened;
    //   what the other side threw, if it is of the family in skald/error.h.
    const std::string& body() const {
      if (error_) std::rethrow_exception(error_);
      return body_;
    }

   private:
    std::string body_;
    std::exception_ptr error_;
  };
  using Done = std::function<void(Answer)>;

  // Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
  NatsRequester(const Env& env, const NatsOptions& options, std::size_t in_flight_max = 1024);
  NatsRequester(const NatsRequester&) = delete;
  NatsRequester& operator=(const NatsRequester&) = delete;

  // `done` is called exactly once, from inside of poll(); never after destruction.
  // While there is no connection the question waits for one, within its time.
  // Throws Invalid (NATS_SUBJECT), and Busy (NATS_BUSY) at in_flight_max.
  void request(std::string subject, std::string body, Duration timeout, Done done);
  void poll(Duration wait, std::span<const int> wake = {});
  std::size_t in_flight() const { return waiting_.size() + asked_ + ended_.size(); }

 private:
  struct Waiting {
    std::string subject, body;
    Instant deadline;
    Done done;
  };
  struct Ended {
    Done done;
    Answer answer;
  };

  void go_on();
  void ask(Waiting question);

  Env env_;
  const std::size_t in_flight_max_;
  std::deque<Waiting> waiting_;
  std::size_t asked_ = 0;
  std::deque<Ended> ended_;
  NatsLink link_;  // last: it goes first, and calls nobody after that
};

// Answers questions. Several with one group share them: each question goes to
// one. A handler runs inside of poll(); what it throws of the family in
// skald/error.h is thrown at the asker, anything else is CommitUnknown there.
class NatsResponder {
 public:
  using Handler = std::function<std::string(std::string_view body)>;

  // Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
  NatsResponder(const Env& env, const NatsOptions& options, std::string subject, std::string group, Handler handler);
  NatsResponder(const NatsResponder&) = delete;
  NatsResponder& operator=(const NatsResponder&) = delete;

  void poll(Duration wait, std::span<const int> wake = {}) { link_.poll(wait, wake); }
  bool is_up() const { return link_.is_up(); }

 private:
  void on_up();
  void answer(const NatsMessage& question);
  void send(const std::string& to, const std::string& body, const std::string& error);

  Env env_;
  const std::string subject_, group_;
  const Handler handler_;
  NatsLink link_;
};

}  // namespace skald
