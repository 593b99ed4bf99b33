// skald doctor: one line per check, with what to do.
#include <netdb.h>

#include <memory>
#include <ostream>

#include "bus/webhook/private_address.h"
#include "bus/webhook/target.h"
#include "cli/command.h"
#include "cli/data_folder.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

enum class Health { ok, warn, fail };
BOOST_DESCRIBE_ENUM(Health, ok, warn, fail)

struct Finding {
  Health health{};
  std::string check, detail;
};
BOOST_DESCRIBE_STRUCT(Finding, (), (health, check, detail))

struct Report {
  bool ok = true;
  std::vector<Finding> findings;
};
BOOST_DESCRIBE_STRUCT(Report, (), (ok, findings))

constexpr double kSkewSecondsMax = 1;
constexpr double kBacklogMax = 10'000;

void check_settings(const Examined& examined, std::vector<Finding>& out) {
  if (examined.warnings.empty()) out.push_back({Health::ok, "settings", "every value is allowed"});
  for (const std::string& warning : examined.warnings) out.push_back({Health::warn, "settings", warning});
  const std::string& secret = examined.settings.text("auth.secret");
  if (secret.empty())
    out.push_back(
        {Health::ok, "auth", "no auth.secret: on loopback everybody counts as admin, and nothing else is listened on"});
  else if (secret.size() < 32)
    out.push_back({Health::warn, "auth", "auth.secret is shorter than 32 bytes; make it longer"});
  else out.push_back({Health::ok, "auth", "auth.secret is set"});
}

void check_data_folder(const Settings& settings, std::vector<Finding>& out) {
  const DataFolder folder(settings.text("data"));
  try {
    folder.check_writable();
    out.push_back({Health::ok, "data folder", folder.path().string() + " can be written"});
  } catch (const Error& error) {
    out.push_back({Health::fail, "data folder", error.what()});
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

void check_webhooks(const Settings& settings, std::vector<Finding>& out) {
  for (const char* path : {"donation.webhook", "alert.webhook"}) {
    if (settings.text(path).empty()) continue;
    out.push_back(check_target(path, settings.text(path), settings.enabled("webhook.allow_private")));
  }
  if (settings.text("donation.webhook").empty())
    out.push_back(
        {Health::warn, "donation.webhook", "not set: donations are announced to nobody; set SKALD_DONATION_WEBHOOK"});
}

// `whose` stands before the name of each check; empty where there is one service.
void judge_figures(const JsonView& figures, const std::string& whose, std::vector<Finding>& out) {
  const auto add = [&](Health health, const std::string& check, std::string detail) {
    out.push_back({health, whose + check, std::move(detail)});
  };
  std::string schema;
  for (const JsonView& part : figures.items("schema"))
    schema += (schema.empty() ? "" : ", ") + part["component"] + " " + part["version"];
  add(Health::ok, "database", figures["database"] + " answers");
  add(Health::ok, "schema", schema);
  const double skew = figures.number("clockSkewSeconds");
  const bool skewed = skew > kSkewSecondsMax || skew < -kSkewSecondsMax;
  // SQLite's time is the server's own since its start: they part where the wall clock has jumped.
  const char* const remedy = figures["database"] == "sqlite"
                                 ? "; put this machine's clock right, or restart the server where it is right now"
                                 : "; synchronise the clocks (NTP)";
  add(skewed ? Health::warn : Health::ok, "clock",
      std::to_string(skew) + " s ahead of the database" + (skewed ? remedy : ""));
  const double pending = figures.number("pending"), dead = figures.number("deadLetters");
  std::string backlog = figures["pending"] + " pending";
  if (pending > 0) backlog += ", the oldest since " + figures["oldestPending"];
  add(pending > kBacklogMax ? Health::warn : Health::ok, "outbox", backlog);
  add(dead > 0 ? Health::warn : Health::ok, "dead letters",
      figures["deadLetters"] + " waiting" + (dead > 0 ? "; look at them with `skald dlq list`" : ""));
}

void judge_overview(const JsonView& overview, std::vector<Finding>& out) {
  const auto services = overview.items("services");
  if (services.size() < 2) return judge_figures(overview, "", out);
  for (const JsonView& service : services) judge_figures(service, service["service"] + " ", out);
}

// What /readyz knows: that the databases take writes, that this process may work, that what it
// cannot do without is there.
void check_ready(const Api& api, std::vector<Finding>& out) {
  try {
    ask(api, "GET", "/readyz");
    out.push_back({Health::ok, "ready", "the database takes writes, and what is needed is there"});
  } catch (const Refused& error) {
    out.push_back({Health::fail, "ready", error.what()});
  }
}

void check_engine(const Examined& examined, std::vector<Finding>& out) {
  try {
    const Api api = examined.open_api();
    check_ready(api, out);
    judge_overview(JsonView(ask(api, "GET", "/api/overview")), out);
  } catch (const NotFound& error) {
    out.push_back({Health::warn, "database", error.what()});
  } catch (const Error& error) {
    out.push_back({Health::fail, "database", error.code() + ": " + error.what()});
  }
}

}  // namespace

int run_doctor(const Arguments& arguments, const Examined& examined, std::ostream& out) {
  Report report;
  check_settings(examined, report.findings);
  check_data_folder(examined.settings, report.findings);
  check_engine(examined, report.findings);
  check_webhooks(examined.settings, report.findings);
  for (const Finding& finding : report.findings) report.ok = report.ok && finding.health != Health::fail;
  if (arguments.json()) {
    out << to_json(report) << '\n';
  } else {
    for (const Finding& f : report.findings) {
      const std::string health(enum_name(f.health));
      out << health << std::string(6 - health.size(), ' ') << f.check << ": " << printable(f.detail) << '\n';
    }
  }
  return report.ok ? kDone : kFailed;
}

}  // namespace skald::cli
