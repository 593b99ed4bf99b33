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
#include "http/rate_limit.h"
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
  std::string holder = {};         // whose stream it is, as holder_of() says
  std::optional<Time> until = {};  // the stream ends with its caller's token
};

// Requests a second, to what needs a token. 0: no limit.
struct Rates {
  std::int64_t per_subject = 0, per_address = 0;
};

// A request on its way, and what is known of it so far.
struct Passage {
  Request request = {};
  Instant began = {};
  std::optional<Span> span = {};
  const Route* route = nullptr;
  bool admitted = false;           // the caller may call that route
  std::optional<Time> until = {};  // the end of the caller's token
};

class Routes final : public Router {
 public:
  // Registers GET /openapi.json and the pages of error codes by itself. Of requests that bring no trace context the share
  // `trace_ratio` is traced, where anybody wants to hear of spans. Idempotency-Keys are kept for `keys_kept`.
  Routes(Env env, Authenticator authenticator, std::string program_version, double trace_ratio = 1, Rates rates = {},
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
  Reply answer(Passage passage) const;

  // The same in two parts, for a request whose body has yet to come: whether there is such a
  // route, and whether the caller may call it, can be seen by the head. Gives the refusal; without
  // one, answer() goes on where this has ended.
  std::optional<Response> admit(Passage& passage) const;

  // The same for callers that cannot stream: a stream is cut after its first part, and says in
  // x-stream-topic when to look again, in x-stream-ended that it has ended.
  Response dispatch(Request request) const;
  // For a caller whom another part of the program vouches for: no token is looked at, and an id
  // that the request has in x-request-id stays its id.
  Response dispatch_as(const Caller& caller, Request request) const;

  // The answer to what the server refuses before it is a request (too large, too
  // slow, …), with the same headers, metrics and log as any other.
  Response refuse(Passage passage, const Problem& problem) const;

  const std::deque<Route>& all() const { return routes_; }

 private:
  struct Node;
  void add(Route route);
  const Node* find(const Node& node, const std::vector<std::string>& segments, std::size_t depth,
                   std::vector<std::string>& values) const;
  Reply answer(Passage passage, const Caller* known) const;
  static Response cut(Reply reply);
  void begin(Passage& passage, bool vouched_for = false) const;
  std::optional<Reply> enter(Passage& passage, const Caller* known) const;
  std::optional<Reply> admit_caller(Passage& passage) const;
  static void check_filters(const Route& route, const Request& request);
  Reply run(const Route& route, const Request& request) const;
  void finish(Passage& passage, Response& response, std::string_view cause, std::string_view code) const;
  void tell_turned_away(const Request& request, int status, std::string_view code) const;
  void trace(Passage& passage, int status, std::string_view cause) const;

  Env env_;
  Authenticator authenticator_;
  double trace_ratio_;
  std::deque<Route> routes_;
  mutable InFlight in_flight_;  // thread safe, as the next ones are
  mutable RateLimit by_subject_, by_address_;
  mutable LogGate turned_away_;
  std::unique_ptr<Node> root_;
};

}  // namespace skald::http
