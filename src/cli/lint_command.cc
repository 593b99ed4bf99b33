// skald lint: what the analyser says of the program's sagas; fails where something is
// not covered.
#include <ostream>

#include "cli/command.h"
#include "skald/analyser.h"

namespace skald::cli {

int run_lint(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string body = ask(api, "GET", "/api/isolation");
  const auto report = from_json<analyser::Report>(body);
  if (arguments.json()) out << body << '\n';
  else out << report_text(report, arguments.flags.contains("all"));
  return report.worst() == 0 ? kDone : kFailed;
}

}  // namespace skald::cli
