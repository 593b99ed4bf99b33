// skald locks
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"

namespace skald::cli {

int run_locks(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string body =
      ask(api, "GET", "/api/locks", given(arguments, {"resource", "key", "limit", "cursor", "service"}));
  if (arguments.json()) {
    out << body << '\n';
    return kDone;
  }
  const JsonView page(body);
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& lock : page.items()) {
    std::string waiting;
    for (const JsonView& who : lock.items("waiting")) waiting += (waiting.empty() ? "" : ", ") + who["sagaId"];
    rows.push_back({lock["service"], lock["resource"], lock["key"], lock["mode"], lock["sagaId"], lock["sagaType"],
                    lock["step"], lock["since"], waiting});
  }
  print_table(out, {"SERVICE", "RESOURCE", "KEY", "MODE", "HELD BY", "TYPE", "STEP", "SINCE", "WAITING"}, rows);
  print_more(out, page);
  return kDone;
}

}  // namespace skald::cli
