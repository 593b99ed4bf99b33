#include "bus/webhook/webhook_bus.h"

#include <algorithm>
#include <new>

#include "bus/failure.h"
#include "bus/header_value.h"
#include "bus/webhook/discord.h"
#include "bus/webhook/signature.h"
#include "bus/webhook/transfer.h"
#include "skald/error.h"

namespace skald {
namespace {

void check(CURLMcode code) {
  if (code != CURLM_OK) throw Unavailable("WEBHOOK_LIBCURL", std::string("libcurl: ") + curl_multi_strerror(code));
}

void check_options(const WebhookOptions& options) {
  const bool discord = options.format == WebhookOptions::Format::discord;
  if (options.secret.empty() && !discord)
    throw Invalid("WEBHOOK_SECRET", "a webhook needs a secret to sign with; set one, like whsec_ followed by base64");
  if (discord != static_cast<bool>(options.discord_text))
    throw Invalid("WEBHOOK_FORMAT", "the Discord format, and only it, needs a function that writes the text");
  // Zero would mean "for ever" to libcurl.
  if (options.timeout <= 0ms || options.connect_timeout <= 0ms || options.in_flight_max == 0)
    throw Invalid("WEBHOOK_LIMIT", "a webhook's timeouts and its limit of exchanges at once must be above zero");
}

}  // namespace

WebhookBus::WebhookBus(const Env& env, WebhookOptions options) : env_(env), options_(std::move(options)) {
  check_options(options_);
  initialize_libcurl();
  target_ = read_webhook_target(options_.url);
  if (!options_.secret.empty()) {
    key_ = webhook_key(options_.secret);
    target_.confidential.push_back(options_.secret);
  }
  multi_.reset(curl_multi_init());
  if (!multi_) throw std::bad_alloc();
  check(curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(options_.in_flight_max)));
}

WebhookBus::~WebhookBus() {
  for (const auto& [easy, active] : transfers_) curl_multi_remove_handle(multi_.get(), easy);
}

void WebhookBus::send(Message message, Done done) { waiting_.push_back({std::move(message), std::move(done)}); }

void WebhookBus::poll(Duration wait, std::span<const int> wake) {
  start_waiting();
  go_on();
  if (ended_.empty()) {
    std::vector<curl_waitfd> descriptors;
    descriptors.reserve(wake.size());
    for (int descriptor : wake) descriptors.push_back({descriptor, CURL_WAIT_POLLIN, 0});
    const auto millis = std::chrono::ceil<std::chrono::milliseconds>(std::clamp<Duration>(wait, 0us, 24h)).count();
    check(curl_multi_poll(multi_.get(), descriptors.data(), static_cast<unsigned>(descriptors.size()),
                          static_cast<int>(millis), nullptr));
    go_on();
  }
  call_done();
}

void WebhookBus::start_waiting() {
  while (!waiting_.empty() && transfers_.size() < options_.in_flight_max) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    try {
      auto transfer = make_transfer(next.message);
      CURL* easy = transfer->handle();
      auto& active = transfers_[easy];
      active.transfer = std::move(transfer);
      if (const CURLMcode code = curl_multi_add_handle(multi_.get(), easy); code != CURLM_OK) {
        transfers_.erase(easy);
        check(code);
      }
      active.done = std::move(next.done);
    } catch (...) {
      ended_.push_back({std::move(next.done), outcome_of_current_exception()});
    }
  }
}

std::unique_ptr<WebhookTransfer> WebhookBus::make_transfer(const Message& message) const {
  const bool discord = options_.format == WebhookOptions::Format::discord;
  const std::string& id = message.event.id;
  if (!fits_header(id))
    throw Invalid("WEBHOOK_EVENT_ID", "the event's id must be 1 to 256 visible ASCII characters to go by webhook");
  std::string body = discord ? discord_body(options_.discord_text(message)) : cloud_event(message);
  const std::int64_t now = std::chrono::floor<std::chrono::seconds>(env_.clock.now()).time_since_epoch().count();
  std::vector<std::string> headers = {
      discord ? "Content-Type: application/json" : "Content-Type: application/cloudevents+json", "webhook-id: " + id,
      "webhook-timestamp: " + std::to_string(now),
      "Expect:",  // libcurl would wait a second for a "100 Continue" that few send
  };
  if (!key_.empty()) headers.push_back("webhook-signature: " + webhook_signature(key_, id, now, body));
  return std::make_unique<WebhookTransfer>(
      target_, headers, std::move(body),
      WebhookTransfer::Limits{options_.timeout, options_.connect_timeout, options_.allow_private});
}

void WebhookBus::go_on() {
  int running = 0;
  check(curl_multi_perform(multi_.get(), &running));
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // The message itself is gone once the handle is removed.
    CURL* easy = message->easy_handle;
    const CURLcode result = message->data.result;
    const auto found = transfers_.find(easy);
    ended_.push_back({std::move(found->second.done), found->second.transfer->outcome(result, env_.clock.now())});
    curl_multi_remove_handle(multi_.get(), easy);
    transfers_.erase(found);
  }
  start_waiting();
}

// A `done` may send again, which waits for the next poll(); if one throws, the
// others are called by the next poll().
void WebhookBus::call_done() {
  for (std::size_t left = ended_.size(); left > 0; --left) {
    Ended ended = std::move(ended_.front());
    ended_.pop_front();
    ended.done(std::move(ended.outcome));
  }
}

}  // namespace skald
