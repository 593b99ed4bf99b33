#include "http/router.h"

#include <algorithm>

#include "base/text.h"
#include "http/error_pages.h"
#include "http/host.h"
#include "http/openapi.h"
#include "http/target.h"
#include "skald/id.h"
#include "skald/trace.h"

namespace skald::http {

struct Routes::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literal;
  std::unique_ptr<Node> named;
  std::map<std::string, const Route*, std::less<>> methods;
};

namespace {

constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};

bool is_json(std::string_view content_type) {
  const std::string type = lower_case(content_type.substr(0, content_type.find_first_of("; ")));
  return type == "application/json" || (type.starts_with("application/") && type.ends_with("+json"));
}

// What is wrong with the body of a write before anybody looks inside, if anything.
std::optional<Problem> body_problem(const Request& request) {
  if (request.body.empty()) return std::nullopt;
  const std::string_view type = request.header("content-type"), encoding = request.header("content-encoding");
  if (!type.empty() && !is_json(type))
    return Problem{415, "UNSUPPORTED_MEDIA_TYPE", "send JSON, as `Content-Type: application/json`", {}};
  if (!encoding.empty() && lower_case(encoding) != "identity")
    return Problem{415, "UNSUPPORTED_ENCODING", "send the body without Content-Encoding", {}};
  if (!is_utf8(request.body)) return Problem{400, "MALFORMED_UTF8", "the body is not UTF-8", {}};
  return std::nullopt;
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
}

// What a step gave, or what its failure means to the client and, as the cause, to the log.
struct Outcome {
  std::optional<Reply> reply;
  std::string cause, code;
};

template <class F>
Outcome settled(const Request& request, F&& step) {
  Outcome out;
  const auto fail = [&](const std::exception& error) {
    const Problem problem = problem_of(error);
    out.reply = Reply{problem_response(problem, request.request_id), std::nullopt};
    out.cause = error.what();
    out.code = problem.code;
  };
  try {
    out.reply = step();
  } catch (const std::exception& error) {
    fail(error);
  } catch (...) {
    fail(std::runtime_error("a handler threw what is no std::exception"));
  }
  return out;
}

void check_headers(const Response& response) {
  for (const auto& [name, value] : response.headers)
    if (has_control(value))
      throw Corrupt("BAD_RESPONSE_HEADER", "a handler set the header " + name + " to unsafe text");
}

void add_field(std::string& fields, std::string_view name, std::string_view value) {
  if (!fields.empty()) fields += ',';
  json::write_string(fields, name);
  fields += ':';
  json::write_string(fields, value);
}

}  // namespace

Routes::Routes(Env env, Authenticator authenticator, std::string program_version, double trace_ratio, Rates rates,
               Duration keys_kept)
    : env_(env),
      authenticator_(std::move(authenticator)),
      trace_ratio_(env.observer.traces() ? trace_ratio : 1),
      in_flight_(keys_kept),
      by_subject_(rates.per_subject),
      by_address_(rates.per_address),
      root_(std::make_unique<Node>()) {
  get("/openapi.json", Access::open, describe<void, RawJson>("This description"),
      [this, version = std::move(program_version)](const Request&) {
        return Response{200, openapi_document(routes_, version), "application/json", {}};
      });
  add_error_pages(*this);
}

Routes::~Routes() = default;

void Routes::get(std::string path, Access access, Doc doc, Handler handler) {
  add({"GET", std::move(path), access, std::move(doc), {}, std::move(handler)});
}

void Routes::write(std::string method, std::string path, Access access, Doc doc, WriteChoice choose) {
  doc.keyed = true;
  add({std::move(method), std::move(path), access, std::move(doc), {}, std::move(choose)});
}

void Routes::stream(std::string path, Access access, Doc doc, StreamHandler handler) {
  doc.content_type = "text/event-stream";
  add({"GET", std::move(path), access, std::move(doc), {}, std::move(handler)});
}

void Routes::act(std::string path, Access access, Doc doc, Handler handler) {
  add({"POST", std::move(path), access, std::move(doc), {}, std::move(handler)});
}

