// An MCP server behind a URL (streamable HTTP): each message is a POST, whose answer is one message or a stream of them.
#include <curl/curl.h>

#include <algorithm>
#include <deque>
#include <new>

#include "agentflow/mcp/channel.h"
#include "agentflow/mcp/event_stream.h"
#include "agentflow/mcp/rpc.h"
#include "skald/controls.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kSessionMax = 1024;

struct FreeHandle {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

bool is_answer(const std::string& text) {
  try {
    const auto message = read_mcp_message(skald::json::parse(text, kMcpValuesMax));
    return message && message->method.empty();
  } catch (const skald::Invalid&) {
    return false;
  }
}

// A session's name goes back in a header, so it must not end that one.
bool is_session(std::string_view text) {
  return text.size() <= kSessionMax && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

// One answer as it arrives.
struct HttpArrival {
  CURL* easy;
  std::string body = {};  // that is no stream of events
  std::size_t bytes = 0;
  McpEventStream stream = {};
  std::deque<std::string> events = {};
  std::string session = {};
  bool too_long = false, answered = false;

  bool is_stream() const {
    const char* type = nullptr;
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    return type != nullptr && std::string_view(type).starts_with("text/event-stream");
  }

  // False: enough. A server may keep a stream open after its answer, and say more.
  bool take(std::string_view piece) {
    bytes += piece.size();
    too_long = bytes > kMcpMessageMax;
    if (too_long) return false;
    if (!is_stream()) {
      body += piece;
      return true;
    }
    for (std::string& event : stream.feed(piece)) {
      answered = is_answer(event);
      events.push_back(std::move(event));
      if (answered) return false;
    }
    return true;
  }
};

std::size_t take_piece(char* data, std::size_t size, std::size_t count, void* to) {
  return static_cast<HttpArrival*>(to)->take({data, size * count}) ? size * count : 0;
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* to) {
  static constexpr std::string_view name = "mcp-session-id:";
  std::string_view line(data, size * count);
  const bool named = line.size() > name.size() && std::ranges::equal(line.substr(0, name.size()), name, {}, [](char c) {
                       return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
                     });
  if (named) {
    line.remove_prefix(name.size());
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::size_t end = line.find_last_not_of(" \t\r\n") + 1;
    static_cast<HttpArrival*>(to)->session = line.substr(begin, end > begin ? end - begin : 0);
  }
  return size * count;
}

class McpHttp : public McpChannel {
 public:
  McpHttp(const skald::Env& env, const std::string& url) : clock_(env.clock), url_(url) {
    [[maybe_unused]] static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    easy_.reset(curl_easy_init());
    if (!easy_) throw std::bad_alloc();
  }

  void send(const std::string& message, skald::Instant deadline) override {
    HttpArrival arrival{.easy = easy_.get()};
    const long status = call("POST", message, deadline - clock_.steady(), arrival);
    if (arrival.too_long) mcp_failed("sent an answer of more than 4 MiB");
    if (status < 200 || status > 299)
      mcp_failed("answered with HTTP " + std::to_string(status) +
                 (status / 100 == 3 ? ", a redirect, which is not followed" : ""));
    if (!is_session(arrival.session)) mcp_failed("gave a session a name that no header can carry");
    if (session_.empty()) session_ = arrival.session;
    for (std::string& event : arrival.events) messages_.push_back(std::move(event));
    if (arrival.body.find_first_not_of(" \t\r\n") != std::string::npos) messages_.push_back(std::move(arrival.body));
  }

  std::string receive(skald::Instant) override {
    if (messages_.empty()) mcp_failed("ended its answer before it had answered");
    std::string message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }

  void use_protocol(const std::string& version) override { protocol_ = version; }

  // A server without sessions, or that does not want them ended, says so; nothing hangs on it.
  std::string end(skald::Duration grace) noexcept override {
    HttpArrival arrival{.easy = easy_.get()};
    try {
      if (!session_.empty()) call("DELETE", "", grace, arrival);
    } catch (const skald::Refused&) {
      // The server forgets the session by itself some day.
    }
    return "";
  }

 private:
  using Headers = std::unique_ptr<curl_slist, FreeHeaders>;

  Headers headers() const {
    Headers list(curl_slist_append(nullptr, "Content-Type: application/json"));
    curl_slist_append(list.get(), "Accept: application/json, text/event-stream");
    if (!session_.empty()) curl_slist_append(list.get(), ("Mcp-Session-Id: " + session_).c_str());
    if (!protocol_.empty()) curl_slist_append(list.get(), ("MCP-Protocol-Version: " + protocol_).c_str());
    return list;
  }

  // The status of the answer.
  long call(const char* method, const std::string& body, skald::Duration limit, HttpArrival& arrival) {
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    if (milliseconds <= 0) mcp_failed("has not answered in time");  // libcurl takes 0 for ever
    CURL* easy = easy_.get();
    const Headers list = headers();
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(milliseconds));
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list.get());
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &arrival);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_piece);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &arrival);
    if (!body.empty()) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
    }
    const CURLcode code = curl_easy_perform(easy);
    const bool broken_off_by_us = code == CURLE_WRITE_ERROR && (arrival.answered || arrival.too_long);
    if (code == CURLE_OPERATION_TIMEDOUT) mcp_failed("has not answered in time");
    if (code != CURLE_OK && !broken_off_by_us)
      mcp_failed(std::string("cannot be talked with: ") + curl_easy_strerror(code));
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }

  const skald::Clock& clock_;
  const std::string url_;
  std::unique_ptr<CURL, FreeHandle> easy_;
  std::string session_, protocol_;
  std::deque<std::string> messages_;
};

}  // namespace

std::unique_ptr<McpChannel> mcp_http(const skald::Env& env, const std::string& url) {
  return std::make_unique<McpHttp>(env, url);
}

}  // namespace agentflow
