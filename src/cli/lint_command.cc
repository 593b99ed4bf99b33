// skald lint: what the analyser says of the program's sagas; fails where something is
// not covered.
#include <ostream>

#include "cli/command.h"
#include "cli/output.h"
#include "skald/analyser.h"
#include "skald/controls.h"

namespace skald::cli {

int run_lint(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string body = ask(api, "GET", "/api/isolation");
  const auto report = from_json<analyser::Report>(body);
  if (arguments.json()) print_json(out, body);
  else out << printable(report_text(report, arguments.flags.contains("all")), kLineBreaks);
  return report.worst() == 0 ? kDone : kFailed;
}

}  // namespace skald::cli
