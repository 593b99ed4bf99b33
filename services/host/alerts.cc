#include "host/alerts.h"

#include "skald/id.h"
#include "skald/json.h"

namespace skald::host {
namespace {

constexpr int kWaitingMax = 100;

struct Alert {
  std::string code, text;
};
BOOST_DESCRIBE_STRUCT(Alert, (), (code, text))

}  // namespace

Alerts::Alerts(Env env, WebhookOptions options) : env_(env), bus_(env, std::move(options)) {}

void Alerts::raise(std::string_view code, std::string_view text) {
  if (waiting_.fetch_add(1) >= kWaitingMax) {
    --waiting_;
    env_.observer.count("alerts_unsent_total");
    return;
  }
  Message message;
  message.time = env_.clock.now();
  message.source = "/skald";
  message.event = {make_id(message.time, env_.random),
                   "skald.alert",
                   std::string(code),
                   std::string(code),
                   to_json(Alert{std::string(code), std::string(text)}),
                   ""};
  sender_.post([this, message] {
    send(message);
    --waiting_;
  });
}

void Alerts::send(Message message) {
  std::optional<Outcome> outcome;
  bus_.send(std::move(message), [&](Outcome what) { outcome = std::move(what); });
  while (!outcome) bus_.poll(1s);
  if (outcome->verdict == Verdict::delivered) return;
  env_.observer.count("alerts_unsent_total");
  env_.observer.log(Observer::Level::error, "an alert could not be sent", "\"error\":" + to_json(outcome->error));
}

}  // namespace skald::host
