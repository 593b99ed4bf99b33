#include "host/program.h"

#include "cli/command.h"
#include "cli/data_folder.h"
#include "cli/named_file.h"
#include "host/installation.h"
#include "http/jwt.h"
#include "skald/json.h"

namespace skald::host {
namespace {

// Commands act for whoever can read the installation's secret. Where there is none the server
// has it elsewhere, and says so.
std::string own_token(const Program& program, Duration good_for) {
  std::string secret = program.settings.text("auth.secret");
  if (secret.empty()) secret = cli::DataFolder(program.settings.text("data")).existing_secret("secret").value_or("");
  if (secret.empty()) return "";
  const Time now = program.env.clock.now();
  return http::sign_token(secret, {"skald-cli", Role::admin, now, now + good_for, cli::token_names(program.settings)});
}

std::string token_in(const std::string& path) {
  const std::string do_this = "--token-file names a file that holds a token; `skald token` makes one";
  std::string text = cli::read_named_file(path, 65'536, "USAGE", do_this);
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) throw Invalid("USAGE", "the file " + path + " is empty; " + do_this);
  return text;
}

// What was given to show, or nothing.
std::string given_token(const Program& program) {
  const std::string file = program.arguments.flag("token-file");
  return file.empty() ? program.settings.text("token") : token_in(file);
}

}  // namespace

std::optional<cli::Remote> find_server(const Program& program, Duration good_for) {
  const cli::Arguments& arguments = program.arguments;
  const std::string token = given_token(program);
  if (arguments.flags.contains("server")) return cli::Remote{arguments.flag("server"), token};
  const auto server = cli::DataFolder(program.settings.text("data")).live_server();
  if (server && cli::answers(server->address))
    return cli::Remote{server->address, token.empty() ? own_token(program, good_for) : token};
  return std::nullopt;
}

cli::Api open_api(Program& program, bool may_create) {
  // Somebody who names a database means that one.
  const bool database_named = program.arguments.settings.contains("db") && !program.arguments.flags.contains("server");
  if (!database_named)
    if (const auto server = find_server(program, 1h)) return cli::remote_api(*server);
  if (!may_create && !exists(program.settings))
    throw NotFound("NO_INSTALLATION", "there is no database at " + shown_database(program.settings) +
                                          "; name the folder with --data, or begin with `skald serve`");
  const auto opened =
      std::make_shared<Installation>(program.env, program.metrics, program.settings, Installation::Purpose::inspect);
  return [opened](const Request& request) { return opened->routes().dispatch(request); };
}

cli::Remote running_server(Program& program, Duration good_for) {
  if (auto server = find_server(program, good_for)) return std::move(*server);
  throw NotFound("NO_SERVER", "no server runs on " + program.settings.text("data") +
                                  ": start one with `skald serve`, or name one with --server URL");
}

Observer::Level log_level(const cli::Settings& settings) {
  const std::string& name = settings.text("log.level");
  if (name == "debug") return Observer::Level::debug;
  if (name == "info") return Observer::Level::info;
  if (name == "warn") return Observer::Level::warn;
  return name == "error" ? Observer::Level::error : Observer::Level::critical;
}

std::string fields(std::initializer_list<std::pair<std::string_view, std::string>> members) {
  std::string out;
  for (const auto& [name, value] : members) {
    if (!out.empty()) out += ',';
    json::write_string(out, name);
    out += ':';
    json::write_string(out, value);
  }
  return out;
}

}  // namespace skald::host
