// skald doctor: one line per check, with what to do. A check is a function that adds its findings;
// check_server and check_what_lies_there say which are made.
#include <netdb.h>

#include <memory>
#include <ostream>

#include "bus/webhook/private_address.h"
#include "bus/webhook/target.h"
#include "cli/command.h"
#include "cli/doctor_post.h"
#include "cli/installation_view.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

struct Report {
  bool ok = true;
  std::vector<Finding> findings;
};
BOOST_DESCRIBE_STRUCT(Report, (), (ok, findings))

constexpr double kSkewSecondsMax = 1;
constexpr double kBacklogMax = 10'000;

void check_settings(const InstallationView& view, Findings& out) {
  if (view.warnings.empty()) out.push_back({Health::ok, "settings", "every value is allowed"});
  for (const std::string& warning : view.warnings) out.push_back({Health::warn, "settings", warning});
  out.push_back({Health::ok, "auth",
                 view.value("auth.secret").empty()
                     ? "no auth.secret: on loopback everybody counts as admin, and nothing else is listened on"
                     : "auth.secret is set"});
}

void check_data_folder(const InstallationView& view, Findings& out) {
  if (view.data_problem.empty()) out.push_back({Health::ok, "data folder", view.data + " can be written"});
  else out.push_back({Health::fail, "data folder", view.data_problem});
}

void check_fallback(const InstallationView& view, Findings& out) {
  if (view.fallback.empty()) out.push_back({Health::ok, "fallback files", "no dead letters wait in them"});
  for (const FallbackView& one : view.fallback) {
    const bool kept = one.file.find(".forgotten.") != one.file.npos || one.file.find(".damaged.") != one.file.npos;
    const std::string damaged = one.damaged == 0 ? "" : " and " + std::to_string(one.damaged) + " damaged lines";
    out.push_back({Health::warn, "fallback files",
                   std::to_string(one.records) + " dead letters" + damaged + " in " + view.data + "/" + one.file +
                       (kept ? ", kept by an import: look at it, then move it away (docs/operating.md)"
                             : "; bring them back with `skald dlq import`")});
  }
}

// Whether one of the host's addresses may be reached; the check at sending is the
// one that counts, this one is to tell early.
Finding check_target(const std::string& name, const std::string& url, bool allow_private) {
  std::string host;
  try {
    host = read_webhook_target(url).host;
  } catch (const Invalid& error) {
    return {Health::fail, name, error.what()};
  }
  std::string plain = host;
  if (plain.starts_with('[')) plain = plain.substr(1, plain.find(']') - 1);
  else if (plain.find(':') == plain.rfind(':')) plain = plain.substr(0, plain.find(':'));
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = getaddrinfo(plain.c_str(), nullptr, &hints, &found); code != 0)
    return {Health::fail, name,
            host + " cannot be resolved: " + gai_strerror(code) + "; check the name and the resolver"};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr && !allow_private; a = a->ai_next)
    if (is_private_address(*a->ai_addr))
      return {Health::fail, name,
              host + " has a private address, which is refused; set webhook.allow_private if that is meant"};
  return {Health::ok, name, host + " can be resolved and is allowed"};
}

void check_webhooks(const InstallationView& view, Findings& out) {
  for (const char* path : {"donation.webhook", "booking.webhook", "alert.webhook"}) {
    if (const std::string url = view.value(path); !url.empty())
      out.push_back(check_target(path, url, view.value("webhook.allow_private") == "true"));
  }
  if (view.runs("donation") && view.value("donation.webhook").empty())
    out.push_back(
        {Health::warn, "donation.webhook", "not set: donations are announced to nobody; set SKALD_DONATION_WEBHOOK"});
}

