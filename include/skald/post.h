// The post: delivery between services. A letter carries events from the outbox of one service to the outbox table of
// another. It is done when the receiver has committed it and has said so. Nothing between them is trusted: a courier
// may lose letters and answers, double them, delay them and change their order. docs/delivery.md explains the protocol.
//
// A lane is one partition of one sender to one receiver. At most one letter of a lane is under way.
//
// | what happens                          | what follows                                                         |
// | a letter or its answer is lost         | the sender sends the letter's number again, with what is owed then   |
// | a letter comes twice                   | the receiver answers with the ids that it landed under that number   |
// | two workers send under one number      | one letter lands; both senders hear the ids of that one              |
// | the receiver is away, or says busy     | the lane waits, 50 ms to 5 s; no attempt is spent, nothing dies      |
// | one side was restored from a backup    | the numbers do not fit; the sender asks for ids, and tells a person  |
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/bus.h"
#include "skald/subscriber.h"

namespace skald {

struct Letter {
  // An event that the sender's version writes and this one cannot read.
  struct Unreadable {
    std::string bytes, why;
  };

  std::string sender;  // the id of the sender's database
  int partition = 0;
  std::int64_t number = 0;  // counts up by one in each lane
  std::string former = {};  // the chain of the letter before: a digest of all the lane's ids so far
  bool again = false;  // it may have come before, and its receiver may have died of it
  std::vector<std::string> ids;  // of all its events, in order
  std::vector<Message> events;
  std::vector<Unreadable> unreadable = {};
};

// What a receiver says to a letter.
struct Receipt {
  enum class Kind {
    landed,  // it has this number: these ids, behind the chain `former`
    gap,  // it expects another letter: `last` is what it has, with that chain
    busy,  // it cannot take it now
  };
  Kind kind = Kind::busy;
  std::int64_t last = 0;
  std::string chain = {}, former = {};
  std::vector<std::string> ids = {};

  bool operator==(const Receipt&) const = default;
};

// What a sender asks: how far the receiver is in its lanes, and which of these events it has.
struct Inquiry {
  std::string sender;
  std::vector<std::string> ids = {};
};
struct Knowledge {
  std::map<int, LanePlace> lasts;  // by partition; none: no letter has come
  std::vector<std::string> ids;  // those that it has
  Time since{};  // it may have forgotten what came before
};

// Takes letters to other services and brings the answers. Not thread safe: one engine drives it, from one thread.
class Courier {
 public:
  virtual ~Courier() = default;

  struct Answer {
    enum class Kind {
      receipt,
      nobody,  // nobody took it
      silence,  // whether somebody has it is not known
      refused,  // it cannot be carried as it is: `why`
    };
    Kind kind = Kind::silence;
    Receipt receipt = {};
    std::string why = {};
  };
  using Answered = std::function<void(Answer)>;
  using Known = std::function<void(std::optional<Knowledge>)>;  // nothing: no answer

  // Return at once. The callback is called once, by poll().
  virtual void send(const std::string& service, Letter letter, Answered answered) = 0;
  virtual void ask(const std::string& service, Inquiry inquiry, Known known) = 0;

  // Waits at most `wait` for an answer, or for one of `wake` to become readable.
  virtual void poll(Duration wait, std::span<const int> wake = {}) = 0;
  // False: it knows that nothing can be carried.
  virtual bool is_up() const { return true; }

  // Set before the first poll(), and called inside of it: a service takes letters that may not have done so before.
  using Returned = std::function<void(const std::string& service)>;
  virtual void on_return(Returned /*returned*/) {}
};

// What an engine does with what comes (Engine::accept, Engine::answer).
struct PostHandlers {
  std::function<std::vector<Receipt>(std::span<const Letter>)> accept;
  std::function<Knowledge(const Inquiry&)> answer;
};

}  // namespace skald
