#include "order/http_call.h"

#include <curl/curl.h>

#include <memory>
#include <new>

#include "skald/error.h"

namespace order {
namespace {

constexpr std::size_t kAnswerMax = 4 * 1024 * 1024;

struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

CURL* handle_of_thread() {
  [[maybe_unused]] static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  thread_local const std::unique_ptr<CURL, FreeEasy> easy(curl_easy_init());
  if (!easy) throw std::bad_alloc();
  curl_easy_reset(easy.get());
  return easy.get();
}

std::size_t take(char* data, std::size_t size, std::size_t count, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size * count > kAnswerMax) return 0;
  body.append(data, size * count);
  return size * count;
}

// Before the first byte of a request has left.
bool never_sent(CURLcode code) {
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_URL_MALFORMAT ||
         code == CURLE_UNSUPPORTED_PROTOCOL;
}

}  // namespace

HttpAnswer http_call(const std::string& method, const std::string& url, const std::string& body,
                     skald::Duration timeout, const std::string& traceparent) {
  CURL* easy = handle_of_thread();
  const std::unique_ptr<curl_slist, FreeList> headers(curl_slist_append(nullptr, "Content-Type: application/json"));
  if (!traceparent.empty()) curl_slist_append(headers.get(), ("traceparent: " + traceparent).c_str());
  const long limit = static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count());
  HttpAnswer answer;
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, limit);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &answer.body);
  if (!body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
  }
  const CURLcode code = curl_easy_perform(easy);
  if (never_sent(code))
    throw skald::Unavailable("PROVIDER_DOWN",
                             std::string("the payment provider cannot be reached: ") + curl_easy_strerror(code));
  if (code != CURLE_OK)
    throw skald::CommitUnknown("PROVIDER_SILENT",
                               std::string("the payment provider has not answered: ") + curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace order
