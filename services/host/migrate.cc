// skald migrate
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "host/program.h"

namespace skald::host {

// Opening an installation migrates it, and a server that runs has done so at its
// start: what is left is to say what the schema is.
int migrate(Program& program, std::ostream& out) {
  const std::string body = cli::ask(open_api(program, true), "GET", "/api/overview");
  const cli::JsonView overview(body);
  if (program.arguments.json()) {
    cli::print_json(out, "{\"schema\":" + overview["schema"] + "}");
    return cli::kDone;
  }
  std::vector<std::vector<std::string>> rows;
  for (const cli::JsonView& service : overview.items("services"))
    for (const cli::JsonView& part : service.items("schema"))
      rows.push_back({service["service"], part["component"], part["version"]});
  cli::print_table(out, {"SERVICE", "COMPONENT", "VERSION"}, rows);
  return cli::kDone;
}

}  // namespace skald::host