void Routes::act_once(Database& db, std::string path, Access access, Doc doc, Handler handler) {
  doc.keyed = true;
  add({"POST", std::move(path), access, std::move(doc), {}, KeyedAct{db, std::move(handler)}});
}

void Routes::add(Route route) {
  const auto refuse = [&](const std::string& why) {
    throw Invalid("BAD_ROUTE", "the route " + route.method + ' ' + route.path + ' ' + why);
  };
  if (route.path.empty() || route.path[0] != '/') refuse("must begin with '/'");
  if (std::ranges::find(kMethods, route.method) == std::end(kMethods)) refuse("has a method that is not served");
  Node* node = root_.get();
  std::string_view rest = std::string_view(route.path).substr(1);
  while (!rest.empty()) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
    if (segment.empty()) refuse("has an empty segment");
    const bool named = segment.front() == '{';
    if (named && (segment.back() != '}' || segment.size() < 3)) refuse("has a bad {name}");
    if (named) route.param_names.emplace_back(segment.substr(1, segment.size() - 2));
    auto& next = named ? node->named : node->literal[std::string(segment)];
    if (!next) next = std::make_unique<Node>();
    node = next.get();
  }
  if (node->methods.contains(route.method)) refuse("is registered twice");
  routes_.push_back(std::move(route));
  node->methods[routes_.back().method] = &routes_.back();
}

const Routes::Node* Routes::find(const Node& node, const std::vector<std::string>& segments, std::size_t depth,
                                 std::vector<std::string>& values) const {
  if (depth == segments.size()) return node.methods.empty() ? nullptr : &node;
  const std::string& segment = segments[depth];
  if (const auto literal = node.literal.find(segment); literal != node.literal.end())
    if (const Node* found = find(*literal->second, segments, depth + 1, values)) return found;
  if (!node.named || segment.empty()) return nullptr;
  values.push_back(segment);
  if (const Node* found = find(*node.named, segments, depth + 1, values)) return found;
  values.pop_back();
  return nullptr;
}

Reply Routes::answer(Passage passage) const { return answer(std::move(passage), nullptr); }
Response Routes::dispatch(Request request) const { return cut(answer({.request = std::move(request)})); }
Response Routes::dispatch_as(const Caller& caller, Request request) const {
  return cut(answer({.request = std::move(request)}, &caller));
}

std::optional<Response> Routes::admit(Passage& passage) const {
  begin(passage);
  Outcome outcome = settled(passage.request, [&] { return enter(passage, nullptr); });
  if (!outcome.reply) return std::nullopt;
  finish(passage, outcome.reply->response, outcome.cause, outcome.code);
  return std::move(outcome.reply->response);
}

Reply Routes::answer(Passage passage, const Caller* known) const {
  if (passage.admitted) passage.began = env_.clock.steady();  // how slowly its body came is not our doing
  else begin(passage, known != nullptr);
  Outcome outcome = settled(passage.request, [&] {
    std::optional<Reply> reply;
    if (!passage.admitted) reply = enter(passage, known);
    if (!reply) reply = run(*passage.route, passage.request);
    if (reply->stream) {
      reply->holder = holder_of(passage.request.caller);
      reply->until = passage.until;
    }
    check_headers(reply->response);
    return reply;
  });
  finish(passage, outcome.reply->response, outcome.cause, outcome.code);
  return std::move(*outcome.reply);
}

Response Routes::cut(Reply reply) {
  if (!reply.stream) return std::move(reply.response);
  try {
    const auto part = reply.stream->next();
    reply.response.headers["x-stream-topic"] = reply.stream->topic;
    if (!part) reply.response.headers["x-stream-ended"] = "true";
    reply.response.body = part.value_or("");
    return std::move(reply.response);
  } catch (const std::exception& error) {
    return problem_response(problem_of(error), reply.response.headers["x-request-id"]);
  }
}

