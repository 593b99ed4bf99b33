#include "host/installation.h"

#include <algorithm>
#include <span>

#include "agentflow/agentflow.h"
#include "bus/webhook/discord.h"
#include "cli/command.h"
#include "cli/data_folder.h"
#include "cli/nearest.h"
#include "donation/donation.h"
#include "host/agents.h"
#include "host/booking_system.h"
#include "host/doctor.h"
#include "host/nats_settings.h"
#include "http/engine_paths.h"
#include "http/idempotency.h"
#include "http/story_paths.h"
#include "order/order.h"
#include "runtime/wakeup.h"

namespace skald::host {
namespace {

namespace fs = std::filesystem;

EngineOptions engine_options(const cli::Settings& settings, Installation::Purpose purpose, Part part, Alerts* alerts) {
  EngineOptions out;
  const std::string own(part == Part::donation ? "" : "-" + std::string(enum_name(part)));
  if (part != Part::donation) out.outbox.source = "/" + std::string(enum_name(part));
  if (part == Part::booking || part == Part::course || part == Part::notify)
    out.outbox.landed_retries_max = static_cast<int>(settings.integer("booking.event_tries")) - 1;
  out.outbox.batch = static_cast<std::size_t>(settings.integer("outbox.batch"));
  out.outbox.retries_max = static_cast<int>(settings.integer("outbox.retries_max"));
  out.outbox.backoff_first = settings.duration("outbox.backoff_first");
  out.outbox.on_dead_letter =
      settings.text("outbox.on_dead_letter") == "block" ? OnDeadLetter::block : OnDeadLetter::go_on;
  out.outbox.hash_key = settings.text("outbox.hash_key");
  out.outbox.lease = settings.duration("outbox.lease");
  out.outbox.retention = settings.duration("outbox.retention");
  out.outbox.crash_retries = settings.durations("crash.retries");
  out.saga_threads = static_cast<int>(settings.integer("sagas.threads"));
  out.saga_patience = settings.duration("sagas.patience");
  out.saga_retention = settings.duration("sagas.retention");
  out.record_history = settings.enabled("history.record");
  out.history_retention = settings.duration("history.retention");
  out.fallback_file = (fs::path(settings.text("data")) / ("dead-letters" + own)).string();
  out.crash_notes = (fs::path(settings.text("data")) / ("crash" + own)).string();
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
                       configured ? Authenticator::Tokenless::refused : Authenticator::Tokenless::admin,
                       cli::token_names(settings));
}

bool wants(const cli::Settings& settings, std::string_view service) {
  const auto names = settings.list("services");
  return std::ranges::any_of(names, [&](const std::string& name) { return name == service || name == "all"; });
}

bool wants_all_of(const cli::Settings& settings, std::span<const std::string_view> services) {
  return std::ranges::all_of(services, [&](std::string_view service) { return wants(settings, service); });
}
bool wants_any_of(const cli::Settings& settings, std::span<const std::string_view> services) {
  return std::ranges::any_of(services, [&](std::string_view service) { return wants(settings, service); });
}

constexpr std::string_view kBookingSystem[] = {"booking", "course", "notify", "user-api"};
constexpr std::span kBookingServices = std::span(kBookingSystem).first<3>();

void check_services(const cli::Settings& settings) {
  const std::vector<std::string> known = {"all",    "donation", "order",    "booking",
                                          "course", "notify",   "user-api", "agentflow"};
  for (const std::string& name : settings.list("services"))
    if (std::ranges::find(known, name) == known.end())
      throw Invalid("BAD_SETTING", "there is no service " + name + cli::did_you_mean(name, known));
  if (!uses_nats(settings) && wants_any_of(settings, kBookingSystem) && !wants_all_of(settings, kBookingSystem))
    throw Invalid("BAD_SETTING",
                  "with bus memory: the services booking, course, notify and user-api run in one process: name all "
                  "four, or none");
}

// Questions of booking to course, where that runs in another process.
golf::Ask ask_course(Asking* asking) {
  if (asking == nullptr) return {};
  return [ask = asking->remote_service("course")](Request request) {
    request.caller = {.role = Role::system, .subject = "booking"};
    return ask(request);
  };
}

// A version before made such secrets in the data folder, and receivers have them.
void tell_of_raw_secret(Env env, const WebhookOptions& options, std::string_view what) {
  if (options.secret.starts_with("whsec_")) return;
  env.observer.log(Observer::Level::warn,
                   std::string(what) +
                       " are signed by a raw secret: receivers must take its bytes as the key, which libraries for "
                       "Standard Webhooks do not; for those set one that is whsec_ and base64, or remove "
                       "webhook-secret from the data folder, and one is made");
}

}  // namespace

