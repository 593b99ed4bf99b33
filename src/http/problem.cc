#include "http/problem.h"

#include <algorithm>

#include "base/text.h"

namespace skald::http {
namespace {

constexpr std::size_t kDetailBytesMax = 1000;

struct Body {
  std::string type, title;
  int status = 0;
  std::string detail, code, instance;
  std::optional<int> retry_after_seconds;
};
BOOST_DESCRIBE_STRUCT(Body, (), (type, title, status, detail, code, instance, retry_after_seconds))

int whole_seconds(std::optional<std::chrono::milliseconds> time) {
  if (!time) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(*time).count(), 1, 86'400));
}

template <class E>
const E* as(const std::exception& error) {
  return dynamic_cast<const E*>(&error);
}

}  // namespace

std::string_view status_title(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    default: return "";
  }
}

Problem problem_of(const std::exception& error) {
  const auto* ours = as<Error>(error);
  if (ours == nullptr) return {500, "INTERNAL", "the server failed; its log has the cause under this instance", {}};
  const auto with = [&](int status, std::optional<int> after = std::nullopt) {
    return Problem{status, ours->code(), ours->what(), after, ours->members()};
  };
  if (as<Malformed>(error)) return with(400);
  if (as<Invalid>(error)) return with(422);
  if (as<Unauthorized>(error)) return with(401);
  if (as<Forbidden>(error)) return with(403);
  if (as<NotFound>(error)) return with(404);
  if (as<Conflict>(error) || as<Stale>(error) || as<Refused>(error)) return with(409);
  if (const auto* busy = as<Busy>(error)) return with(409, whole_seconds(busy->retry_after));
  if (as<LockTimeout>(error)) return with(409, 1);
  if (as<Unavailable>(error))
    return {503, ours->code(), "the server cannot do this now and has done nothing; send it again later", 1};
  if (as<CommitUnknown>(error))
    return {503, ours->code(),
            "it is not known yet whether this took effect; send it again with the same Idempotency-Key", 1};
  return {500, ours->code(), "the server failed; its log has the cause under this instance", {}};
}

Response problem_response(const Problem& problem, std::string_view request_id) {
  const Body body{"/docs/errors/" + problem.code,
                  std::string(status_title(problem.status)),
                  problem.status,
                  cut_text(problem.detail, kDetailBytesMax),
                  problem.code,
                  std::string(request_id),
                  problem.retry_after_seconds};
  Response response{problem.status, to_json(body), "application/problem+json", {}};
  if (!problem.members.empty()) response.body.insert(response.body.size() - 1, "," + problem.members);
  if (problem.retry_after_seconds) response.headers["retry-after"] = std::to_string(*problem.retry_after_seconds);
  if (problem.status == 401) response.headers["www-authenticate"] = "Bearer";
  return response;
}

}  // namespace skald::http
