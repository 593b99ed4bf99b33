// The order service as a process of its own that ends where a test says: the program's
// own parts, over a database that can kill. Prints its address when it listens.
//   skald_order_process '{"database":"…","provider":"…"}'
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <iostream>

#include "crash/lethal_database.h"
#include "crash/poison_paths.h"
#include "http/engine_paths.h"
#include "http/idempotency.h"
#include "http/server.h"
#include "observe/program_observer.h"
#include "order/order.h"
#include "runtime/signals.h"
#include "runtime/wakeup.h"
#include "runtime/worker_pool.h"

namespace skald::crash {
namespace {

std::unique_ptr<Database> open(Env env, const std::string& address) {
  if (address.starts_with("postgres")) return open_postgres(env, {.url = address, .connections = 8});
  // What was written survives the process without a sync; the machine does not die here.
  return open_sqlite(env, {.path = address, .full_sync = false, .readers = 2});
}

EngineOptions engine_options(const ProcessOptions& options) {
  EngineOptions out;
  out.outbox.lease = std::chrono::milliseconds(options.lease_ms);
  out.outbox.beat = std::chrono::milliseconds(options.beat_ms);
  out.record_history = true;
  out.crash_notes = options.crash_notes;
  return out;
}

void add_test_paths(http::Routes& routes, Fate& fate) {
  routes.act("/test/doom", Access::open, describe<Doom, Commits>("End at this commit"),
             [&fate](const Request& request) {
               fate.expect(request.as<Doom>());
               return Response::json(200, fate.commits());
             });
  routes.get("/test/commits", Access::open, describe<void, Commits>("What was committed since then"),
             [&fate](const Request&) { return Response::json(200, fate.commits()); });
}

int serve(const ProcessOptions& options) {
  runtime::StopSignals signals;
  const auto clock = system_clock();
  const auto random = system_random();
  Metrics metrics;
  JsonLog log(*clock, Observer::Level::critical);
  ProgramObserver observer(metrics, log);
  const Env env{*clock, *random, observer};
  Fate fate(options.doom);
  LethalDatabase db(open(env, options.database), fate);
  Engine engine(env, db, engine_options(options));
  http::migrate_api_keys(db);
  http::Routes routes(env, http::Authenticator(env, std::nullopt), "test");
  http::add_engine_paths(routes, {env, {{"order", engine}}, metrics});
  order::install(engine, routes, env,
                 {.provider = options.provider,
                  .call_timeout = std::chrono::milliseconds(options.call_timeout_ms),
                  .pause = [](Duration time) { runtime::Wakeup().wait(time); }});
  add_test_paths(routes, fate);
  add_poison_paths(routes, engine);
  http::Publisher publisher;
  runtime::WorkerPool handlers(8);
  http::ServerOptions listening;
  listening.port = 0;
  http::Server server(env, listening, routes, publisher,
                      [&handlers](std::function<void()> job) { handlers.post(std::move(job)); });
  engine.start();
  runtime::WorkerPool network(1);
  network.post([&server] { server.run(); });
  std::cout << "http://127.0.0.1:" << server.port() << std::endl;
  while (!signals.wait(1h)) {}
  server.stop(1s);
  engine.stop(4s);
  return 0;
}

}  // namespace
}  // namespace skald::crash

int main(int count, char** words) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left behind by a test that is broken off
  constexpr rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);  // it is meant to crash
  if (count != 2) return 2;
  try {
    return skald::crash::serve(skald::from_json<skald::crash::ProcessOptions>(words[1]));
  } catch (const std::exception& error) {
    std::cerr << "skald_order_process: " << error.what() << "\n";
    return 1;
  }
}
