#include "observe/otlp_exporter.h"

#include <algorithm>
#include <new>

#include "skald/error.h"
#include "skald/json.h"

namespace skald {
namespace {

constexpr Duration kBatchAge = 1s;
constexpr Duration kConnectTimeout = 3s;
constexpr int kAttemptsMax = 5;
constexpr Duration kPauseFirst = 1s;
constexpr Duration kPauseMax = 1min;  // whatever the collector asks for: what it would get is old by then
constexpr Duration kIdleMax = 1h;

void check(CURLMcode code) {
  if (code != CURLM_OK) throw Unavailable("OTLP_LIBCURL", std::string("libcurl: ") + curl_multi_strerror(code));
}

// As the specification of OTLP has it for an endpoint of all signals.
WebhookTarget target_of(std::string endpoint) {
  if (endpoint.find_first_of("?#") != endpoint.npos)
    throw Invalid("OTLP_ENDPOINT", "the endpoint is a base URL, without query: http://localhost:4318");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  try {
    return read_webhook_target(endpoint + "/v1/traces");
  } catch (const Invalid&) {
    throw Invalid("OTLP_ENDPOINT",
                  "the endpoint must be an http:// or https:// URL without user and password, such as "
                  "http://localhost:4318");
  }
}

std::vector<std::string> lines_of(const std::string& headers) {
  std::vector<std::string> out = read_otlp_headers(headers);
  out.emplace_back("Content-Type: application/json");
  out.emplace_back("Expect:");  // libcurl would wait a second for a "100 Continue" that few send
  return out;
}

bool may_get_better(CURLcode result, long status) {
  return result != CURLE_OK || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

OtlpExporter::OtlpExporter(const Env& env, OtlpOptions options, SpanQueue& queue)
    : env_(env),
      options_(std::move(options)),
      headers_(lines_of(options_.headers)),
      target_(target_of(options_.endpoint)),
      queue_(queue) {
  initialize_libcurl();
  // Error pages like to repeat what they were sent.
  for (const std::string& line : headers_)
    target_.confidential.push_back(line.substr(std::min(line.find(": ") + 2, line.size())));
  std::erase(target_.confidential, "");
  multi_.reset(curl_multi_init());
  if (!multi_) throw std::bad_alloc();
}

OtlpExporter::~OtlpExporter() {
  if (transfer_) curl_multi_remove_handle(multi_.get(), transfer_->handle());
  const std::size_t left = batch_.size() + queue_.size();
  if (left > 0) env_.observer.count("spans_dropped_total", static_cast<std::int64_t>(left));
}

Duration OtlpExporter::step() {
  go_on();
  if (!transfer_ && batch_is_due()) {
    begin();
    go_on();  // a quick answer may be there already, and poll() would not wake up for it
  }
  ended_ = hurrying_ && batch_.empty() && queue_.size() == 0;
  return idle_time();
}

void OtlpExporter::go_on() {
  int running = 0, left = 0;
  check(curl_multi_perform(multi_.get(), &running));
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left))
    if (message->msg == CURLMSG_DONE) finish(message->data.result);
}

void OtlpExporter::poll(Duration wait, std::span<const int> wake) {
  std::vector<curl_waitfd> descriptors;
  for (const int descriptor : wake) descriptors.push_back({descriptor, CURL_WAIT_POLLIN, 0});
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(std::clamp<Duration>(wait, 0us, kIdleMax)).count();
  check(curl_multi_poll(multi_.get(), descriptors.data(), static_cast<unsigned>(descriptors.size()),
                        static_cast<int>(millis), nullptr));
}

bool OtlpExporter::batch_is_due() {
  const Instant now = env_.clock.steady();
  if (!batch_.empty()) return hurrying_ || !again_at_ || *again_at_ <= now;
  const std::size_t queued = queue_.size();
  if (queued == 0) {
    waiting_since_.reset();
    return false;
  }
  if (!waiting_since_) waiting_since_ = now;
  return hurrying_ || queued >= SpanQueue::kBatchMax || now - *waiting_since_ >= kBatchAge;
}

Duration OtlpExporter::idle_time() {
  if (transfer_) return options_.timeout;  // libcurl wakes poll() before
  const Instant now = env_.clock.steady();
  if (!batch_.empty() && again_at_) return std::max<Duration>(*again_at_ - now, Duration::zero());
  if (batch_is_due()) return Duration::zero();
  return waiting_since_ ? std::max<Duration>(*waiting_since_ + kBatchAge - now, Duration::zero()) : kIdleMax;
}

void OtlpExporter::begin() {
  if (batch_.empty()) {
    batch_ = queue_.take();
    attempts_ = 0;
    waiting_since_.reset();
  }
  again_at_.reset();
  ++attempts_;
  // An operator names the collector, who may well have it beside the program: private addresses
  // are allowed, unlike those of webhooks, which others may choose.
  transfer_ = std::make_unique<WebhookTransfer>(
      target_, headers_, otlp_traces(options_.resource, batch_),
      WebhookTransfer::Limits{options_.timeout, std::chrono::ceil<std::chrono::milliseconds>(kConnectTimeout), true});
  if (const CURLMcode code = curl_multi_add_handle(multi_.get(), transfer_->handle()); code != CURLM_OK) {
    transfer_.reset();
    again_at_ = env_.clock.steady() + kPauseFirst;
    check(code);
  }
}

void OtlpExporter::finish(CURLcode result) {
  const std::unique_ptr<WebhookTransfer> ended = std::move(transfer_);
  curl_multi_remove_handle(multi_.get(), ended->handle());
  const Outcome outcome = ended->outcome(result, env_.clock.now());
  if (outcome.verdict == Verdict::delivered) {
    env_.observer.count("spans_sent_total", static_cast<std::int64_t>(batch_.size()));
    batch_.clear();
    failing_ = false;
    return;
  }
  if (!std::exchange(failing_, true))
    env_.observer.log(Observer::Level::warn, "spans cannot be sent to the collector",
                      "\"error\":" + to_json(outcome.error));
  const bool again = may_get_better(result, ended->status()) && attempts_ < kAttemptsMax && !hurrying_;
  if (!again) {
    env_.observer.count("spans_dropped_total", static_cast<std::int64_t>(batch_.size()));
    batch_.clear();
    return;
  }
  // Spread, since all processes of an installation meet the same failure.
  const Duration pause = kPauseFirst * (1 << (attempts_ - 1));
  const Duration spread(static_cast<std::int64_t>(env_.random.next() % static_cast<std::uint64_t>(pause.count() / 4)));
  again_at_ = env_.clock.steady() + std::min(outcome.retry_after.value_or(pause + spread), kPauseMax);
}

}  // namespace skald
