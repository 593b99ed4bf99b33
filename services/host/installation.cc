#include "host/installation.h"

#include <algorithm>

#include "bus/webhook/discord.h"
#include "cli/command.h"
#include "cli/data_folder.h"
#include "cli/nearest.h"
#include "donation/donation.h"
#include "http/engine_paths.h"
#include "http/idempotency.h"
#include "order/order.h"
#include "runtime/wakeup.h"

namespace skald::host {
namespace {

namespace fs = std::filesystem;

// Donations and orders share an engine and its database.
constexpr const char* kEngineName = "donation-order";

enum class Place { sqlite, memory, postgres };

Place place_of(const cli::Settings& settings) {
  const std::string& url = settings.text("db");
  if (url.empty() || url.starts_with("sqlite:")) return Place::sqlite;
  if (url == "memory:") return Place::memory;
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) return Place::postgres;
  throw Invalid("BAD_SETTING", "db must be sqlite:DIR, postgresql://… or memory:");
}

fs::path sqlite_folder(const cli::Settings& settings) {
  const std::string& url = settings.text("db");
  const std::string folder = url.empty() ? settings.text("data") : url.substr(std::string_view("sqlite:").size());
  if (folder.empty()) throw Invalid("BAD_SETTING", "db must name a folder: sqlite:DIR");
  return folder;
}

fs::path sqlite_file(const cli::Settings& settings) { return sqlite_folder(settings) / "donation.db"; }

std::unique_ptr<Database> open_database(Env env, const cli::Settings& settings) {
  switch (place_of(settings)) {
    case Place::memory: return open_sqlite(env, {.path = ":memory:"});
    case Place::postgres: {
      PostgresOptions options;
      options.url = settings.text("db");
      options.connections = static_cast<int>(settings.integer("postgres.connections"));
      return open_postgres(env, options);
    }
    case Place::sqlite: break;
  }
  cli::DataFolder(sqlite_folder(settings)).create();
  return open_sqlite(env, {.path = sqlite_file(settings).string()});
}

EngineOptions engine_options(const cli::Settings& settings, Installation::Purpose purpose, Alerts* alerts) {
  EngineOptions out;
  out.outbox.retries_max = static_cast<int>(settings.integer("outbox.retries_max"));
  out.outbox.backoff_first = settings.duration("outbox.backoff_first");
  out.outbox.on_dead_letter =
      settings.text("outbox.on_dead_letter") == "block" ? OnDeadLetter::block : OnDeadLetter::go_on;
  out.outbox.hash_key = settings.text("outbox.hash_key");
  out.outbox.lease = settings.duration("outbox.lease");
  out.outbox.retention = settings.duration("outbox.retention");
  out.saga_retention = settings.duration("sagas.retention");
  out.record_history = settings.enabled("history.record");
  out.history_retention = settings.duration("history.retention");
  out.fallback_file = (fs::path(settings.text("data")) / "dead-letters").string();
  if (alerts != nullptr)
    out.alert = [alerts](std::string_view code, std::string_view text) { alerts->raise(code, text); };
  out.works = purpose != Installation::Purpose::inspect;
  return out;
}

http::Authenticator authenticator(Env env, const cli::Settings& settings, Installation::Purpose purpose) {
  using http::Authenticator;
  if (purpose != Installation::Purpose::serve) return Authenticator(env, std::nullopt);
  const bool configured = !settings.text("auth.secret").empty();
  return Authenticator(env, cli::token_secret(settings),
                       configured ? Authenticator::Tokenless::refused : Authenticator::Tokenless::admin);
}

void check_services(const cli::Settings& settings) {
  const std::vector<std::string> known = {"all", "donation", "order"};
  for (const std::string& name : settings.list("services"))
    if (std::ranges::find(known, name) == known.end())
      throw Invalid("BAD_SETTING", "there is no service " + name + cli::did_you_mean(name, known));
  if (settings.text("bus") != "memory:")
    throw Invalid("BAD_SETTING", "bus must be memory:, the only one there is so far");
}

bool wants(const cli::Settings& settings, std::string_view service) {
  const auto names = settings.list("services");
  return std::ranges::any_of(names, [&](const std::string& name) { return name == service || name == "all"; });
}

}  // namespace

