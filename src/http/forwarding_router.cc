#include "http/forwarding_router.h"

#include <memory>

#include "skald/trace.h"

namespace skald::http {
namespace {

// The id of the last event in a part of a stream; the one before where it has none.
std::string last_event(const std::string& part, std::string before) {
  const std::size_t at = part.rfind("\nid: ");
  const std::size_t begin = at != part.npos ? at + 5 : part.starts_with("id: ") ? 4 : part.npos;
  return begin == part.npos ? std::move(before) : part.substr(begin, part.find('\n', begin) - begin);
}

struct RemoteRefusal {
  std::string code, detail;
};

RemoteRefusal refusal_of(const Response& response) {
  RemoteRefusal out{"REMOTE_REFUSAL", "the service answered with status " + std::to_string(response.status)};
  if (response.content_type != "application/problem+json") return out;
  const auto problem = json::parse(response.body);
  const auto take = [&](const char* name, std::string& text) {
    const auto* value = problem.is_object() ? problem.as_object().if_contains(name) : nullptr;
    if (value != nullptr && value->is_string()) text = value->as_string();
  };
  take("code", out.code);
  take("detail", out.detail);
  return out;
}

// What the other side refused, as if it had been refused here. What is its own fault may pass.
[[noreturn]] void raise(const Response& refusal) {
  const RemoteRefusal problem = refusal_of(refusal);
  switch (refusal.status) {
    case 400: throw Malformed(problem.code, problem.detail);
    case 401: throw Unauthorized(problem.code, problem.detail);
    case 403: throw Forbidden(problem.code, problem.detail);
    case 404: throw NotFound(problem.code, problem.detail);
    case 409: throw Conflict(problem.code, problem.detail);
    case 422: throw Invalid(problem.code, problem.detail);
    default: throw Unavailable(problem.code, problem.detail);
  }
}

// A stream of another process, part by part: each asks for what comes behind the last. Once it
// has begun, a service that is away for a while only has nothing to tell: a browser that was
// refused would not come back by itself.
class RemoteStream {
 public:
  RemoteStream(ForwardingRouter::Ask ask, Request request) : ask_(std::move(ask)), request_(std::move(request)) {
    fetch();
  }
  std::string topic() const { return topic_; }

  std::optional<std::string> next() {
    if (!fetched_ && !ended_) fetch_if_it_answers();
    fetched_ = false;
    if (ended_ && part_.empty()) return std::nullopt;
    return std::exchange(part_, "");
  }

 private:
  void fetch_if_it_answers() {
    try {
      fetch();
    } catch (const Unavailable&) {
    } catch (const CommitUnknown&) {}
  }

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
    // What is fetched from here on is nobody's cause and would go on for ever.
    request_.traceparent = unsampled(request_.traceparent);
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
  doc.keyed = true;
  routes_.act(std::move(path), access, std::move(doc), ask_);
}

void ForwardingRouter::act(std::string path, Access access, Doc doc, Handler) {
  routes_.act(std::move(path), access, std::move(doc), ask_);
}

// The other process keeps the key.
void ForwardingRouter::act_once(Database&, std::string path, Access access, Doc doc, Handler) {
  doc.keyed = true;
  routes_.act(std::move(path), access, std::move(doc), ask_);
}

void ForwardingRouter::stream(std::string path, Access access, Doc doc, StreamHandler) {
  routes_.stream(std::move(path), access, std::move(doc), [ask = ask_](const Request& request) {
    const auto remote = std::make_shared<RemoteStream>(ask, request);
    return Stream{remote->topic(), [remote] { return remote->next(); }};
  });
}

}  // namespace skald::http
