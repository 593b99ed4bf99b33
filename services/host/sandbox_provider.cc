// skald sandbox-provider
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/data_folder.h"
#include "host/listening.h"
#include "host/program.h"
#include "http/idempotency.h"
#include "order/sandbox.h"
#include "runtime/signals.h"
#include "runtime/wakeup.h"
#include "runtime/worker_pool.h"

namespace skald::host {
namespace {

constexpr std::chrono::seconds kProviderStopMax = 5s;
constexpr Duration kPredecessorMax = 5s;

// The provider of a server that has just died may still be ending.
std::unique_ptr<Database> open_books(Env env, const cli::Settings& settings) {
  if (settings.text("db") == "memory:") return open_sqlite(env, {.path = ":memory:"});
  const std::filesystem::path folder = settings.text("data");
  cli::DataFolder(folder.string()).create();
  const Instant end = env.clock.steady() + kPredecessorMax;
  for (;;) {
    try {
      return open_sqlite(env, {.path = (folder / "sandbox-provider.db").string()});
    } catch (const Error& error) {
      if (error.code() != "DATABASE_IN_USE" || env.clock.steady() > end) throw;
    }
    runtime::Wakeup().wait(20ms);
  }
}

}  // namespace

int sandbox_provider(Program& program) {
  const http::ServerOptions options = server_options(program.settings);
  runtime::StopSignals signals;
  program.log.set_lowest(log_level(program.settings));
  const auto books = open_books(program.env, program.settings);
  http::migrate_api_keys(*books);
  http::Routes routes(program.env, http::Authenticator(program.env, std::nullopt), SKALD_VERSION);
  order::install_sandbox(*books, routes, program.env, [](Duration time) { runtime::Wakeup().wait(time); });
  http::Publisher publisher;
  runtime::WorkerPool handlers(static_cast<std::size_t>(program.settings.integer("http.threads")));
  http::Server server(program.env, options, routes, publisher,
                      [&handlers](std::function<void()> job) { handlers.post(std::move(job)); });
  runtime::WorkerPool network(1);
  network.post([&server] { server.run(); });
  std::cout << "http://" << local_address(options, server.port()) << std::endl;
  while (!signals.wait(1h)) {}
  runtime::end_process_after(kProviderStopMax);
  server.stop(1s);
  return cli::kDone;
}

}  // namespace skald::host
