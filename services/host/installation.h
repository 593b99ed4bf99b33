// An installation of Skald, opened in this process: its database, its engine, its
// services and their API.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bus/webhook/webhook_bus.h"
#include "cli/settings.h"
#include "host/alerts.h"
#include "host/provider_process.h"
#include "http/router.h"
#include "observe/metrics.h"
#include "skald/database.h"
#include "skald/engine.h"
#include "skald/env.h"

namespace skald::host {

class Installation {
 public:
  enum class Purpose {
    serve,    // works, and answers whoever can show who it is
    work,     // works, answers nobody
    inspect,  // for one command: the caller counts as admin; nothing is delivered
  };

  // Opens the database and brings its schema up to date. `env` and `metrics`
  // outlive it. Invalid (BAD_SETTING) where settings contradict each other.
  Installation(Env env, Metrics& metrics, const cli::Settings& settings, Purpose purpose);

  const http::Routes& routes() const { return *routes_; }
  Engine& engine() { return *engine_; }

 private:
  void add_donation(Env env, const cli::Settings& settings);
  void add_order(Env env, const cli::Settings& settings, Purpose purpose);

  // In the order in which they may be needed by the next ones.
  std::unique_ptr<Database> database_;
  std::unique_ptr<Alerts> alerts_;
  std::unique_ptr<WebhookBus> announcements_;
  std::unique_ptr<ProviderProcess> provider_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<http::Routes> routes_;
};

// Whether there is something to open; only SQLite's file can be looked for.
bool exists(const cli::Settings& settings);

// "sqlite data/donation.db", "postgresql://host/name": without secrets.
std::string shown_database(const cli::Settings& settings);

// The options of a webhook of that URL: signed by the configured secret, or by the
// data folder's own.
WebhookOptions webhook_options(const cli::Settings& settings, const std::string& url);

}  // namespace skald::host