bool exists(const cli::Settings& settings) {
  return place_of(settings) != Place::sqlite || fs::exists(sqlite_file(settings));
}

std::string shown_database(const cli::Settings& settings) {
  return place_of(settings) == Place::sqlite ? "sqlite " + sqlite_file(settings).string() : settings.shown("db");
}

WebhookOptions webhook_options(const cli::Settings& settings, const std::string& url) {
  WebhookOptions out;
  out.url = url;
  out.secret = settings.text("donation.webhook_secret");
  if (out.secret.empty()) out.secret = cli::DataFolder(settings.text("data")).secret("webhook-secret");
  out.allow_private = settings.enabled("webhook.allow_private");
  return out;
}

Installation::Installation(Env env, Metrics& metrics, const cli::Settings& settings, Purpose purpose) {
  check_services(settings);
  database_ = open_database(env, settings);
  const std::string& alert_url = settings.text("alert.webhook");
  if (purpose != Purpose::inspect && !alert_url.empty())
    alerts_ = std::make_unique<Alerts>(env, webhook_options(settings, alert_url));
  engine_ = std::make_unique<Engine>(env, *database_, engine_options(settings, purpose, alerts_.get()));
  http::migrate_api_keys(*database_);
  engine_->add_job({"skald.api-keys", 1h, [db = database_.get()] {
                      while (http::purge_expired(*db)) {}
                    }});
  routes_ = std::make_unique<http::Routes>(env, authenticator(env, settings, purpose), SKALD_VERSION);
  http::add_engine_paths(*routes_, {env, {{kEngineName, *engine_}}, metrics});
  if (wants(settings, "donation")) add_donation(env, settings);
  if (wants(settings, "order")) add_order(env, settings, purpose);
}

void Installation::add_donation(Env env, const cli::Settings& settings) {
  const std::string& url = settings.text("donation.webhook");
  if (!url.empty()) {
    WebhookOptions options = webhook_options(settings, url);
    if (settings.text("donation.webhook_secret").empty() && database_->dialect() == Dialect::postgres)
      env.observer.log(Observer::Level::warn,
                       "announcements are signed by the data folder's own secret; processes that share a database "
                       "should share donation.webhook_secret");
    if (settings.text("donation.webhook_format") == "discord") {
      options.format = WebhookOptions::Format::discord;
      options.discord_text = [](const Message& message) {
        return escape_markdown(donation::announcement_text(message));
      };
    }
    announcements_ = std::make_unique<WebhookBus>(env, std::move(options));
  }
  donation::install(*engine_, *routes_, env, {.webhook = announcements_.get()});
}

// A process that works needs a provider; one that is only asked gets along without.
void Installation::add_order(Env env, const cli::Settings& settings, Purpose purpose) {
  std::string url = settings.text("order.provider");
  if (url.empty() && purpose == Purpose::work)
    throw Invalid("BAD_SETTING",
                  "a worker of the order service needs order.provider, the one that the servers have; or "
                  "choose others with --services");
  if (url.empty() && purpose == Purpose::serve) {
    provider_ = std::make_unique<ProviderProcess>(settings);
    url = provider_->url();
    if (database_->dialect() == Dialect::postgres)
      env.observer.log(Observer::Level::warn,
                       "payments go to this process's own sandbox provider; processes that share a database should "
                       "share order.provider");
  }
  order::install(*engine_, *routes_, env,
                 {.provider = url,
                  .pause = [](Duration time) { runtime::Wakeup().wait(time); },
                  .events_topic = std::string(http::kOverviewTopic)});
}

}  // namespace skald::host