WebhookOptions webhook_options(const cli::Settings& settings, const std::string& url, std::string_view secret_setting) {
  WebhookOptions out;
  out.url = url;
  out.secret = settings.text(secret_setting);
  if (out.secret.empty()) out.secret = cli::DataFolder(settings.text("data")).webhook_secret();
  out.allow_private = settings.enabled("webhook.allow_private");
  return out;
}

Installation::Installation(Env env, Metrics& metrics, const cli::Settings& settings, Purpose purpose, Publish publish) {
  check_services(settings);
  const std::string& alert_url = settings.text("alert.webhook");
  if (purpose != Purpose::inspect && !alert_url.empty())
    alerts_ = std::make_unique<Alerts>(env, webhook_options(settings, alert_url, "donation.webhook_secret"));
  routes_ = std::make_unique<http::Routes>(env, authenticator(env, settings, purpose), SKALD_VERSION,
                                           settings.fraction("otlp.ratio"),
                                           http::Rates{.per_subject = settings.integer("http.rate_per_subject"),
                                                       .per_address = settings.integer("http.rate_per_address")},
                                           settings.duration("http.idempotency_retention"));
  if (wants(settings, "donation") || wants(settings, "order")) {
    Unit& unit = add_unit(env, settings, purpose, Part::donation, "donation-order");
    if (wants(settings, "donation")) add_donation(env, settings, unit);
    if (wants(settings, "order")) add_order(env, settings, purpose, unit);
  }
  if (uses_nats(settings) && wants_any_of(settings, kBookingSystem))
    asking_ = as_set([&] {
      return std::make_unique<Asking>(
          env, AskingOptions{.nats = nats_options(settings),
                             .timeout = settings.duration("nats.timeout"),
                             .open_max = static_cast<std::size_t>(settings.integer("http.threads") * 3 / 4 + 1)});
    });
  if (wants_any_of(settings, kBookingServices)) add_booking(env, settings, purpose, publish);
  if (wants(settings, "agentflow"))
    add_agentflow(env, settings, add_unit(env, settings, purpose, Part::agentflow, "agentflow"), publish);
  if (asking_ && wants(settings, "user-api")) add_gateway(env, settings, std::move(publish));
  add_watching(env, metrics, settings.enabled("http.metrics_token") ? Access::admin : Access::open);
}

void Installation::add_watching(Env env, Metrics& metrics, Access metrics_access) {
  http::Watched watched{env, {}, metrics};
  watched.metrics_access = metrics_access;
  for (const auto& unit : units_) watched.engines.push_back({unit->service, *unit->engine});
  watched.missing = [gateway = gateway_.get(), provider = provider_.get()] {
    const std::string services = gateway != nullptr ? gateway->missing() : "";
    const std::string payments = provider != nullptr ? provider->missing() : "";
    return services + (services.empty() || payments.empty() ? "" : "; ") + payments;
  };
  if (units_.empty()) http::add_open_paths(*routes_, watched);
  else http::add_engine_paths(*routes_, watched);
  std::vector<http::StorySource> sources;
  if (gateway_) sources = gateway_->stories();
  for (const auto& engine : watched.engines) sources.push_back(http::story_of(engine));
  http::add_story_path(*routes_, std::move(sources));
}

