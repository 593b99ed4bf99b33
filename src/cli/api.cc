#include "cli/api.h"

#include <curl/curl.h>

#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

constexpr std::size_t kAnswerBytesMax = 64 << 20;
constexpr std::chrono::seconds kStreamLongest = std::chrono::hours(24);

std::size_t append(char* data, std::size_t, std::size_t size, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size > kAnswerBytesMax) return 0;
  body.append(data, size);
  return size;
}

struct Wish {
  std::string method, url, token, body;
  std::chrono::seconds timeout;
};

struct Cleanup {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
};
using Curl = std::unique_ptr<CURL, Cleanup>;

Curl make_curl() {
  Curl out(curl_easy_init());
  if (!out) throw Unavailable("CURL", "libcurl cannot be set up");
  return out;
}

using Headers = std::unique_ptr<curl_slist, void (*)(curl_slist*)>;

// What every request has in common. The headers live until it is answered.
Headers prepare(CURL* c, const std::string& url, const std::string& token, std::chrono::seconds timeout) {
  curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
  if (!token.empty()) list = curl_slist_append(list, ("Authorization: Bearer " + token).c_str());
  curl_easy_reset(c);  // but for its connections
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_TIMEOUT, static_cast<long>(timeout.count()));
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, 2L);
  curl_easy_setopt(c, CURLOPT_NOPROXY, "*");
  return {list, curl_slist_free_all};
}

Response exchange(CURL* c, const Wish& wish) {
  const Headers headers = prepare(c, wish.url, wish.token, wish.timeout);
  Response response;
  curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, wish.method.c_str());
  if (wish.method != "GET") {
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, wish.body.c_str());
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(wish.body.size()));
  }
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &response.body);
  if (const CURLcode code = curl_easy_perform(c); code != CURLE_OK)
    throw Unavailable("SERVER_UNREACHABLE", "the server does not answer: " + std::string(curl_easy_strerror(code)));
  long status = 0;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  return response;
}

// Handles that nobody uses just now, with their connections.
class Handles {
 public:
  Curl take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return make_curl();
    Curl out = std::move(free_.back());
    free_.pop_back();
    return out;
  }
  void give_back(Curl curl) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(curl));
  }

 private:
  std::mutex mutex_;
  std::vector<Curl> free_;
};

std::size_t pass_on(char* data, std::size_t, std::size_t size, void* to) {
  const auto& hear = *static_cast<const std::function<bool(std::string_view)>*>(to);
  return hear({data, size}) ? size : 0;
}

std::string base_url(const std::string& address) {
  std::string url = address.find("://") == address.npos ? "http://" + address : address;
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string encoded_query(const std::map<std::string, std::string>& query) {
  std::string out;
  for (const auto& [name, value] : query)
    out += (out.empty() ? "?" : "&") + http::encode_segment(name) + "=" + http::encode_segment(value);
  return out;
}

// A member of a problem; empty where the answer is something else.
std::string member(const std::string& body, std::string_view name) {
  try {
    const auto value = json::parse(body);
    const auto* found = value.is_object() ? value.get_object().if_contains(name) : nullptr;
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
  } catch (const Invalid&) {
    return "";
  }
}

[[noreturn]] void raise_problem(int status, const std::string& body) {
  const std::string code = member(body, "code"), detail = member(body, "detail");
  throw Refused(code.empty() ? "HTTP_" + std::to_string(status) : code,
                detail.empty() ? "the server answered with status " + std::to_string(status) : detail);
}

struct Following {
  CURL* curl;
  const EventReader::Hear& hear;
  EventReader reader = {};
  std::string refusal = {};
  std::exception_ptr thrown = {};  // nothing may be thrown through libcurl
};

long status_of(CURL* curl) {
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

std::size_t pass_events(char* data, std::size_t one, std::size_t size, void* to) {
  auto& following = *static_cast<Following*>(to);
  if (status_of(following.curl) != 200) return append(data, one, size, &following.refusal);
  try {
    return following.reader.read({data, size}, following.hear) ? size : 0;
  } catch (...) {
    following.thrown = std::current_exception();
    return 0;
  }
}

}  // namespace

Api remote_api(const Remote& server) {
  return [url = base_url(server.address), token = server.token,
          handles = std::make_shared<Handles>()](const Request& request) {
    Curl curl = handles->take();
    Response response = exchange(curl.get(), {request.method, url + request.path, token, request.body, 60s});
    handles->give_back(std::move(curl));
    return response;
  };
}

void follow_stream(const Remote& server, const std::string& path, std::chrono::seconds longest,
                   const std::function<bool(std::string_view)>& hear) {
  const Curl curl = make_curl();
  const std::string url = base_url(server.address) + path;
  const Headers headers = prepare(curl.get(), url, server.token, longest);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, pass_on);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &hear);
  curl_easy_perform(curl.get());
}

bool follow_events(const Remote& server, const std::string& path, const std::string& last,
                   const EventReader::Hear& hear) {
  const Curl curl = make_curl();
  const std::string url = base_url(server.address) + path;
  Headers headers = prepare(curl.get(), url, server.token, kStreamLongest);
  if (!last.empty()) {
    headers.reset(curl_slist_append(headers.release(), ("Last-Event-ID: " + last).c_str()));
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  }
  // A server beats on a stream that has nothing to tell: one that is silent for a minute is gone.
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, 60L);
  Following following{.curl = curl.get(), .hear = hear};
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, pass_events);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &following);
  curl_easy_perform(curl.get());
  if (following.thrown) std::rethrow_exception(following.thrown);
  const long status = status_of(curl.get());
  if (status >= 400 && status < 500 && status != 429) raise_problem(static_cast<int>(status), following.refusal);
  return status == 200;
}

bool answers(const std::string& address) {
  try {
    return exchange(make_curl().get(), {"GET", base_url(address) + "/healthz", "", "", 2s}).status == 200;
  } catch (const Unavailable&) {
    return false;
  }
}

std::string ask(const Api& api, const std::string& method, const std::string& path,
                const std::map<std::string, std::string>& query, const std::string& body) {
  Request request;
  request.method = method;
  request.path = path + encoded_query(query);
  request.body = body;
  if (!body.empty()) request.headers["content-type"] = "application/json";
  Response response = api(request);
  if (response.status < 400) return std::move(response.body);
  raise_problem(response.status, response.body);
}

}  // namespace skald::cli
