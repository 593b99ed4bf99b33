// skald locks
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"

namespace skald::cli {
namespace {

// How many, where a line has no room for all of them.
std::string waiting_for(const JsonView& lock) {
  std::string out;
  for (const JsonView& who : lock.items("waiting")) out += (out.empty() ? "" : ", ") + who["sagaId"];
  return lock.number("waitingCount") > 2 ? lock["waitingCount"] + ": " + out : out;
}

}  // namespace

int run_locks(const Arguments& arguments, const Api& api, std::ostream& out) {
  auto query = given(arguments, {"resource", "key", "limit", "cursor", "service"});
  if (const std::string saga = arguments.flag("saga"); !saga.empty()) query["sagaId"] = saga;
  const std::string body = ask(api, "GET", "/api/locks", query);
  if (arguments.json()) {
    print_json(out, body);
    return kDone;
  }
  const JsonView page(body);
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& lock : page.items())
    rows.push_back({lock["service"], lock["resource"], lock["key"], lock["mode"], lock["sagaId"], lock["sagaType"],
                    lock["step"], lock["since"], waiting_for(lock)});
  print_table(out, {"SERVICE", "RESOURCE", "KEY", "MODE", "HELD BY", "TYPE", "STEP", "SINCE", "WAITING"}, rows);
  print_more(out, page);
  return kDone;
}

}  // namespace skald::cli
