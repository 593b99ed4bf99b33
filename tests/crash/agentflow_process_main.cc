// The agentflow service as a process of its own that ends where a test says, with real git and real agents. Prints its
// address when it listens.
//   skald_agentflow_process '{"database":"…","folder":"…","supervisor":"…",…}'
#include <signal.h>
#include <sys/prctl.h>

#include <iostream>

#include "agentflow/agentflow.h"
#include "crash/agentflow_doom.h"
#include "crash/lethal_database.h"
#include "http/engine_paths.h"
#include "http/idempotency.h"
#include "http/server.h"
#include "observe/program_observer.h"
#include "outside/witnessed.h"
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

EngineOptions engine_options(const FlowProcessOptions& options) {
  EngineOptions out;
  out.outbox.lease = std::chrono::milliseconds(options.lease_ms);
  out.outbox.beat = std::chrono::milliseconds(options.beat_ms);
  out.outbox.backoff_first = 50ms;
  out.crash_notes = options.crash_notes;
  return out;
}

// Also a call that fails has an end at which one can die.
test::Witness lethal(Fate& fate) {
  return [&fate](std::string_view call) -> std::shared_ptr<void> {
    const Moment moment = fate.meet(call);
    if (moment == Moment::before) Fate::die();
    if (moment != Moment::after) return nullptr;
    return {nullptr, [](void*) { Fate::die(); }};
  };
}

agentflow::Options service_options(Env env, const FlowProcessOptions& options, Fate& fate) {
  return {.folder = options.folder,
          .repositories = test::witnessed(agentflow::git_repositories(env, 60s), lethal(fate)),
          .agents = test::witnessed(
              agentflow::supervised_agents(env.clock, options.folder + "/runs", {options.supervisor, "agent-run"}),
              lethal(fate)),
          .presets = {},
          .variables = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}},
          .ports = {24'100, 24'115},  // few enough that workflows which keep theirs leave none
          .is_port_free = [](int) { return true; },
          .greet_mcp_servers = false,
          .pause = [](Duration time) { runtime::Wakeup().wait(time); }};
}

void add_test_paths(http::Routes& routes, Fate& fate) {
  routes.act("/test/doom", Access::open, describe<Doom, Commits>("End there"), [&fate](const Request& request) {
    fate.expect(request.as<Doom>());
    return Response::json(200, fate.commits());
  });
  routes.get("/test/commits", Access::open, describe<void, Commits>("What was committed and done since then"),
             [&fate](const Request&) { return Response::json(200, fate.commits()); });
}

int serve(const FlowProcessOptions& options) {
  runtime::StopSignals signals;
  const auto clock = system_clock();
  const auto random = system_random();
  Metrics metrics;
  JsonLog log(*clock, Observer::Level::critical);
  ProgramObserver observer(metrics, log);
  const Env env{*clock, *random, observer};
  Fate fate(options.doom);
  LethalDatabase db(open(env, options.database), fate);
  std::shared_ptr<void> installed;  // outlives the engine's threads
  Engine engine(env, db, engine_options(options));
  http::migrate_api_keys(db);
  http::Routes routes(env, http::Authenticator(env, std::nullopt), "test");
  http::add_engine_paths(routes, {env, {{"agentflow", engine}}, metrics});
  installed = agentflow::install(engine, routes, env, service_options(env, options, fate));
  add_test_paths(routes, fate);
  http::Publisher publisher;
  runtime::WorkerPool handlers(4);
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
  if (count != 2) return 2;
  try {
    return skald::crash::serve(skald::from_json<skald::crash::FlowProcessOptions>(words[1]));
  } catch (const std::exception& error) {
    std::cerr << "skald_agentflow_process: " << error.what() << "\n";
    return 1;
  }
}
