#include "http/remote_call.h"

#include "base/edition.h"
#include "base/text.h"
#include "skald/id.h"

namespace skald::http {
namespace {

// The version of both (edition.h). The first one is not said: its first programs read strictly.
constexpr int kKnown = 1;

struct Call {
  std::optional<int> version = {};
  std::string method, path;
  std::map<std::string, std::string> query, headers;
  std::string body;
  Role role = Role::customer;
  std::string subject, traceparent;
};
BOOST_DESCRIBE_STRUCT(Call, (), (version, method, path, query, headers, body, role, subject, traceparent))

struct Answer {
  std::optional<int> version = {};
  int status = 0;
  std::string content_type;
  std::map<std::string, std::string> headers;
  std::string body;
};
BOOST_DESCRIBE_STRUCT(Answer, (), (version, status, content_type, headers, body))

// What the other side's handlers look at. Tokens stay here: the caller is named.
constexpr std::string_view kCarried[] = {"idempotency-key", "content-type", "last-event-id"};

// The id under which the client sees it: the other side logs it under the same.
constexpr const char* kRequestId = "x-request-id";

// JSON carries nothing else, and the other side would blame the wrong one.
std::string carried(std::string_view what, std::string_view text) {
  if (!is_utf8(text) || text.find('\0') != text.npos)
    throw Malformed("MALFORMED_UTF8", std::string(what) + " is not UTF-8, or contains NUL");
  return std::string(text);
}

}  // namespace

std::string_view trace_of(const Request& request) {
  return request.traceparent.empty() ? request.header("traceparent") : std::string_view(request.traceparent);
}

std::string write_call(const Request& request, std::string_view traceparent) {
  Call call{{}, request.method,      request.path,           request.query,           {},
            {}, request.caller.role, request.caller.subject, std::string(traceparent)};
  // Who reads looks at no body; whatever it is need not travel.
  if (request.method != "GET" && request.method != "HEAD") call.body = carried("the body", request.body);
  for (const std::string_view name : kCarried)
    if (const auto value = request.header(name); !value.empty())
      call.headers.emplace(name, carried("the header " + std::string(name), value));
  // A request that went through no routes has it where clients would.
  if (!request.request_id.empty()) call.headers.emplace(kRequestId, request.request_id);
  else if (const auto value = request.header(kRequestId); is_id(value)) call.headers.emplace(kRequestId, value);
  return to_json(call);
}

Request read_call(std::string_view text) {
  auto call = read_edition<Call>(text, "a question of another process", kKnown);
  Request request;
  request.method = std::move(call.method);
  request.path = std::move(call.path);
  request.query = std::move(call.query);
  request.headers.insert(call.headers.begin(), call.headers.end());
  request.headers["traceparent"] = std::move(call.traceparent);
  request.body = std::move(call.body);
  request.caller = {call.role, std::move(call.subject)};
  return request;
}

std::string write_answer(const Response& response) {
  return to_json(Answer{{}, response.status, response.content_type, response.headers, response.body});
}

Response read_answer(std::string_view text) {
  auto answer = read_edition<Answer>(text, "an answer of another process", kKnown);
  return {answer.status, std::move(answer.body), std::move(answer.content_type), std::move(answer.headers)};
}

}  // namespace skald::http
