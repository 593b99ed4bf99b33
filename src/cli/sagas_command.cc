// skald sagas list | show | retry | compensate | signal
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

std::string saga_path(const Arguments& arguments, const std::string& action = "") {
  return "/api/sagas/" + http::encode_segment(arguments.operands[0]) + action;
}

void print_sagas(const JsonView& page, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& saga : page.items())
    rows.push_back({saga["id"], saga["service"], saga["type"], saga["key"], saga["status"], saga["step"],
                    saga["startedAt"], saga.member("error")["code"]});
  print_table(out, {"ID", "SERVICE", "TYPE", "KEY", "STATUS", "STEP", "STARTED", "ERROR"}, rows);
  print_more(out, page);
}

void print_saga(const JsonView& saga, std::ostream& out) {
  print_fields(out, saga.fields({"id", "service", "type", "key", "parent", "status", "step", "startedAt", "finishedAt",
                                 "wakesAt", "error", "state"}));
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& step : saga.items("steps"))
    rows.push_back({step["name"], step["kind"], step["status"], step["attempt"], step["startedAt"], step["finishedAt"],
                    step["error"]});
  if (rows.empty()) return;
  out << '\n';
  print_table(out, {"STEP", "KIND", "STATUS", "ATTEMPT", "STARTED", "FINISHED", "ERROR"}, rows);
}

void must_name_one(const Arguments& arguments) {
  if (arguments.operands.empty()) throw Invalid("USAGE", "skald sagas retry needs ID, or --all");
  for (const char* filter : {"type", "code"})
    if (arguments.flags.contains(filter))
      throw Invalid("USAGE", "--" + std::string(filter) + " says which of --all are meant: leave it out beside an ID");
}

std::string compensate_body(const Arguments& arguments) {
  const std::string reason = arguments.flag("reason");
  if (reason.empty()) throw Invalid("USAGE", "skald sagas compensate needs --reason TEXT");
  return "{\"reason\":" + to_json(reason) + "}";
}

std::string signal_body(const Arguments& arguments) {
  std::string out = "{\"name\":" + to_json(arguments.operands[1]);
  if (const std::string payload = arguments.flag("payload"); !payload.empty()) {
    try {
      json::parse(payload);
    } catch (const Invalid& error) {
      throw Invalid("USAGE", "--payload must be JSON: " + std::string(error.what()));
    }
    out += ",\"payload\":" + payload;
  }
  if (const std::string id = arguments.flag("id"); !id.empty()) out += ",\"id\":" + to_json(id);
  return out + "}";
}

}  // namespace

int run_sagas(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string_view what = arguments.command->name;
  if (what == "sagas retry") must_name_one(arguments);
  const auto service = given(arguments, {"service"});
  std::string body;
  if (what == "sagas list")
    body = ask(api, "GET", "/api/sagas",
               given(arguments, {"status", "type", "key", "code", "limit", "cursor", "service"}));
  else if (what == "sagas show") body = ask(api, "GET", saga_path(arguments), service);
  else if (what == "sagas retry") body = ask(api, "POST", saga_path(arguments, "/retry"), service);
  else if (what == "sagas compensate")
    body = ask(api, "POST", saga_path(arguments, "/compensate"), service, compensate_body(arguments));
  else body = ask(api, "POST", saga_path(arguments, "/signal"), service, signal_body(arguments));

  if (arguments.json()) {
    print_json(out, body);
    return kDone;
  }
  const JsonView answer(body);
  if (what == "sagas list") print_sagas(answer, out);
  else print_saga(answer, out);
  return kDone;
}

}  // namespace skald::cli
