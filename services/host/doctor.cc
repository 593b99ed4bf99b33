// skald doctor, and what a server tells it.
#include "host/doctor.h"

#include <unistd.h>

#include "cli/command.h"
#include "cli/installation_view.h"
#include "host/databases.h"
#include "host/looking.h"
#include "host/program.h"

namespace skald::host {

int doctor(Program& program, std::ostream& out) {
  const auto find = [&]() -> std::optional<cli::Api> {
    // Somebody who names a database means that one.
    const cli::Arguments& arguments = program.arguments;
    if (arguments.settings.contains("db") && !arguments.flags.contains("server")) return std::nullopt;
    const auto server = find_server(program, 1h);
    return server ? std::optional(cli::remote_api(*server)) : std::nullopt;
  };
  return cli::run_doctor(program.arguments,
                         {program.settings, program.warnings, find,
                          [&] { return look_at_databases(program.env, program.settings); }, program.env.clock.now()},
                         out);
}

void add_installation_path(http::Routes& routes, const cli::Settings& settings, std::vector<std::string> warnings,
                           bool has_database) {
  routes.get("/api/installation", Access::admin,
             describe<void, cli::InstallationView>("What this process uses: its settings without secrets, and where "
                                                   "each came from"),
             [settings, warnings = std::move(warnings), has_database](const Request&) {
               cli::InstallationView view = cli::view_installation(settings, warnings);
               view.version = SKALD_VERSION;
               view.pid = getpid();
               view.database = has_database ? shown_database(settings) : "none";
               return Response::json(200, view);
             });
}

}  // namespace skald::host
