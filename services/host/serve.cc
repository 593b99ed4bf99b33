// skald serve
#include <unistd.h>

#include <charconv>

#include "cli/command.h"
#include "cli/data_folder.h"
#include "host/installation.h"
#include "host/program.h"
#include "http/engine_paths.h"
#include "http/host.h"
#include "http/server.h"
#include "runtime/signals.h"
#include "runtime/worker_pool.h"

namespace skald::host {
namespace {

constexpr std::chrono::seconds kStopMax = 10s;      // then the process ends, come what may
constexpr Duration kRequestsGrace = 4s;
constexpr Duration kEngineGrace = 4s;

// As of a URL, but that port 0 means a free one.
http::Authority listening(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon != text.npos) {
    const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
    const auto host = http::parse_authority(text.substr(0, colon) + ":1");
    if (error == std::errc() && end == text.data() + text.size() && host && !host->name.empty())
      return {host->name, port};
  }
  throw Invalid("BAD_SETTING", "listen must be HOST:PORT, such as 127.0.0.1:8080");
}

http::ServerOptions server_options(const cli::Settings& settings) {
  const http::Authority address = listening(settings.text("listen"));
  http::refuse_open_listen(address.name, !settings.text("auth.secret").empty());
  http::ServerOptions out;
  out.host = address.name;
  out.port = *address.port;
  out.allowed_hosts = settings.list("http.allowed_hosts");
  return out;
}

// How programs on this machine reach it.
std::string local_address(const http::ServerOptions& options, std::uint16_t port) {
  std::string host = options.host;
  if (host == "0.0.0.0" || host == "::") host = "127.0.0.1";
  if (host.find(':') != host.npos) host = "[" + host + "]";
  return host + ":" + std::to_string(port);
}

void tell(const Program& program, const std::string& address) {
  const cli::Settings& settings = program.settings;
  Observer& observer = program.env.observer;
  for (const std::string& warning : program.warnings) observer.log(Observer::Level::warn, warning);
  const std::string webhook = settings.shown("donation.webhook");
  observer.log(Observer::Level::info, "serving",
               fields({{"address", "http://" + address},
                       {"database", shown_database(settings)},
                       {"services", "donation"},
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
  const http::ServerOptions options = server_options(program.settings);
  runtime::StopSignals signals;
  program.log.set_lowest(log_level(program.settings));
  Installation installation(program.env, program.metrics, program.settings, Installation::Purpose::serve);

  http::Publisher publisher;
  runtime::WorkerPool handlers(static_cast<std::size_t>(program.settings.integer("http.threads")));
  http::Server server(program.env, options, installation.routes(), publisher,
                      [&handlers](std::function<void()> job) { handlers.post(std::move(job)); });
  installation.engine().start();
  const std::string address = local_address(options, server.port());
  const cli::DataFolder folder(program.settings.text("data"));
  folder.write_server({address, getpid()});
  // From here on nothing may throw: the network's thread ends by server.stop() only.
  runtime::WorkerPool network(1);
  network.post([&server] { server.run(); });
  tell(program, address);

  while (!signals.wait(1s)) publisher.publish(http::kOverviewTopic);

  runtime::end_process_after(kStopMax);
  program.env.observer.log(Observer::Level::info, "stopping");
  folder.remove_server();
  server.stop(kRequestsGrace);
  installation.engine().stop(kEngineGrace);
  program.env.observer.log(Observer::Level::info, "stopped");
  return cli::kDone;
}

}  // namespace skald::host
