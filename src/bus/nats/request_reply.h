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

#include "bus/nats/error_header.h"
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

  // Says something to whoever listens, and asks nothing. Lost where there is no
  // connection, and where it is larger than the server takes.
  void tell(const std::string& subject, std::string_view body) { link_.publish(subject, {}, body); }

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

// A question that waits for its answer.
struct NatsQuestion {
  std::string body;
  std::string reply;  // where the answer goes; empty: nobody waits for one
};

// Takes questions and answers them, at once or later. Several with one group share
// them: each question goes to one. Without a group each gets them all.
//
// Not thread safe: whoever works in other threads brings answers back to that of poll().
class NatsResponder {
 public:
  // Runs inside of poll(). What it throws is the answer, as by fail().
  using Handler = std::function<void(NatsQuestion)>;

  // Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
  NatsResponder(const Env& env, const NatsOptions& options, std::string subject, std::string group, Handler handler);
  NatsResponder(const NatsResponder&) = delete;
  NatsResponder& operator=(const NatsResponder&) = delete;

  // Once for each question, before or after the connection was made anew. While there
  // is none the answer is lost, and whoever asked is told that it is not known.
  void answer(const NatsQuestion& question, std::string_view body);
  // write_nats_error() makes one of what is caught, in whatever thread. What is of the family
  // in skald/error.h is thrown at the asker, anything else is CommitUnknown there.
  void fail(const NatsQuestion& question, const NatsError& error);

  // Takes no more questions; the server gives them to others of the group. Those on
  // their way to us come still, until has_retired().
  void retire();
  bool has_retired() const { return retiring_ && link_.has_drained(); }

  void poll(Duration wait, std::span<const int> wake = {}) { link_.poll(wait, wake); }
  bool is_up() const { return link_.is_up(); }

 private:
  void on_up();
  void take(const NatsMessage& message);
  void send(const std::string& to, std::string_view body, const std::string& error);

  Env env_;
  const std::string subject_, group_;
  const Handler handler_;
  bool retiring_ = false;
  NatsLink link_;
};

}  // namespace skald