Response Routes::refuse(Passage passage, const Problem& problem) const {
  if (!passage.admitted) begin(passage);
  passage.span.reset();
  Response response = problem_response(problem, passage.request.request_id);
  finish(passage, response, problem.detail, problem.code);
  return response;
}

// An address pays before its token is looked at, so that tokens cannot be guessed faster either.
// What is open is for probes, which must not be turned away.
std::optional<Reply> Routes::admit_caller(Passage& passage) const {
  Request& request = passage.request;
  const bool limited = passage.route->access != Access::open;
  const auto pay = [&](RateLimit& limit, const std::string& who) -> std::optional<Reply> {
    const auto wait = limited ? limit.take(who, passage.began) : std::nullopt;
    if (!wait) return std::nullopt;
    env_.observer.count("http_rate_limited_total");
    const auto seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(*wait).count());
    return Reply{
        problem_response({429, "RATE_LIMITED", "too many requests; send fewer a second", seconds}, request.request_id),
        std::nullopt};
  };
  if (!request.peer.empty())
    if (auto refusal = pay(by_address_, request.peer)) return refusal;
  Admitted caller = authenticator_.admit(request, passage.route->access);
  passage.until = caller.until;
  request.caller = std::move(caller);
  return pay(by_subject_, holder_of(request.caller));
}

std::optional<Reply> Routes::enter(Passage& passage, const Caller* known) const {
  Request& request = passage.request;
  Target target = parse_target(request.path);
  request.path = target.path;
  request.query.merge(target.query);

  std::vector<std::string> values;
  const Node* node = find(*root_, target.segments, 0, values);
  if (node == nullptr)
    throw NotFound("UNKNOWN_PATH", "there is nothing at this path; /openapi.json lists what there is");
  const auto found = node->methods.find(request.method == "HEAD" ? "GET" : request.method);
  if (found == node->methods.end()) {
    std::string allow;
    for (const auto& [method, route] : node->methods) allow += (allow.empty() ? "" : ", ") + method;
    if (node->methods.contains("GET")) allow += ", HEAD";
    Response response =
        problem_response({405, "METHOD_NOT_ALLOWED", "this path takes " + allow, {}}, request.request_id);
    response.headers["allow"] = allow;
    return Reply{std::move(response), std::nullopt};
  }

  const Route& route = *found->second;
  passage.route = &route;
  for (std::size_t i = 0; i < values.size(); ++i) request.params[route.param_names[i]] = std::move(values[i]);
  if (known != nullptr) Authenticator::admit(request.caller = *known, route.access);
  else if (auto refusal = admit_caller(passage)) return refusal;
  check_filters(route, request);
  passage.admitted = true;
  return std::nullopt;
}

// A filter that nobody looks at would give more than was asked for, and nobody would notice. What is
// open is asked by probes, which add what they like.
void Routes::check_filters(const Route& route, const Request& request) {
  if (route.access == Access::open) return;
  std::vector<std::string> known = route.doc.query;
  if (route.doc.paged)
    for (const char* name : {"limit", "cursor"}) known.emplace_back(name);
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string names;
    for (const std::string& one : known) names += (names.empty() ? "" : ", ") + one;
    throw Invalid("UNKNOWN_FILTER", "this path does not know " + cut_text(name, 100) + " in its query; it takes " +
                                        (names.empty() ? "none" : names));
  }
}

Reply Routes::run(const Route& route, const Request& request) const {
  if (const auto* handler = std::get_if<StreamHandler>(&route.target)) {
    // Before the rest: GCC 12 destroys the parts of a braced list twice where a later one throws.
    Stream stream = (*handler)(request);
    return {{200, "", "text/event-stream", {}}, std::move(stream)};
  }
  if (route.method != "GET")
    if (const auto problem = body_problem(request))
      return {problem_response(*problem, request.request_id), std::nullopt};
  if (const auto* handler = std::get_if<Handler>(&route.target)) return {(*handler)(request), std::nullopt};
  if (const auto* act = std::get_if<KeyedAct>(&route.target))
    return {act_once_per_key(act->db, in_flight_, env_, request, act->handler), std::nullopt};
  const WriteTarget target = std::get<WriteChoice>(route.target)(request);
  if (target.prepare && !remembers(target.db, request)) target.prepare(request);
  return {run_once_per_key(target.db, in_flight_, request, target.handler), std::nullopt};
}

