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
            {.up = [this] { on_up(); }, .down = [] {}, .message = [this](const NatsMessage& m) { answer(m); }}) {}

void NatsResponder::on_up() {
  if (!link_.subscribe(subject_, group_)) link_.hang_up("the subject " + subject_ + " cannot be subscribed to");
}

void NatsResponder::answer(const NatsMessage& question) {
  std::string body, error;
  try {
    body = handler_(question.body());
  } catch (...) {
    NatsError written = write_nats_error();
    body = std::move(written.text);
    error = std::move(written.header);
    env_.observer.log(Observer::Level::warn, "a question over NATS could not be answered",
                      "\"subject\":" + to_json(subject_) + ",\"error\":" + to_json(error));
  }
  // Who asks for no answer gets none.
  if (!question.reply().empty()) send(std::string(question.reply()), body, error);
}

void NatsResponder::send(const std::string& to, const std::string& body, const std::string& error) {
  NatsLink::Headers headers;
  if (!error.empty()) headers.emplace_back(kNatsErrorHeader, error);
  if (link_.publish(to, headers, body) == NatsLink::Sent::too_large)
    link_.publish(to, {{kNatsErrorHeader, "Unknown NATS_TOO_LARGE"}},
                  "the answer is larger than the NATS server takes");
}

}  // namespace skald