void Installation::tell_settings(const cli::Settings& settings, std::vector<std::string> warnings) {
  warnings.insert(warnings.end(), warnings_.begin(), warnings_.end());
  add_installation_path(*routes_, settings, std::move(warnings), has_database());
}

Installation::~Installation() { stop(Duration::zero()); }

void Installation::start() {
  for (const auto& unit : units_) unit->engine->start();
  begin_answering_();
}

// All before the first one goes: they land events in each other.
void Installation::stop(Duration grace) {
  const Duration for_answers = grace / 2;
  for (const auto& answering : answering_) answering->stop(for_answers / static_cast<int>(answering_.size()));
  answering_.clear();
  grace -= for_answers;
  for (const auto& unit : units_) unit->engine->stop(grace / static_cast<int>(units_.size()));
}

Unit& Installation::add_unit(Env env, const cli::Settings& settings, Purpose purpose, Part part, std::string service) {
  auto unit = std::make_unique<Unit>();
  unit->service = std::move(service);
  unit->database = open_database(env, settings, part);
  unit->engine = std::make_unique<Engine>(env, *unit->database, engine_options(settings, purpose, part, alerts_.get()));
  http::migrate_api_keys(*unit->database);
  unit->engine->add_job({"skald.api-keys", 5min, [db = unit->database.get()] {
                           while (http::purge_expired(*db)) {}
                         }});
  units_.push_back(std::move(unit));
  return *units_.back();
}

void Installation::add_donation(Env env, const cli::Settings& settings, Unit& unit) {
  const std::string& url = settings.text("donation.webhook");
  if (!url.empty()) {
    WebhookOptions options = webhook_options(settings, url, "donation.webhook_secret");
    if (settings.text("donation.webhook_secret").empty() && unit.database->dialect() == Dialect::postgres)
      env.observer.log(Observer::Level::warn,
                       "announcements are signed by the data folder's own secret; processes that share a database "
                       "should share donation.webhook_secret");
    if (settings.text("donation.webhook_format") == "discord") {
      options.format = WebhookOptions::Format::discord;
      options.discord_text = [](const Message& message) {
        return escape_markdown(donation::announcement_text(message));
      };
    } else tell_of_raw_secret(env, options, "announcements");
    announcements_ = std::make_unique<WebhookBus>(env, std::move(options));
  }
  donation::install(*unit.engine, *routes_, env, {.webhook = announcements_.get()});
}

// A process that works needs a provider; one that is only asked gets along without.
void Installation::add_order(Env env, const cli::Settings& settings, Purpose purpose, Unit& unit) {
  std::string url = settings.text("order.provider");
  if (url.empty() && purpose == Purpose::work)
    throw Invalid("BAD_SETTING",
                  "a worker of the order service needs order.provider, the one that the servers have; or "
                  "choose others with --services");
  if (url.empty() && purpose == Purpose::serve) {
    provider_ = std::make_unique<ProviderProcess>(env, settings);
    url = provider_->url();
    if (unit.database->dialect() == Dialect::postgres)
      env.observer.log(Observer::Level::warn,
                       "payments go to this process's own sandbox provider; processes that share a database should "
                       "share order.provider");
  }
  order::install(*unit.engine, *routes_, env,
                 {.provider = url,
                  .pause = [](Duration time) { runtime::Wakeup().wait(time); },
                  .events_topic = std::string(http::kOverviewTopic)});
}

