// skald serve
#include <unistd.h>

#include "cli/command.h"
#include "cli/data_folder.h"
#include "host/descriptors.h"
#include "host/installation.h"
#include "host/listening.h"
#include "host/program.h"
#include "host/span_export.h"
#include "http/engine_paths.h"
#include "http/server.h"
#include "runtime/signals.h"
#include "runtime/worker_pool.h"

namespace skald::host {
namespace {

constexpr std::chrono::seconds kServeStopMax = 10s;      // then the process ends, come what may
constexpr Duration kRequestsGrace = 4s;
constexpr Duration kEngineGrace = 4s;

void tell(const Program& program, const Installation& installation, const std::string& address) {
  const cli::Settings& settings = program.settings;
  Observer& observer = program.env.observer;
  for (const std::string& warning : program.warnings) observer.log(Observer::Level::warn, warning);
  const std::string webhook = settings.shown("donation.webhook");
  observer.log(Observer::Level::info, "serving",
               fields({{"address", "http://" + address},
                       {"database", installation.has_database() ? shown_database(settings) : "none"},
                       {"services", settings.text("services")},
                       {"bus", settings.shown("bus")},
                       {"webhook", webhook.empty() ? "none" : webhook},
                       {"version", SKALD_VERSION}}));
  if (settings.text("auth.secret").empty())
    observer.log(
        Observer::Level::warn,
        "no auth.secret is configured: a request without a token counts as admin, so only loopback is listened on");
  else observer.log(Observer::Level::info, "every request needs a token; `skald token` makes one");
}

}  // namespace

int serve(Program& program) {
  http::ServerOptions options = server_options(program.settings);
  runtime::StopSignals signals;
  program.log.set_lowest(log_level(program.settings));
  fit_connections(raise_descriptor_limit(), program.env.observer, program.settings, options);
  const SpanExport spans(program);
  http::Publisher publisher;
  Installation installation(program.env, program.metrics, program.settings, Installation::Purpose::serve,
                            [&publisher](std::string_view topic) { publisher.publish(topic); });
  installation.tell_settings(program.settings, program.warnings);

  runtime::WorkerPool handlers(static_cast<std::size_t>(program.settings.integer("http.threads")));
  http::Server server(program.env, options, installation.routes(), publisher,
                      [&handlers](std::function<void()> job) { handlers.post(std::move(job)); });
  installation.start();
  const std::string address = local_address(options, server.port());
  const cli::DataFolder folder(program.settings.text("data"));
  folder.write_server({address, getpid()});
  // From here on nothing may throw: the network's thread ends by server.stop() only.
  runtime::WorkerPool network(1);
  network.post([&server] { server.run(); });
  tell(program, installation, address);

  while (!signals.wait(1s)) publisher.publish_all();

  runtime::end_process_after(kServeStopMax);
  program.env.observer.log(Observer::Level::info, "stopping");
  folder.remove_server();
  server.stop(kRequestsGrace);
  installation.stop(kEngineGrace);
  program.env.observer.log(Observer::Level::info, "stopped");
  return cli::kDone;
}

}  // namespace skald::host
