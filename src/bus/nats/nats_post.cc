#include "bus/nats/nats_post.h"

#include <utility>

#include "bus/letter_text.h"
#include "skald/error.h"

namespace skald {
namespace {

// A receiver that dies takes the question with it; one that is at work for longer answers the next one.
constexpr Duration kPatience = 2s;

std::string subject_of(const std::string& service, const std::string& last) {
  check_nats_name("the name of a service", service);
  return "skald.post." + service + "." + last;
}

Courier::Answer answer_of(const NatsReply& reply) {
  using Told = Courier::Answer::Kind;
  switch (reply.kind) {
    case NatsReply::Kind::nobody: return {Told::nobody};
    case NatsReply::Kind::silence:
    case NatsReply::Kind::lost: return {Told::silence};
    case NatsReply::Kind::denied:
      return {Told::refused, {}, "the NATS server does not let this user publish to skald.post.>; allow it"};
    case NatsReply::Kind::answer: break;
  }
  try {
    return {Told::receipt, read_receipt(reply.message.body())};
  } catch (const Refused& error) {
    return {Told::refused, {}, error.what()};
  } catch (const Error& error) {
    if (error.code() == "VERSION_TOO_NEW") return {Told::refused, {}, error.what()};
    return {Told::silence, {}, error.what()};
  }
}

}  // namespace

std::string post_subject(const std::string& service, int partition) {
  return subject_of(service, std::to_string(partition));
}
std::string post_question_subject(const std::string& service) { return subject_of(service, "ask"); }

NatsCourier::NatsCourier(const Env& env, const NatsOptions& options)
    : env_(env),
      link_(env, options,
            {.up = [this] { link_.subscribe(kPostReturnSubject); },
             .down = [] {},
             .message =
                 [this](const NatsMessage& message) {
                   if (returned_) returned_(std::string(message.body()));
                 }}) {}

void NatsCourier::send(const std::string& service, Letter letter, Answered answered) {
  const std::string text = letter_text(letter);
  const auto told = std::make_shared<Answered>(std::move(answered));
  switch (link_.request(post_subject(service, letter.partition), {}, text, kPatience,
                        [told](const NatsReply& reply) { (*told)(answer_of(reply)); })) {
    case NatsLink::Sent::yes: return;
    case NatsLink::Sent::no: ended_.emplace_back([told] { (*told)({Answer::Kind::nobody}); }); return;
    case NatsLink::Sent::too_large:
      ended_.emplace_back([told, size = text.size()] {
        (*told)({Answer::Kind::refused,
                 {},
                 "an event is larger than the NATS server takes; raise its max_payload to " + std::to_string(size) +
                     " or more"});
      });
  }
}

void NatsCourier::ask(const std::string& service, Inquiry inquiry, Known known) {
  const auto told = std::make_shared<Known>(std::move(known));
  const auto sent = link_.request(post_question_subject(service), {}, inquiry_text(inquiry), kPatience,
                                  [told](const NatsReply& reply) {
                                    std::optional<Knowledge> knowledge;
                                    try {
                                      if (reply.kind == NatsReply::Kind::answer)
                                        knowledge = read_knowledge(reply.message.body());
                                    } catch (const Error&) {
                                      // of a version that nobody here knows: no answer
                                    }
                                    (*told)(std::move(knowledge));
                                  });
  if (sent != NatsLink::Sent::yes) ended_.emplace_back([told] { (*told)(std::nullopt); });
}

void NatsCourier::poll(Duration wait, std::span<const int> wake) {
  link_.poll(ended_.empty() ? wait : Duration::zero(), wake);
  for (auto& tell : std::exchange(ended_, {})) tell();
}

NatsLetterbox::NatsLetterbox(const Env& env, const NatsOptions& options, std::string service, PostHandlers handlers)
    : env_(env),
      service_(std::move(service)),
      handlers_(std::move(handlers)),
      link_(env, options,
            {.up = [this] { on_up(); },
             .down = [this] { subscribed_ = 0; },
             .message = [this](const NatsMessage& message) { take(message); }}) {
  check_nats_name("the name of a service", service_);
}

void NatsLetterbox::set_partitions(std::uint64_t mask) {
  mask_ = mask;
  if (!link_.is_up()) return;
  const std::uint64_t before = subscribed_;
  for (int i = 0; i < kPartitions; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((mask & ~subscribed_ & bit) != 0 && link_.subscribe(post_subject(service_, i), service_)) subscribed_ |= bit;
    if ((subscribed_ & ~mask & bit) != 0) {
      link_.unsubscribe(post_subject(service_, i));
      subscribed_ &= ~bit;
    }
  }
  if ((subscribed_ & ~before) != 0) link_.publish(kPostReturnSubject, {}, service_);
}

void NatsLetterbox::on_up() {
  subscribed_ = 0;
  if (!link_.subscribe(post_question_subject(service_), service_)) return link_.hang_up("it cannot be subscribed to");
  set_partitions(mask_);
}

void NatsLetterbox::take(const NatsMessage& message) {
  if (message.reply().empty()) return;
  try {
    auto read = read_post(message.body());
    if (auto* letter = std::get_if<Letter>(&read))
      arrived_.push_back({std::move(*letter), std::string(message.reply())});
    else link_.publish(std::string(message.reply()), {}, knowledge_text(handlers_.answer(std::get<Inquiry>(read))));
  } catch (const Error& error) {
    // Cut short on its way, or for a newer reader, which is said: whoever sent it sends it again.
    if (error.code() == "VERSION_TOO_NEW") link_.publish(std::string(message.reply()), {}, refusal_text(error.what()));
    env_.observer.log(Observer::Level::warn, "something came by the post that cannot be read",
                      "\"tag\":\"[Outbox]\",\"error\":" + to_json(std::string(error.what())));
  }
}

void NatsLetterbox::poll(Duration wait, std::span<const int> wake) {
  link_.poll(wait, wake);
  if (!arrived_.empty()) land();
}

// All that has come, in one transaction.
void NatsLetterbox::land() {
  const auto arrived = std::exchange(arrived_, {});
  std::vector<Letter> letters;
  for (const Arrived& one : arrived) letters.push_back(one.letter);
  const auto receipts = handlers_.accept(letters);
  for (std::size_t i = 0; i < arrived.size(); ++i) link_.publish(arrived[i].reply, {}, receipt_text(receipts[i]));
}

}  // namespace skald