// Agents run where their workflow's files are: processes that share a database share the data folder, too.
void Installation::add_agentflow(Env env, const cli::Settings& settings, Unit& unit, const Publish& publish) {
  const fs::path folder = (fs::absolute(settings.text("data")) / "agentflow").lexically_normal();
  auto presets = agent_presets(settings.text("agentflow.agents"));
  if (const auto warning = sandbox_warning(env.clock, presets)) {
    env.observer.log(Observer::Level::warn, *warning);
    warnings_.push_back(*warning);
  }
  agentflow_ = agentflow::install(
      *unit.engine, *routes_, env,
      {.folder = folder.string(),
       .repositories = agentflow::git_repositories(env, settings.duration("agentflow.git_timeout")),
       .agents = agentflow::supervised_agents(env.clock, (folder / "runs").string(), supervisor_command()),
       .presets = std::move(presets),
       .variables = own_variables(),
       .secret_variables = settings.list("agentflow.secret_variables"),
       .agents_max = static_cast<int>(settings.integer("agentflow.agents_max")),
       .cost_max = static_cast<double>(settings.integer("agentflow.cost_max")),
       .workflow_time_max = settings.duration("agentflow.workflow_time_max"),
       .agents_per_machine = static_cast<int>(settings.integer("agentflow.agents_per_machine")),
       .agents_per_repository = static_cast<int>(settings.integer("agentflow.agents_per_repository")),
       .ports = agentflow::port_range(settings.text("agentflow.ports")),
       .hidden = {fs::absolute(settings.text("data")).lexically_normal().string()},
       .greet_mcp_servers = !settings.enabled("agentflow.skip_mcp_check"),
       .program = fs::read_symlink("/proc/self/exe").string(),
       .pause = [](Duration time) { runtime::Wakeup().wait(time); },
       .publish = publish});
}

void Installation::add_booking(Env env, const cli::Settings& settings, Purpose purpose, Publish publish) {
  const auto unit = [&](Part part) -> Unit* {
    const std::string name(enum_name(part));
    return wants(settings, name) ? &add_unit(env, settings, purpose, part, name) : nullptr;
  };
  const BookingUnits units{.booking = unit(Part::booking), .course = unit(Part::course), .notify = unit(Part::notify)};
  if (uses_nats(settings)) as_set([&] { connect_by_nats(env, units, nats_options(settings)); });
  else connect_in_process(units);
  const std::string& url = settings.text("booking.webhook");
  if (!url.empty() && units.notify != nullptr) {
    WebhookOptions options = webhook_options(settings, url, "booking.webhook_secret");
    tell_of_raw_secret(env, options, "notifications");
    notifications_ = std::make_unique<WebhookBus>(env, std::move(options));
  }
  if (asking_)
    publish = [publish = std::move(publish), asking = asking_.get()](std::string_view topic) {
      publish(topic);
      asking->tell_news(topic);
    };
  install_booking_system(env, units, *routes_,
                         {.booking = {.ask = ask_course(asking_.get()),
                                      .publish = std::move(publish),
                                      .timeout = settings.duration("booking.timeout"),
                                      .refund_last_day = settings.integer("booking.refund_last_day"),
                                      .charge_max = settings.integer("booking.charge_max")},
                          .notifications = notifications_.get(),
                          .lock_tries = static_cast<int>(settings.integer("booking.lock_tries"))});
  if (!asking_ || purpose != Purpose::serve) return;
  const AnsweringOptions options{.nats = nats_options(settings),
                                 .service = "",
                                 .threads = static_cast<std::size_t>(settings.integer("http.threads")),
                                 .patience = settings.duration("nats.timeout")};
  begin_answering_ = [this, env, options] {
    for (const auto& one : units_) {
      if (std::ranges::find(kBookingServices, one->service) == kBookingServices.end()) continue;
      AnsweringOptions own = options;
      own.service = one->service;
      answering_.push_back(std::make_unique<Answering>(env, own, *routes_));
    }
  };
}

// The services of the booking system that are not here, through their paths.
void Installation::add_gateway(Env env, const cli::Settings& settings, Publish publish) {
  std::vector<std::string> elsewhere;
  for (const std::string_view service : kBookingServices)
    if (!wants(settings, service)) elsewhere.emplace_back(service);
  gateway_ = std::make_unique<Gateway>(env, *asking_, elsewhere, *routes_);
  news_ = std::make_unique<News>(env, nats_options(settings), std::move(publish));
}

}  // namespace skald::host
