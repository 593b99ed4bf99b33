// The paths of a service that runs elsewhere: registered here as there, with the same access
// and the same documentation, and answered by whoever `ask` reaches.
//
//   ForwardingRouter router(routes, ask);
//   booking::install(engine_that_is_never_started, router, env, options);
//
// The handlers are not called: a service is installed on an engine in memory for what it
// registers. So the gateway knows every path without a second list of them.
#pragma once

#include <functional>

#include "skald/http.h"

namespace skald::http {

class ForwardingRouter final : public Router {
 public:
  // Carries a request, its caller known, to the other process. Throws Unavailable, CommitUnknown.
  using Ask = std::function<Response(const Request&)>;

  // `routes` outlives it and gets the routes.
  ForwardingRouter(Router& routes, Ask ask) : routes_(routes), ask_(std::move(ask)) {}

  void get(std::string path, Access access, Doc doc, Handler handler) override;
  using Router::write;
  void write(std::string method, std::string path, Access access, Doc doc, WriteChoice choose) override;
  void stream(std::string path, Access access, Doc doc, StreamHandler handler) override;
  void act(std::string path, Access access, Doc doc, Handler handler) override;
  void act_once(Database& db, std::string path, Access access, Doc doc, Handler handler) override;

 private:
  Router& routes_;
  Ask ask_;
};

}  // namespace skald::http
