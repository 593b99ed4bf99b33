#include "http/forwarding_router.h"

#include <memory>

namespace skald::http {
namespace {

// The id of the last event in a part of a stream; the one before where it has none.
std::string last_event(const std::string& part, std::string before) {
  const std::size_t at = part.rfind("\nid: ");
  const std::size_t begin = at != part.npos ? at + 5 : part.starts_with("id: ") ? 4 : part.npos;
  return begin == part.npos ? std::move(before) : part.substr(begin, part.find('\n', begin) - begin);
}

// What the other side refused, as if it had been refused here.
[[noreturn]] void raise(const Response& refusal) {
  const auto problem = json::parse(refusal.body);
  const auto text = [&](const char* name) { return std::string(problem.as_object().at(name).as_string()); };
  if (refusal.status == 404) throw NotFound(text("code"), text("detail"));
  if (refusal.status == 403) throw Forbidden(text("code"), text("detail"));
  if (refusal.status == 422) throw Invalid(text("code"), text("detail"));
  throw Unavailable(text("code"), text("detail"));
}

// A stream of another process, part by part: each asks for what comes behind the last.
class RemoteStream {
 public:
  RemoteStream(ForwardingRouter::Ask ask, Request request) : ask_(std::move(ask)), request_(std::move(request)) {
    fetch();
  }
  std::string topic() const { return topic_; }

  std::optional<std::string> next() {
    if (!fetched_ && !ended_) fetch();
    fetched_ = false;
    if (ended_ && part_.empty()) return std::nullopt;
    return std::exchange(part_, "");
  }

 private:
  void fetch() {
    const Response answer = ask_(request_);
    if (answer.status != 200) raise(answer);
    const auto header = [&](const std::string& name) {
      const auto found = answer.headers.find(name);
      return found == answer.headers.end() ? std::string() : found->second;
    };
    topic_ = header("x-stream-topic");
    ended_ = !header("x-stream-ended").empty();
    part_ = answer.body;
    request_.headers["last-event-id"] = last_event(part_, request_.headers["last-event-id"]);
    fetched_ = true;
  }

  ForwardingRouter::Ask ask_;
  Request request_;
  std::string topic_, part_;
  bool fetched_ = false, ended_ = false;
};

}  // namespace

void ForwardingRouter::get(std::string path, Access access, Doc doc, Handler) {
  routes_.get(std::move(path), access, std::move(doc), ask_);
}

void ForwardingRouter::write(std::string method, std::string path, Access access, Doc doc, WriteChoice) {
  if (method != "POST") throw Invalid("BAD_ROUTE", "only POST is forwarded, not " + method + " " + path);
  routes_.act(std::move(path), access, std::move(doc), ask_);
}

void ForwardingRouter::act(std::string path, Access access, Doc doc, Handler) {
  routes_.act(std::move(path), access, std::move(doc), ask_);
}

void ForwardingRouter::stream(std::string path, Access access, Doc doc, StreamHandler) {
  routes_.stream(std::move(path), access, std::move(doc), [ask = ask_](const Request& request) {
    const auto remote = std::make_shared<RemoteStream>(ask, request);
    return Stream{remote->topic(), [remote] { return remote->next(); }};
  });
}

}  // namespace skald::http
