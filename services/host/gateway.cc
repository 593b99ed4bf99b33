#include "host/gateway.h"

#include "booking/booking.h"
#include "course/course.h"
#include "http/forwarding_router.h"
#include "notify/notify.h"
#include "skald/engine.h"

namespace skald::host {
namespace {

constexpr Duration kReadyTimeout = 1s;

// A service is installed for what it says of its paths. Its handlers are never called, so
// nothing of what they would need is kept.
void add_paths(Env env, const std::string& service, Router& router) {
  const auto db = open_sqlite(env, {.path = ":memory:"});
  Engine engine(env, *db, {.works = false});
  if (service == "booking") booking::install(engine, router, env, {});
  else if (service == "course") course::install(engine, router, env, {.pause = [](Duration) {}});
  else if (service == "notify") notify::install(engine, router, env, {});
  else throw Invalid("BAD_SETTING", "the service " + service + " cannot be asked from another process");
}

bool is_ready(const Asking::Ask& ask) {
  Request request;
  request.method = "GET";
  request.path = "/readyz";
  request.caller = {.role = Role::system, .subject = "user-api"};
  try {
    return ask(request).status == 200;
  } catch (const Unavailable&) {
    return false;
  }
}

}  // namespace

Gateway::Gateway(Env env, Asking& asking, std::span<const std::string> services, http::Routes& routes) {
  for (const std::string& service : services) {
    http::ForwardingRouter router(routes, asking.remote_service(service));
    add_paths(env, service, router);
    services_.push_back({service, asking.remote_service(service), asking.remote_service(service, kReadyTimeout)});
  }
}

std::string Gateway::missing() const {
  std::string out;
  for (const Service& service : services_)
    if (!is_ready(service.ask_briefly)) out += (out.empty() ? "" : ", ") + service.name;
  return out.empty() ? out : out + ": not ready, or gives no answer over NATS";
}

std::vector<http::StorySource> Gateway::stories() const {
  std::vector<http::StorySource> out;
  for (const Service& service : services_) out.push_back(http::story_of(service.name, service.ask));
  return out;
}

}  // namespace skald::host
