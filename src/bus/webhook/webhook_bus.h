// Events as HTTP POSTs, signed after Standard Webhooks: webhook-id is the event's
// id and the same at every attempt, so that receivers can dedupe by it.
//
// What becomes of an answer:
//   2xx                           delivered
//   408, 425, 429, 5xx            retry, not before Retry-After (at most 24 h)
//   other 4xx, 3xx                refused; redirects are never followed
//   no answer or half an answer   retry: whether it arrived is not known
//   a private address             refused, unless allow_private
//
// The address is checked at the socket that is about to connect, so that no name
// can point elsewhere between check and use; proxies of the environment are not
// used. Error texts name the host only, never the path, the query or the secret.
//
// Not thread safe, starts no thread; everything happens inside of poll().
#pragma once

#include <curl/curl.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "bus/webhook/target.h"
#include "skald/bus.h"
#include "skald/env.h"

namespace skald {

struct WebhookOptions {
  enum class Format { cloudevent, discord };

  std::string url;     // http or https, without credentials
  std::string secret;  // "whsec_" + base64, or raw; only Discord may go without
  Format format = Format::cloudevent;
  // Discord's text. What strangers wrote must pass through escape_markdown()
  // (bus/webhook/discord.h) here. What it throws is the event's outcome.
  std::function<std::string(const Message&)> discord_text;
  std::chrono::milliseconds timeout = 10s;  // of the whole exchange
  std::chrono::milliseconds connect_timeout = 3s;
  std::size_t in_flight_max = 64;  // exchanges at once; further ones wait their turn
  bool allow_private = false;
};

class WebhookTransfer;

class WebhookBus final : public Bus {
 public:
  // Throws Invalid (WEBHOOK_URL, WEBHOOK_SECRET, WEBHOOK_FORMAT, WEBHOOK_LIMIT)
  // for options that cannot work.
  WebhookBus(const Env& env, WebhookOptions options);

  // Exchanges under way are broken off and their `done` is never called: the
  // outbox finds them pending and sends them again. Not from inside of a `done`.
  ~WebhookBus() override;

  WebhookBus(const WebhookBus&) = delete;
  WebhookBus& operator=(const WebhookBus&) = delete;

  // The queue inside is not bounded: the relay bounds what it hands over.
  void send(Message message, Done done) override;
  void poll(Duration wait, std::span<const int> wake = {}) override;
  std::size_t in_flight() const override { return waiting_.size() + transfers_.size() + ended_.size(); }

 private:
  struct Waiting {
    Message message;
    Done done;
  };
  struct Ended {
    Done done;
    Outcome outcome;
  };
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  void start_waiting();
  std::unique_ptr<WebhookTransfer> make_transfer(const Message& message) const;
  void go_on();  // lets libcurl work without waiting, and collects what ended
  void call_done();

  Env env_;
  WebhookOptions options_;
  WebhookTarget target_;
  std::string key_;  // signs; empty where nothing is signed
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::deque<Waiting> waiting_;
  struct Active {
    std::unique_ptr<WebhookTransfer> transfer;
    Done done;
  };
  std::unordered_map<CURL*, Active> transfers_;
  std::deque<Ended> ended_;
};

}  // namespace skald
