// The program `skald`.
#include <signal.h>
#include <unistd.h>

#include <iostream>

#include "agentflow/own_mcp.h"
#include "agentflow/script/script.h"
#include "cli/command.h"
#include "cli/flow_follow.h"
#include "cli/named_file.h"
#include "cli/output.h"
#include "cli/system_limits.h"
#include "host/agents.h"
#include "host/program.h"
#include "runtime/wakeup.h"
#include "skald/json.h"
#include "skald/process.h"

namespace {

using namespace skald;

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != text.npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

cli::Values file_values(const cli::Arguments& arguments, const std::map<std::string, std::string>& variables) {
  std::string path = arguments.flag("config");
  if (const auto found = variables.find("SKALD_CONFIG"); path.empty() && found != variables.end()) path = found->second;
  if (path.empty()) return {};
  return cli::read_settings_file(
      cli::read_named_file(path, 1 << 20, "BAD_SETTING", "--config (SKALD_CONFIG) names a TOML file of settings"),
      path);
}

int run(const cli::Arguments& arguments) {
  const auto variables = environment();
  std::vector<std::string> warnings;
  const cli::Values from_environment = cli::settings_from_environment(variables, warnings);
  host::Program program{
      arguments, cli::Settings(file_values(arguments, variables), from_environment, arguments.settings), warnings};

  const std::string_view name = arguments.command->name;
  if (name == "sandbox-provider") return host::sandbox_provider(program);
  if (name == "serve") return host::serve(program);
  if (name == "worker") return host::work(program);
  if (name == "demo booking") return host::demo(program, std::cout);
  if (name == "demo flow") return host::demo_flow(program, std::cout);
  if (name == "migrate") return host::migrate(program, std::cout);
  if (name == "token") return cli::run_token(arguments, program.settings, program.env, std::cout);
  if (name == "doctor") return host::doctor(program, std::cout);
  if (name == "check") return cli::run_check(arguments, [&] { return host::open_api(program, false); }, std::cout);
  const auto wait = [](Duration longest) { runtime::Wakeup().wait(longest); };
  // Looked for each time: a server that was started again may listen elsewhere.
  const auto follow = [&](const std::string& path, const std::string& last, const cli::EventReader::Hear& hear) {
    const auto server = host::find_server(program, 1h);
    return server && cli::follow_events(*server, path, last, hear);
  };
  if (name == "flow watch") {
    host::running_server(program, 1h);
    return cli::run_flow_watch(arguments, follow, wait, std::cout);
  }
  const cli::Api api = host::open_api(program, false);
  if (name == "sagas retry" && arguments.flags.contains("all"))
    return cli::run_retry_all(arguments, api, std::cout, isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr);
  if (name.starts_with("sagas")) return cli::run_sagas(arguments, api, std::cout);
  if (name == "story") return cli::run_story(arguments, api, std::cout);
  if (name == "locks") return cli::run_locks(arguments, api, std::cout);
  if (name == "lint") return cli::run_lint(arguments, api, std::cout);
  if (name == "flow logs" && arguments.flags.contains("follow") && host::find_server(program, 1h))
    return cli::run_flow_follow(arguments, api, follow, wait, std::cout);
  if (name == "flow logs") return cli::run_flow_logs(arguments, api, wait, std::cout);
  if (name.starts_with("flow")) {
    const bool colours = isatty(STDOUT_FILENO) != 0;
    return cli::run_flow(arguments, api, {wait, arguments.json() ? nullptr : &std::cerr, colours}, std::cout);
  }
  if (name.starts_with("subscribers")) return cli::run_subscribers(arguments, api, std::cout);
  if (name.starts_with("outbox")) return cli::run_outbox(arguments, api, std::cout);
  return cli::run_dead_letters(arguments, api, std::cout);
}

int complain(const std::string& code, std::string text, bool as_json) {
  if (const std::string advice = cli::advice_on_limits(text); !advice.empty()) text += "; " + advice;
  const bool usage = code == "USAGE" || code == "BAD_SETTING" || code == "OPEN_LISTEN";
  if (as_json) cli::print_json(std::cerr, "{\"code\":" + to_json(code) + ",\"detail\":" + to_json(text) + "}");
  else std::cerr << "skald: " << cli::printable(text + (usage ? "" : " (" + code + ")"), "\n\t") << '\n';
  if (code == "USAGE" && !as_json)
    std::cerr << "`skald --help` lists the commands, `skald COMMAND --help` their flags\n";
  return usage ? cli::kUsage : cli::kFailed;
}

// It opens no database and reads no settings: the agent that started it may be allowed neither.
int serve_agent() {
  const auto variables = environment();
  const auto mailbox = variables.find("SKALD_MAILBOX");
  const auto clock = system_clock();
  return agentflow::serve_own_mcp(*clock, mailbox == variables.end() ? "" : mailbox->second, std::cin, std::cout,
                                  SKALD_VERSION);
}

int answer(const std::vector<std::string>& typed, bool& as_json) {
  if (typed.size() == 2 && typed[0] == "agent-run") return supervise(typed[1]);  // before anything is opened
  if (typed.size() == 1 && typed[0] == "mcp") return serve_agent();
  if (typed.size() == 1 && typed[0] == "agent-script")
    return agentflow::run_script(*system_clock(), {".", host::own_variables()}, std::cin, std::cout, std::cerr);
  const cli::Arguments arguments = cli::parse_arguments(typed);
  as_json = arguments.json();
  if (arguments.version) {
    std::cout << "skald " SKALD_VERSION "\n";
  } else if (arguments.help) {
    std::cout << cli::help_text(arguments.command);
  } else if (arguments.command == nullptr) {
    std::cerr << cli::help_text(nullptr);
    return cli::kUsage;
  } else if (arguments.command->name == "completion") {
    std::cout << cli::completion_script(arguments.operands[0]);
  } else {
    return run(arguments);
  }
  return cli::kDone;
}

}  // namespace

int main(int count, char** words) {
  signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error to be told, not a death
  bool as_json = false;
  try {
    const int code = answer(std::vector<std::string>(words + 1, words + count), as_json);
    if (std::cout.flush()) return code;
    return complain("OUTPUT_FAILED", "the output could not be written; is its disk full, or who reads it gone?",
                    as_json);
  } catch (const Error& error) {
    return complain(error.code(), error.what(), as_json);
  } catch (const std::exception& error) {
    return complain("INTERNAL", error.what(), as_json);
  }
}
