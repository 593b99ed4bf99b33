// The commands that are requests to the API, and those that need no services. Each
// writes to `out` and returns the program's exit code; what goes wrong is thrown.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>

#include "cli/api.h"
#include "cli/arguments.h"
#include "cli/settings.h"
#include "http/jwt.h"
#include "skald/env.h"

namespace skald::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;

int run_outbox(const Arguments& arguments, const Api& api, std::ostream& out);
int run_dead_letters(const Arguments& arguments, const Api& api, std::ostream& out);
int run_subscribers(const Arguments& arguments, const Api& api, std::ostream& out);
int run_sagas(const Arguments& arguments, const Api& api, std::ostream& out);
// `skald sagas retry --all`: each that needs help once, and what became of them. `progress`:
// a terminal that is told how far it is, or null. Fails where one could not be retried.
int run_retry_all(const Arguments& arguments, const Api& api, std::ostream& out, std::ostream* progress);
int run_locks(const Arguments& arguments, const Api& api, std::ostream& out);
int run_story(const Arguments& arguments, const Api& api, std::ostream& out);
int run_lint(const Arguments& arguments, const Api& api, std::ostream& out);
// Lets so much time pass before the next look.
using Wait = std::function<void(Duration)>;
struct Terminal {
  Wait wait;
  std::ostream* progress = nullptr;  // is told how far it is; null: nobody wants to know
  bool colours = false;
};
// skald flow …, but for logs. With --wait it fails where the act did not come to what was asked for.
int run_flow(const Arguments& arguments, const Api& api, const Terminal& terminal, std::ostream& out);
// What a task's agent has written, and with --follow what it goes on to write until the task has ended.
int run_flow_logs(const Arguments& arguments, const Api& api, const Wait& wait, std::ostream& out);
// Opened only where it is asked.
using OpenApi = std::function<Api()>;
int run_check(const Arguments& arguments, const OpenApi& open_api, std::ostream& out);
int run_token(const Arguments& arguments, const Settings& settings, const Env& env, std::ostream& out);

// What doctor is handed. It asks the server that runs, and where none does it looks at what lies
// there; it creates nothing, and what cannot be reached is a finding.
struct Examined {
  const Settings& settings;                          // of this command; a server has its own
  std::vector<std::string> warnings;                 // of the settings
  std::function<std::optional<Api>()> find_server;   // nothing where none runs
  std::function<std::string()> look;                 // its databases, as GET /api/overview would tell of them
  Time now{};
};
int run_doctor(const Arguments& arguments, const Examined& examined, std::ostream& out);

// The secret that tokens are signed with: auth.secret, or the data folder's own,
// which is made where there is none.
std::string token_secret(const Settings& settings);
// For whom and by whom this installation's tokens are.
http::TokenNames token_names(const Settings& settings);

}  // namespace skald::cli
