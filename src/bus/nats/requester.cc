#include <algorithm>
#include <memory>

#include "bus/nats/error_header.h"
#include "bus/nats/request_reply.h"
#include "skald/error.h"

namespace skald {
namespace {

// A question goes to one subject: no wildcard, no empty word, nothing that ends the line.
void check_subject(std::string_view subject) {
  const bool plain =
      std::all_of(subject.begin(), subject.end(), [](char c) { return c > ' ' && c < 0x7f && c != '*' && c != '>'; });
  if (subject.empty() || subject.size() > 256 || !plain || subject.front() == '.' || subject.back() == '.' ||
      subject.find("..") != subject.npos)
    throw Invalid("NATS_SUBJECT",
                  "a NATS subject is words of visible ASCII with dots between them, like booking.create");
}

std::exception_ptr unavailable(const std::string& why) {
  return std::make_exception_ptr(Unavailable("NATS_UNAVAILABLE", why));
}

NatsRequester::Answer answer_of(const NatsReply& reply, const std::string& subject) {
  using Answer = NatsRequester::Answer;
  const auto unknown = [](const std::string& why) {
    return Answer(std::make_exception_ptr(CommitUnknown("NATS_ANSWER_UNKNOWN", why)));
  };
  switch (reply.kind) {
    case NatsReply::Kind::nobody:
      return Answer(unavailable("nobody answers " + subject + " on NATS; start the service that does"));
    case NatsReply::Kind::silence: return unknown(subject + " gave no answer in time; ask again with the same key");
    case NatsReply::Kind::lost:
      return unknown("the connection to NATS broke before " + subject + " answered; ask again with the same key");
    case NatsReply::Kind::denied:
      return Answer(std::make_exception_ptr(
          Forbidden("NATS_FORBIDDEN", "the NATS server does not let this user publish to " + subject + "; allow it")));
    case NatsReply::Kind::answer: break;
  }
  const std::string_view error = reply.message.header(kNatsErrorHeader);
  if (!error.empty()) return Answer(read_nats_error(error, reply.message.body()));
  return Answer(std::string(reply.message.body()));
}

}  // namespace

NatsRequester::NatsRequester(const Env& env, const NatsOptions& options, std::size_t in_flight_max)
    : env_(env), in_flight_max_(in_flight_max), link_(env, options, {.up = [] {}, .down = [] {}}) {}

void NatsRequester::request(std::string subject, std::string body, Duration timeout, Done done) {
  check_subject(subject);
  if (in_flight() >= in_flight_max_)
    throw Busy("NATS_BUSY", "too many questions to other services are open; ask again in a moment");
  waiting_.push_back({std::move(subject), std::move(body), env_.clock.steady() + timeout, std::move(done)});
}

void NatsRequester::poll(Duration wait, std::span<const int> wake) {
  go_on();
  if (!ended_.empty()) wait = 0us;
  for (const Waiting& question : waiting_) wait = std::min(wait, question.deadline - env_.clock.steady());
  link_.poll(std::max<Duration>(wait, 0us), wake);
  go_on();
  // A `done` may ask again; if one throws, the others are called by the next poll().
  for (std::size_t left = ended_.size(); left > 0; --left) {
    Ended ended = std::move(ended_.front());
    ended_.pop_front();
    ended.done(std::move(ended.answer));
  }
}

void NatsRequester::go_on() {
  const Instant now = env_.clock.steady();
  for (Waiting& question : std::exchange(waiting_, {})) {
    if (question.deadline <= now) ended_.push_back({std::move(question.done), Answer(unavailable(link_.why_down()))});
    else ask(std::move(question));
  }
}

void NatsRequester::ask(Waiting question) {
  const auto done = std::make_shared<Done>(question.done);
  const auto sent = link_.request(question.subject, {}, question.body, question.deadline - env_.clock.steady(),
                                  [this, done, subject = question.subject](const NatsReply& reply) {
                                    --asked_;
                                    ended_.push_back({std::move(*done), answer_of(reply, subject)});
                                  });
  switch (sent) {
    case NatsLink::Sent::yes: ++asked_; break;
    case NatsLink::Sent::no: waiting_.push_back(std::move(question)); break;
    case NatsLink::Sent::too_large:
      ended_.push_back({std::move(question.done),
                        Answer(std::make_exception_ptr(Invalid(
                            "NATS_TOO_LARGE", "the question is larger than the NATS server takes; make it smaller")))});
  }
}

}  // namespace skald
