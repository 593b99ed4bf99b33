// The routes of a server, and the way of a request through them: authentication,
// look-up, handler, problem+json, trace and request ids, metrics, log. Needs no
// network: tests and the CLI call dispatch() in-process.
//
// Thread safety: routes are registered before the first request; from then on
// answer(), dispatch() and refuse() may be called from any thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "http/auth.h"
#include "http/idempotency.h"
#include "http/problem.h"
#include "skald/http.h"
#include "skald/trace.h"

namespace skald::http {

// What act_once() registers.
struct KeyedAct {
  Database& db;
  Handler handler;
};

struct Route {
  std::string method;
  std::string path;                      // "/donation/donations/{requestId}"
  Access access;
  Doc doc;
  std::vector<std::string> param_names;  // in order
  std::variant<Handler, WriteChoice, StreamHandler, KeyedAct> target;
};

// A response, or the head of a stream that goes on.
struct Reply {
  Response response;
  std::optional<Stream> stream;
};

class Routes final : public Router {
 public:
  // Registers GET /openapi.json by itself. Of requests that bring no trace context the share
  // `trace_ratio` is traced, where anybody wants to hear of spans. Idempotency-Keys are kept for `keys_kept`.
  Routes(Env env, Authenticator authenticator, std::string program_version, double trace_ratio = 1,
         Duration keys_kept = kApiKeyKept);
  ~Routes() override;

  void get(std::string path, Access access, Doc doc, Handler handler) override;
  using Router::write;
  void write(std::string method, std::string path, Access access, Doc doc, WriteChoice choose) override;
  void stream(std::string path, Access access, Doc doc, StreamHandler handler) override;
  void act(std::string path, Access access, Doc doc, Handler handler) override;
  void act_once(Database& db, std::string path, Access access, Doc doc, Handler handler) override;

  // Answers a request as it came: `path` may be a whole target with its query;
  // params, caller, traceparent and request_id are filled in here. Every failure
  // is an answer.
  Reply answer(Request request) const;

  // The same for callers that cannot stream: a stream is cut after its first part, and says in
  // x-stream-topic when to look again, in x-stream-ended that it has ended.
  Response dispatch(Request request) const;
  // For a caller whom another part of the program vouches for: no token is looked at.
  Response dispatch_as(const Caller& caller, Request request) const;

  // The answer to what the server refuses before it is a request (too large, too
  // slow, …), with the same headers, metrics and log as any other.
  Response refuse(Request request, const Problem& problem) const;

  const std::deque<Route>& all() const { return routes_; }

 private:
  struct Node;
  void add(Route route);
  const Node* find(const Node& node, const std::vector<std::string>& segments, std::size_t depth,
                   std::vector<std::string>& values) const;
  Reply answer(Request request, const Caller* known) const;
  static Response cut(Reply reply);
  Reply handle(Request& request, const Caller* known, const Route*& chosen) const;
  static void check_filters(const Route& route, const Request& request);
  Reply run(const Route& route, const Request& request) const;
  void introduce(Request& request) const;
  void finish(const Request& request, Response& response, Instant began, std::string_view cause) const;
  void trace(Span& span, const Request& request, const Route* route, int status, std::string_view cause) const;

  Env env_;
  Authenticator authenticator_;
  double trace_ratio_;
  std::deque<Route> routes_;
  mutable InFlight in_flight_;  // thread safe
  std::unique_ptr<Node> root_;
};

}  // namespace skald::http
