// skald dlq list | show | replay | discard | import
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

std::string letter_path(const Arguments& arguments, const std::string& action = "") {
  return "/api/dead-letters/" + http::encode_segment(arguments.operands[0]) + action;
}

void print_letters(const JsonView& page, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& item : page.items())
    rows.push_back({item["id"], item["service"], item["type"], item["key"], item["state"], item["reason"],
                    item["retryCount"], item["deadAt"], item["lastError"]});
  print_table(out, {"ID", "SERVICE", "TYPE", "KEY", "STATE", "REASON", "RETRIES", "DEAD SINCE", "LAST ERROR"}, rows);
  print_more(out, page);
}

void print_letter(const JsonView& letter, std::ostream& out) {
  print_fields(out,
               letter.fields({"id", "service", "type", "key", "subject", "state", "reason", "lastError", "retryCount",
                              "contentHash", "createdAt", "deadAt", "resolvedAt", "note", "payload"}));
}

std::string discard_body(const Arguments& arguments) {
  const std::string reason = arguments.flag("reason");
  if (reason.empty()) throw Invalid("USAGE", "skald dlq discard needs --reason TEXT");
  return "{\"reason\":" + to_json(reason) + "}";
}

}  // namespace

int run_dead_letters(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string_view what = arguments.command->name;
  const auto service = given(arguments, {"service"});
  std::string body;
  if (what == "dlq list")
    body = ask(api, "GET", "/api/dead-letters",
               given(arguments, {"state", "reason", "type", "key", "limit", "cursor", "service"}));
  else if (what == "dlq show") body = ask(api, "GET", letter_path(arguments), service);
  else if (what == "dlq replay") body = ask(api, "POST", letter_path(arguments, "/replay"), service);
  else if (what == "dlq discard")
    body = ask(api, "POST", letter_path(arguments, "/discard"), service, discard_body(arguments));
  else body = ask(api, "POST", "/api/dead-letters/import", service);

  const JsonView answer(body);
  // What could not be read is still only in a file, and somebody has to look at it.
  const bool whole = what != "dlq import" || answer.number("damaged") == 0;
  if (arguments.json()) {
    print_json(out, body);
    return whole ? kDone : kFailed;
  }
  if (what == "dlq list") print_letters(answer, out);
  else if (what == "dlq import") print_fields(out, answer.fields({"imported", "known", "damaged"}));
  else print_letter(answer, out);
  if (!whole) out << "\ndamaged lines are kept as they are: look at dead-letters*.damaged.* in the data folder\n";
  return whole ? kDone : kFailed;
}

}  // namespace skald::cli
