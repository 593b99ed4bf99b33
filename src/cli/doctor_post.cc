#include "cli/doctor_post.h"

#include <map>
#include <set>

#include "cli/json_view.h"

namespace skald::cli {
namespace {

constexpr Duration kOwedAgeMax = 10min;
constexpr Duration kToldOf = 24h;

bool is_older(const std::string& time, Duration than, Time now) {
  return !time.empty() && parse_time(time) + than < now;
}

std::string owed_of(const JsonView& subscriber) {
  if (subscriber.number("owed") == 0) return "nothing is owed to it";
  std::string out = subscriber["owed"] + (subscriber["atLeast"] == "true" ? " or more" : "") + " events are owed to it";
  if (const std::string oldest = subscriber["oldest"]; !oldest.empty()) out += ", the oldest since " + oldest;
  return out;
}

void judge_subscriber(const JsonView& subscriber, Time now, Findings& out) {
  const std::string check = subscriber["service"] + " sends to " + subscriber["name"], owed = owed_of(subscriber);
  const std::size_t before = out.size();
  const auto warn = [&](const std::string& detail) { out.push_back({Health::warn, check, detail}); };
  if (const std::string trouble = subscriber["trouble"]; !trouble.empty())
    warn("nothing reaches it since " + subscriber["troubleSince"] + ": " + trouble + "; " + owed +
         "; nothing is lost, bring it back");
  else if (is_older(subscriber["oldest"], kOwedAgeMax, now))
    warn(owed + "; look at its lanes with `skald subscribers show " + subscriber["name"] +
         "`, and whether a process of " + subscriber["service"] + " works");
  if (subscriber["configured"] != "true")
    warn("the running program does not ask for it, and " + owed +
         "; what is owed to one that is gone stays for ever: `skald subscribers remove " + subscriber["name"] + "`");
  if (out.size() == before) out.push_back({Health::ok, check, owed});
}

struct Told {
  int count = 0;
  std::string at, detail;
};

// By the subscriber. Of a service the last 200 are looked at.
void check_told(const Api& api, const std::string& service, const std::string& action, const std::string& code,
                Time now, Findings& out) {
  std::map<std::string, Told> told;
  const JsonView page(ask(api, "GET", "/api/audit", {{"action", action}, {"limit", "200"}, {"service", service}}));
  for (const JsonView& row : page.items()) {
    if (is_older(row["at"], kToldOf, now)) continue;
    Told& one = told[row["target"]];
    if (one.count++ == 0) one = {1, row["at"], row["detail"]};
  }
  for (const auto& [subscriber, one] : told)
    out.push_back({Health::warn, service + " sends to " + subscriber,
                   std::to_string(one.count) + " times " + code + " in the last day, at " + one.at +
                       " for the last time: " + one.detail +
                       "; docs/operating.md, \"Letters between services\", says what to do"});
}

}  // namespace

void check_post(const Api& api, Time now, Findings& out) {
  std::set<std::string> services;
  std::map<std::string, std::string> query{{"limit", "200"}};
  do {
    const JsonView page(ask(api, "GET", "/api/subscribers", query));
    for (const JsonView& subscriber : page.items()) {
      services.insert(subscriber["service"]);
      judge_subscriber(subscriber, now, out);
    }
    query["cursor"] = page["nextCursor"];
  } while (!query["cursor"].empty());
  for (const std::string& service : services) {
    check_told(api, service, "post.gap", "POST_GAP", now, out);
    check_told(api, service, "post.strange", "POST_STRANGE", now, out);
  }
}

}  // namespace skald::cli
