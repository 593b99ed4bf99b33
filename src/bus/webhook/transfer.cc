#include "bus/webhook/transfer.h"

#include <sys/socket.h>

#include <new>

#include "base/text.h"
#include "bus/webhook/private_address.h"
#include "bus/webhook/retry_after.h"
#include "skald/error.h"

namespace skald {
namespace {

constexpr std::size_t kAnswerMax = 4 * 1024;
constexpr std::size_t kHeadersMax = 64 * 1024;
constexpr std::size_t kAnswerShown = 200;

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  // A guard that could not be set is no guard.
  if (const CURLcode code = curl_easy_setopt(easy, option, value); code != CURLE_OK)
    throw Unavailable("WEBHOOK_LIBCURL", std::string("libcurl refuses a setting: ") + curl_easy_strerror(code));
}

bool may_get_better(long status) {
  return status == 408 || status == 425 || status == 429 || status >= 500 || status < 200;
}

}  // namespace

void initialize_libcurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (code != CURLE_OK) throw Unavailable("WEBHOOK_LIBCURL", "libcurl cannot be initialized");
}

WebhookTransfer::WebhookTransfer(const WebhookTarget& target, const std::vector<std::string>& headers, std::string body,
                                 const Limits& limits)
    : target_(target), allow_private_(limits.allow_private), body_(std::move(body)), easy_(curl_easy_init()) {
  if (!easy_) throw std::bad_alloc();
  for (const std::string& header : headers) {
    curl_slist* list = curl_slist_append(headers_.get(), header.c_str());
    if (list == nullptr) throw std::bad_alloc();
    (void)headers_.release();  // the same list or its new head: it owns what was there
    headers_.reset(list);
  }

  CURL* easy = easy_.get();
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_URL, target_.url.c_str());
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_PROXY, "");
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(limits.timeout.count()));
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect_timeout.count()));
  set(easy, CURLOPT_USERAGENT, "skald/" SKALD_VERSION);
  set(easy, CURLOPT_HTTPHEADER, headers_.get());
  set(easy, CURLOPT_POST, 1L);
  set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
  set(easy, CURLOPT_POSTFIELDS, body_.c_str());
  set(easy, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(easy, CURLOPT_OPENSOCKETDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &take_body);
  set(easy, CURLOPT_WRITEDATA, this);
  set(easy, CURLOPT_HEADERFUNCTION, &take_header);
  set(easy, CURLOPT_HEADERDATA, this);
}

// A connection that is used again was checked here when it was opened.
curl_socket_t WebhookTransfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<WebhookTransfer*>(self);
  if (!transfer.allow_private_ && is_private_address(address->addr)) {
    transfer.private_seen_ = true;
    return CURL_SOCKET_BAD;
  }
  transfer.public_tried_ = true;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

std::size_t WebhookTransfer::take_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<WebhookTransfer*>(self);
  const std::size_t bytes = size * count;
  if (transfer.answer_.size() + bytes > kAnswerMax) {
    transfer.body_cut_ = true;
    return 0;
  }
  transfer.answer_.append(data, bytes);
  return bytes;
}

std::size_t WebhookTransfer::take_header(char*, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<WebhookTransfer*>(self);
  transfer.header_bytes_ += size * count;
  return transfer.header_bytes_ > kHeadersMax ? 0 : size * count;
}

Outcome WebhookTransfer::outcome(CURLcode result, Time now) const {
  // A name with addresses of both kinds is judged by the one that was tried.
  if (result != CURLE_OK && private_seen_ && !public_tried_)
    return Outcome::refused(target_.host + " has a private address; allow private addresses if that is meant");
  if (result != CURLE_OK && !(result == CURLE_WRITE_ERROR && body_cut_))
    return Outcome::failed(
        target_.host + ": " +
        (header_bytes_ > kHeadersMax ? "the answer's headers are too long" : curl_easy_strerror(result)));

  const long status = this->status();
  if (status >= 200 && status < 300) return Outcome::ok();
  if (status >= 300 && status < 400) return Outcome::refused(describe(status) + " (redirects are not followed)");
  if (!may_get_better(status)) return Outcome::refused(describe(status));
  std::optional<Duration> after;
  curl_header* header = nullptr;
  if (curl_easy_header(easy_.get(), "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
    after = parse_retry_after(header->value, now);
  return Outcome::failed(describe(status), after);
}

long WebhookTransfer::status() const {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::string WebhookTransfer::describe(long status) const {
  std::string out = target_.host + " answered " + std::to_string(status);
  if (!answer_.empty() && !target_.betrayed_by(answer_)) out += ": " + cut_text(answer_, kAnswerShown);
  return out;
}

}  // namespace skald