void Routes::begin(Passage& passage, bool vouched_for) const {
  Request& request = passage.request;
  passage.began = env_.clock.steady();
  const std::string_view known_as = request.header("x-request-id");
  request.request_id = vouched_for && is_id(known_as) ? std::string(known_as) : make_id(env_.clock.now(), env_.random);
  const std::string_view context = request.header("traceparent");
  request.traceparent = continue_trace(context, env_.random, trace_ratio_);
  passage.span = begin_span_as(env_, request.traceparent, context, Span::Kind::server);
}

// Probes and scrapes (what needs no token) begin no traces: they would be most of them.
void Routes::trace(Passage& passage, int status, std::string_view cause) const {
  if (!passage.span) return;
  Span& span = *passage.span;
  const Request& request = passage.request;
  const Route* route = passage.route;
  if (span.parent_id.empty() && route != nullptr && route->access == Access::open) return;
  const bool known = std::ranges::find(kMethods, request.method) != std::end(kMethods) || request.method == "HEAD";
  span.name = known ? request.method : "HTTP";
  if (route != nullptr) span.name += ' ' + route->path;
  span.attributes = {{"http.request.method", known ? request.method : "_OTHER"},
                     {"http.response.status_code", std::int64_t{status}},
                     {"skald.request_id", request.request_id}};
  if (route != nullptr) span.attributes.push_back({"http.route", route->path});
  if (status >= 500) end_failed_span(env_, span, std::string(cause));
  else end_span(env_, span);
}

// Somebody may be trying keys: told, and not so often that it drowns the rest.
void Routes::tell_turned_away(const Request& request, int status, std::string_view code) const {
  env_.observer.count(status == 401 ? "http_unauthorized_total" : "http_forbidden_total");
  const auto unlogged = turned_away_.pass(env_.clock.steady());
  if (!unlogged) return;
  std::string fields;
  add_field(fields, "requestId", request.request_id);
  add_field(fields, "code", code);
  add_field(fields, "peer", request.peer);
  add_field(fields, "method", cut_text(request.method, 16));
  add_field(fields, "path", cut_text(request.path.substr(0, request.path.find('?')), 256));
  if (*unlogged > 0) fields += ",\"unlogged\":" + std::to_string(*unlogged);
  env_.observer.log(Observer::Level::warn, "a request was turned away", fields);
}

void Routes::finish(Passage& passage, Response& response, std::string_view cause, std::string_view code) const {
  const Request& request = passage.request;
  response.headers["traceparent"] = request.traceparent;
  response.headers["x-request-id"] = request.request_id;
  response.headers.try_emplace("cache-control", "no-store");
  response.headers.try_emplace("x-content-type-options", "nosniff");

  const Duration took = env_.clock.steady() - passage.began;
  env_.observer.count("http_requests_total");
  env_.observer.timing("http_request_seconds", took);
  const bool failed = response.status >= 500;
  if (failed) env_.observer.count("http_server_errors_total");

  std::string fields;
  add_field(fields, "requestId", request.request_id);
  add_field(fields, "traceId", trace_id(request.traceparent));
  add_field(fields, "method", cut_text(request.method, 16));
  add_field(fields, "path", cut_text(request.path.substr(0, request.path.find('?')), 256));
  fields += ",\"status\":" + std::to_string(response.status) + ",\"micros\":" + std::to_string(took.count());
  if (failed) add_field(fields, "cause", cut_text(cause, 1000));
  env_.observer.log(failed ? Observer::Level::warn : Observer::Level::debug, "http request", fields);
  if (response.status == 401 || response.status == 403) tell_turned_away(request, response.status, code);
  trace(passage, response.status, cause);
}

}  // namespace skald::http
