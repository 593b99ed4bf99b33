#include "host/private_server.h"

#include <signal.h>

#include "cli/data_folder.h"
#include "host/agents.h"

namespace skald::host {
namespace {

constexpr Duration kServerStartMax = 20s, kServerStopMax = 12s, kServerLook = 20ms;

// Where to find programs and files; neither its settings nor our secrets.
Variables plain_variables() {
  Variables out;
  for (const auto& [name, value] : own_variables())
    if (name == "PATH" || name == "HOME" || name == "LANG" || name == "TMPDIR") out.emplace(name, value);
  return out;
}

Command serve_command(const std::string& data, const std::string& services) {
  return {.argv = {"/proc/self/exe", "serve", "--listen", "127.0.0.1:0", "--data", data, "--services", services,
                   "--log-level", "error"},
          .variables = plain_variables()};
}

}  // namespace

PrivateServer::PrivateServer(const Env& env, const std::string& data, const std::string& services)
    : clock_(env.clock), dialogue_(clock_, serve_command(data, services)) {
  const cli::DataFolder folder(data);
  for (const Instant end = clock_.steady() + kServerStartMax; clock_.steady() < end; rest(kServerLook)) {
    const auto server = folder.live_server();
    if (!server || !cli::answers(server->address)) continue;
    api_ = cli::remote_api({server->address, ""});
    pid_ = static_cast<pid_t>(server->pid);
    return;
  }
  throw Unavailable("NO_PRIVATE_SERVER", "the server did not answer in time; is the machine very busy?");
}

void PrivateServer::rest(Duration time) {
  const Instant end = clock_.steady() + time;
  while (dialogue_.receive_line(end)) {}
  if (dialogue_.has_ended())
    throw Unavailable("NO_PRIVATE_SERVER", "the server has ended: " + dialogue_.end(Duration::zero()).err);
}

bool PrivateServer::stop() {
  if (!dialogue_.has_ended()) kill(pid_, SIGTERM);  // a child that is not waited for yet keeps its number
  return dialogue_.end(kServerStopMax).ok();
}

}  // namespace skald::host
