#include "http/router.h"

#include <algorithm>

#include "base/text.h"
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

void add_field(std::string& fields, std::string_view name, std::string_view value) {
  if (!fields.empty()) fields += ',';
  json::write_string(fields, name);
  fields += ':';
  json::write_string(fields, value);
}

}  // namespace

Routes::Routes(Env env, Authenticator authenticator, std::string program_version, double trace_ratio,
               Duration keys_kept)
    : env_(env),
      authenticator_(std::move(authenticator)),
      trace_ratio_(env.observer.traces() ? trace_ratio : 1),
      in_flight_(keys_kept),
      root_(std::make_unique<Node>()) {
  get("/openapi.json", Access::open, describe<void, RawJson>("This description"),
      [this, version = std::move(program_version)](const Request&) {
        return Response{200, openapi_document(routes_, version), "application/json", {}};
      });
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

Reply Routes::answer(Request request) const { return answer(std::move(request), nullptr); }
Response Routes::dispatch(Request request) const { return cut(answer(std::move(request))); }
Response Routes::dispatch_as(const Caller& caller, Request request) const {
  return cut(answer(std::move(request), &caller));
}

Reply Routes::answer(Request request, const Caller* known) const {
  const Instant began = env_.clock.steady();
  introduce(request);
  auto span = begin_span_as(env_, request.traceparent, request.header("traceparent"), Span::Kind::server);
  Reply reply;
  std::string cause;
  const Route* route = nullptr;
  try {
    reply = handle(request, known, route);
    for (const auto& [name, value] : reply.response.headers)
      if (has_control(value))
        throw Corrupt("BAD_RESPONSE_HEADER", "a handler set the header " + name + " to unsafe text");
  } catch (const std::exception& error) {
    reply = {problem_response(problem_of(error), request.request_id), std::nullopt};
    cause = error.what();
  } catch (...) {
    const std::runtime_error foreign("a handler threw what is no std::exception");
    reply = {problem_response(problem_of(foreign), request.request_id), std::nullopt};
    cause = foreign.what();
  }
  finish(request, reply.response, began, cause);
  if (span) trace(*span, request, route, reply.response.status, cause);
  return reply;
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

Response Routes::refuse(Request request, const Problem& problem) const {
  const Instant began = env_.clock.steady();
  introduce(request);
  Response response = problem_response(problem, request.request_id);
  finish(request, response, began, problem.detail);
  return response;
}

Reply Routes::handle(Request& request, const Caller* known, const Route*& chosen) const {
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
    return {std::move(response), std::nullopt};
  }

  const Route& route = *found->second;
  chosen = &route;
  for (std::size_t i = 0; i < values.size(); ++i) request.params[route.param_names[i]] = std::move(values[i]);
  if (known != nullptr) Authenticator::admit(request.caller = *known, route.access);
  else request.caller = authenticator_.admit(request, route.access);
  check_filters(route, request);
  return run(route, request);
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

void Routes::introduce(Request& request) const {
  request.request_id = make_id(env_.clock.now(), env_.random);
  request.traceparent = continue_trace(request.header("traceparent"), env_.random, trace_ratio_);
}

// Probes and scrapes (what needs no token) begin no traces: they would be most of them.
void Routes::trace(Span& span, const Request& request, const Route* route, int status, std::string_view cause) const {
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

void Routes::finish(const Request& request, Response& response, Instant began, std::string_view cause) const {
  response.headers["traceparent"] = request.traceparent;
  response.headers["x-request-id"] = request.request_id;
  response.headers.try_emplace("cache-control", "no-store");
  response.headers.try_emplace("x-content-type-options", "nosniff");

  const Duration took = env_.clock.steady() - began;
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
}

}  // namespace skald::http
