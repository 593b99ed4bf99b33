// skald outbox list | show
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"

namespace skald::cli {
namespace {

int list(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string body =
      ask(api, "GET", "/api/outbox", given(arguments, {"status", "type", "key", "limit", "cursor", "service"}));
  if (arguments.json()) {
    print_json(out, body);
    return kDone;
  }
  const JsonView page(body);
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& item : page.items())
    rows.push_back({item["id"], item["service"], item["type"], item["key"], item["status"], item["retryCount"],
                    item["createdAt"], item["lastError"]});
  print_table(out, {"ID", "SERVICE", "TYPE", "KEY", "STATUS", "RETRIES", "CREATED", "LAST ERROR"}, rows);
  print_more(out, page);
  return kDone;
}

// Which services have it by the post, and which are owed it.
void print_deliveries(const JsonView& entry, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& one : entry.items("deliveries")) {
    const bool owed = one["owed"] == "true", confirmed = !one["since"].empty();
    std::string letter = one["letter"].empty() ? "" : one["letter"] + " of partition " + one["partition"];
    if (confirmed && letter.empty()) letter = "found there when what both have was compared";
    rows.push_back({one["subscriber"], !owed ? "has it" : confirmed ? "owed again" : "owed", one["since"], letter});
  }
  if (rows.empty()) return;
  out << '\n';
  print_table(out, {"SUBSCRIBER", "STATE", "SINCE", "LETTER"}, rows);
}

int show(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string body =
      ask(api, "GET", "/api/outbox/" + http::encode_segment(arguments.operands[0]), given(arguments, {"service"}));
  if (arguments.json()) {
    print_json(out, body);
    return kDone;
  }
  const JsonView entry(body);
  print_fields(
      out, entry.fields({"id", "service", "type", "key", "subject", "status", "retryCount", "maxRetries", "nextRetryAt",
                         "lastError", "contentHash", "lockedBy", "lockedAt", "createdAt", "updatedAt", "payload"}));
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& a : entry.items("attempts"))
    rows.push_back({a["attempt"], a["at"], a["outcome"], a["seconds"], a["worker"], a["error"]});
  if (!rows.empty()) {
    out << '\n';
    print_table(out, {"ATTEMPT", "AT", "OUTCOME", "SECONDS", "WORKER", "ERROR"}, rows);
  }
  print_deliveries(entry, out);
  return kDone;
}

}  // namespace

int run_outbox(const Arguments& arguments, const Api& api, std::ostream& out) {
  return arguments.command->name == "outbox show" ? show(arguments, api, out) : list(arguments, api, out);
}

}  // namespace skald::cli
