// Letters over NATS, by request and reply: nothing is kept by the server. Each partition of a service has a subject, and
// whichever of its processes has that partition takes what comes there; questions go to any of them.
//
//   NatsCourier courier(env, options);                                  // at the sender
//   NatsLetterbox letterbox(env, options, "course", {.accept = …, .answer = …});  // at the receiver
//
// Not thread safe; everything happens inside of poll().
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "bus/nats/link.h"
#include "skald/post.h"

namespace skald {

// "skald.post.course.17", "skald.post.course.ask". Invalid (NATS_NAME).
std::string post_subject(const std::string& service, int partition);
std::string post_question_subject(const std::string& service);
// Where a service says its name when it begins to take letters.
inline constexpr char kPostReturnSubject[] = "skald.post.returned";

class NatsCourier final : public Courier {
 public:
  // Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
  NatsCourier(const Env& env, const NatsOptions& options);

  void send(const std::string& service, Letter letter, Answered answered) override;
  void ask(const std::string& service, Inquiry inquiry, Known known) override;
  void poll(Duration wait, std::span<const int> wake = {}) override;
  bool is_up() const override { return link_.is_up(); }
  void on_return(Returned returned) override { returned_ = std::move(returned); }

 private:
  using Replied = std::function<void(const NatsReply&)>;
  void request(const std::string& subject, std::string_view body, Replied replied);

  Env env_;
  Returned returned_;
  std::deque<std::function<void()>> ended_;  // to be told in poll()
  NatsLink link_;  // last: it goes first, and calls nobody after that
};

class NatsLetterbox final : public Inlet {
 public:
  // Throws Invalid (NATS_…) for options that cannot work. Connects in poll().
  NatsLetterbox(const Env& env, const NatsOptions& options, std::string service, PostHandlers handlers);

  void set_partitions(std::uint64_t mask) override;
  void poll(Duration wait, std::span<const int> wake = {}) override;
  bool is_up() const override { return link_.is_up(); }
  Duration memory() const override { return Duration::zero(); }  // letters are known by their numbers

 private:
  struct Arrived {
    Letter letter;
    std::string reply;
  };

  void on_up();
  void take(const NatsMessage& message);
  void land();

  Env env_;
  const std::string service_;
  const PostHandlers handlers_;
  std::uint64_t mask_ = 0, subscribed_ = 0;
  std::vector<Arrived> arrived_;
  NatsLink link_;  // last: it goes first, and calls nobody after that
};

}  // namespace skald
