#include "bus/nats/error_header.h"
#include "bus/nats/request_reply.h"
#include "skald/json.h"

namespace skald {

NatsResponder::NatsResponder(const Env& env, const NatsOptions& options, std::string subject, std::string group,
                             Handler handler)
    : env_(env),
      subject_(std::move(subject)),
      group_(std::move(group)),
      handler_(std::move(handler)),
      link_(env, options,
            {.up = [this] { on_up(); }, .down = [] {}, .message = [this](const NatsMessage& m) { take(m); }}) {}

void NatsResponder::on_up() {
  if (retiring_) return;
  if (!link_.subscribe(subject_, group_)) link_.hang_up("the subject " + subject_ + " cannot be subscribed to");
}

void NatsResponder::retire() {
  if (!std::exchange(retiring_, true)) link_.drain();
}

void NatsResponder::take(const NatsMessage& message) {
  NatsQuestion question{std::string(message.body()), std::string(message.reply())};
  const std::string reply = question.reply;
  try {
    handler_(std::move(question));
  } catch (...) {
    fail({"", reply}, write_nats_error());
  }
}

void NatsResponder::answer(const NatsQuestion& question, std::string_view body) { send(question.reply, body, ""); }

void NatsResponder::fail(const NatsQuestion& question, const NatsError& error) {
  env_.observer.log(Observer::Level::warn, "a question over NATS could not be answered",
                    "\"subject\":" + to_json(subject_) + ",\"error\":" + to_json(error.header));
  send(question.reply, error.text, error.header);
}

void NatsResponder::send(const std::string& to, std::string_view body, const std::string& error) {
  if (to.empty()) return;  // who asks for no answer gets none
  NatsLink::Headers headers;
  if (!error.empty()) headers.emplace_back(kNatsErrorHeader, error);
  if (link_.publish(to, headers, body) == NatsLink::Sent::too_large)
    link_.publish(to, {{kNatsErrorHeader, "Unknown NATS_TOO_LARGE"}},
                  "the answer is larger than the NATS server takes");
}

}  // namespace skald
