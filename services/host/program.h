// One run of the program: what was asked, the settings, and what it is observed by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/api.h"
#include "cli/arguments.h"
#include "cli/settings.h"
#include "observe/program_observer.h"
#include "skald/env.h"

namespace skald::host {

struct Program {
  cli::Arguments arguments;
  cli::Settings settings;
  std::vector<std::string> warnings;  // of the settings

  std::unique_ptr<Clock> clock = system_clock();
  std::unique_ptr<Random> random = system_random();
  Metrics metrics{};
  JsonLog log{*clock, Observer::Level::warn};
  ProgramObserver observer{metrics, log};
  Env env{*clock, *random, observer};
};

// The commands that need the services; each returns the exit code.
int serve(Program& program);
int work(Program& program);
int migrate(Program& program, std::ostream& out);
int sandbox_provider(Program& program);
int demo(Program& program, std::ostream& out);
int demo_flow(Program& program, std::ostream& out);
int doctor(Program& program, std::ostream& out);

// The API of this installation: the server that runs, or else the database opened
// here. The same requests, the same routes. NotFound (NO_INSTALLATION) where
// there is nothing to open, unless it may be created.
cli::Api open_api(Program& program, bool may_create);
// The server that --server names or that runs on the data folder, with a token that is good for
// so long; nothing where there is none. Creates nothing.
std::optional<cli::Remote> find_server(const Program& program, Duration good_for);
// The same; NotFound (NO_SERVER).
cli::Remote running_server(Program& program, Duration good_for);

Observer::Level log_level(const cli::Settings& settings);

// The inside of a JSON object, for the log.
std::string fields(std::initializer_list<std::pair<std::string_view, std::string>> members);

}  // namespace skald::host