// `whose` stands before the name of each check; empty where there is one service.
void judge_figures(const JsonView& figures, const std::string& whose, Findings& out) {
  const auto add = [&](Health health, const std::string& check, std::string detail) {
    out.push_back({health, whose + check, std::move(detail)});
  };
  if (const std::string unread = figures["unread"]; !unread.empty()) return add(Health::warn, "database", unread);
  std::string schema;
  for (const JsonView& part : figures.items("schema"))
    schema += (schema.empty() ? "" : ", ") + part["component"] + " " + part["version"];
  add(Health::ok, "database", figures["database"] + " answers");
  add(Health::ok, "schema", schema);
  if (!figures["clockSkewSeconds"].empty()) {
    const double skew = figures.number("clockSkewSeconds");
    const bool skewed = skew > kSkewSecondsMax || skew < -kSkewSecondsMax;
    // SQLite's time is the server's own since its start: they part where the wall clock has jumped.
    const char* const remedy = figures["database"] == "sqlite"
                                   ? "; put this machine's clock right, or restart the server where it is right now"
                                   : "; synchronise the clocks (NTP)";
    add(skewed ? Health::warn : Health::ok, "clock",
        std::to_string(skew) + " s ahead of the database" + (skewed ? remedy : ""));
  }
  const double pending = figures.number("pending"), dead = figures.number("deadLetters");
  std::string backlog = figures["pending"] + " pending";
  if (const std::string oldest = figures["oldestPending"]; !oldest.empty()) backlog += ", the oldest since " + oldest;
  add(pending > kBacklogMax ? Health::warn : Health::ok, "outbox", backlog);
  add(dead > 0 ? Health::warn : Health::ok, "dead letters",
      figures["deadLetters"] + " waiting" + (dead > 0 ? "; look at them with `skald dlq list`" : ""));
}

void judge_overview(const JsonView& overview, Findings& out) {
  const auto services = overview.items("services");
  if (services.size() < 2) return judge_figures(services.empty() ? overview : services[0], "", out);
  for (const JsonView& service : services) judge_figures(service, service["service"] + " ", out);
}

void add_failure(const Error& error, const std::string& check, Findings& out) {
  std::string detail = error.code() + ": " + error.what();
  if (error.code() == "MISSING_TOKEN" || error.code() == "BAD_TOKEN")
    detail += "; set SKALD_AUTH_SECRET as the server has it, or SKALD_TOKEN to an admin's token";
  out.push_back({Health::fail, check, detail});
}

// A part that cannot be asked is a finding, and the others are asked all the same.
template <class F>
void examine(const std::string& check, Findings& out, F&& part) {
  try {
    part();
  } catch (const Error& error) {
    add_failure(error, check, out);
  }
}

void check_view(const InstallationView& view, Findings& out) {
  check_settings(view, out);
  check_data_folder(view, out);
  check_fallback(view, out);
}

void check_server(const Api& api, Time now, Findings& out) {
  examine("server", out, [&] {
    const auto view = from_json<InstallationView>(ask(api, "GET", "/api/installation"));
    out.push_back({Health::ok, "server",
                   "version " + view.version + ", pid " + std::to_string(view.pid) + ", services " +
                       view.value("services") + ", database " + view.database + ", bus " + view.value("bus")});
    check_view(view, out);
    examine("ready", out, [&] {
      ask(api, "GET", "/readyz");
      out.push_back({Health::ok, "ready", "the server does its work"});
    });
    if (view.database != "none") {
      examine("database", out, [&] { judge_overview(JsonView(ask(api, "GET", "/api/overview")), out); });
      examine("subscribers", out, [&] { check_post(api, now, out); });
    }
    check_webhooks(view, out);
  });
}

void check_what_lies_there(const Examined& examined, Findings& out) {
  const InstallationView view = view_installation(examined.settings, examined.warnings);
  out.push_back({Health::warn, "server", "none runs on " + view.data + "; these are this command's own settings"});
  check_view(view, out);
  examine("database", out, [&] { judge_overview(JsonView(examined.look()), out); });
  check_webhooks(view, out);
}

void check_all(const Examined& examined, Findings& out) {
  examine("server", out, [&] {
    if (const auto server = examined.find_server()) check_server(*server, examined.now, out);
    else check_what_lies_there(examined, out);
  });
}

}  // namespace

int run_doctor(const Arguments& arguments, const Examined& examined, std::ostream& out) {
  Report report;
  check_all(examined, report.findings);
  for (const Finding& finding : report.findings) report.ok = report.ok && finding.health != Health::fail;
  if (arguments.json()) {
    print_json(out, to_json(report));
  } else {
    for (const Finding& f : report.findings) {
      const std::string health(enum_name(f.health));
      out << health << std::string(6 - health.size(), ' ') << printable(f.check + ": " + f.detail) << '\n';
    }
  }
  return report.ok ? kDone : kFailed;
}

}  // namespace skald::cli
