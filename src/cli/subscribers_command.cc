// skald subscribers list | show | remove
#include <ostream>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

std::string subscriber_path(const Arguments& arguments, const std::string& action = "") {
  return "/api/subscribers/" + http::encode_segment(arguments.operands[0]) + action;
}

std::string types_of(const JsonView& subscriber) {
  std::string out;
  for (const std::string& type : subscriber.texts("types")) out += (out.empty() ? "" : ", ") + type;
  return out;
}

std::string owed_to(const JsonView& counted) { return counted["owed"] + (counted["atLeast"] == "true" ? "+" : ""); }

void print_subscribers(const JsonView& page, std::ostream& out) {
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& item : page.items())
    rows.push_back({item["name"], item["service"], types_of(item), owed_to(item), item["oldest"],
                    item["lastConfirmedAt"], item["configured"] == "true" ? "yes" : "no", item["trouble"]});
  print_table(out, {"NAME", "SERVICE", "TYPES", "OWED", "OLDEST", "LAST CONFIRMED", "CONFIGURED", "TROUBLE"}, rows);
  print_more(out, page);
}

void print_subscriber(const JsonView& subscriber, std::ostream& out) {
  auto fields = subscriber.fields({"name", "service", "types", "owed", "oldest", "lastConfirmedAt", "since",
                                   "configured", "trouble", "troubleSince"});
  fields[2].second = types_of(subscriber);
  fields[3].second = owed_to(subscriber);
  print_fields(out, fields);
  std::vector<std::vector<std::string>> rows;
  for (const JsonView& lane : subscriber.items("lanes"))
    rows.push_back({lane["partition"], lane["last"], lane["lastConfirmedAt"], owed_to(lane), lane["oldest"]});
  if (rows.empty()) return;
  out << '\n';
  print_table(out, {"PARTITION", "LAST LETTER", "CONFIRMED", "OWED", "OLDEST"}, rows);
}

void print_removed(const JsonView& removed, std::ostream& out) {
  out << printable(removed["name"] + " is owed nothing by " + removed["service"] + " any more; it was owed " +
                   removed["owed"] + " events")
      << '\n';
  if (removed["configured"] == "true")
    out << "the program that runs asks for it, and brings it back at its next start: change that, too\n";
}

std::string removal_body(const Arguments& arguments) {
  const std::string reason = arguments.flag("reason");
  if (reason.empty()) throw Invalid("USAGE", "skald subscribers remove needs --reason TEXT");
  return "{\"reason\":" + to_json(reason) + "}";
}

}  // namespace

int run_subscribers(const Arguments& arguments, const Api& api, std::ostream& out) {
  const std::string_view what = arguments.command->name;
  std::string body;
  if (what == "subscribers list")
    body = ask(api, "GET", "/api/subscribers", given(arguments, {"limit", "cursor", "service"}));
  else if (what == "subscribers show")
    body = ask(api, "GET", subscriber_path(arguments), given(arguments, {"service"}));
  else
    body =
        ask(api, "POST", subscriber_path(arguments, "/remove"), given(arguments, {"service"}), removal_body(arguments));
  const JsonView answer(body);
  if (arguments.json()) print_json(out, body);
  else if (what == "subscribers list") print_subscribers(answer, out);
  else if (what == "subscribers show") print_subscriber(answer, out);
  else print_removed(answer, out);
  return kDone;
}

}  // namespace skald::cli
