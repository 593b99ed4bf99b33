// Sends spans to an OpenTelemetry collector over OTLP/HTTP: a POST of JSON for each batch, one at
// a time, which is full (512) or whose first span is a second old.
//
// | the collector                | what happens                                             |
// | answers 2xx                  | they are sent (spans_sent_total)                         |
// | answers 429, 502, 503, 504,  | the same batch again, when it asks for that or after     |
// | or gives no answer           | 1, 2, 4, 8 s; after the fifth attempt it is dropped      |
// | answers anything else        | the batch is dropped: it would not get better            |
// | is away for longer           | the queue fills up, and the newest spans are dropped     |
//
// What is dropped is counted (spans_dropped_total), and the first failure of a row is logged.
// Neither headers nor the URL are: they may hold a token.
//
// Owns no thread; step(), poll() and the destructor are called by one, hurry() by any.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bus/webhook/transfer.h"
#include "observe/otlp.h"
#include "observe/span_queue.h"
#include "skald/env.h"

namespace skald {

struct OtlpOptions {
  std::string endpoint;  // the base, "http://localhost:4318": /v1/traces is added
  std::string headers = {};  // as read_otlp_headers() takes them
  OtlpResource resource = {};
  std::chrono::milliseconds timeout = 10s;
};

class OtlpExporter {
 public:
  // Invalid (OTLP_ENDPOINT, OTLP_HEADERS). `queue` and what `env` refers to outlive it.
  OtlpExporter(const Env& env, OtlpOptions options, SpanQueue& queue);
  ~OtlpExporter();
  OtlpExporter(const OtlpExporter&) = delete;
  OtlpExporter& operator=(const OtlpExporter&) = delete;

  // Begins and ends what can be; how long it then has nothing to do, unless woken.
  Duration step();
  // Waits for the network, `wait` at the most, or until one of `wake` is readable.
  void poll(Duration wait, std::span<const int> wake);

  // The program ends: what is there goes out now, each batch in one attempt.
  void hurry() { hurrying_ = true; }
  // Hurried, and nothing is left; changes in step() only.
  bool has_ended() const { return ended_; }

 private:
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };

  void go_on();
  void begin();
  void finish(CURLcode result);
  bool batch_is_due();
  Duration idle_time();

  const Env env_;
  const OtlpOptions options_;
  const std::vector<std::string> headers_;
  WebhookTarget target_;
  SpanQueue& queue_;
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::unique_ptr<WebhookTransfer> transfer_;  // under way
  std::vector<Span> batch_;                    // of it, or waiting for its next attempt
  int attempts_ = 0;
  std::optional<Instant> again_at_;            // of the batch
  std::optional<Instant> waiting_since_;       // the queue's first
  bool failing_ = false;
  bool ended_ = false;
  std::atomic<bool> hurrying_ = false;
};

}  // namespace skald
