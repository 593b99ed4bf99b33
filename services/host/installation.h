// An installation of Skald, opened in this process: its databases, the engines on them, its
// services and their API.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bus/webhook/webhook_bus.h"
#include "cli/settings.h"
#include "host/alerts.h"
#include "host/answering.h"
#include "host/asking.h"
#include "host/gateway.h"
#include "host/news.h"
#include "host/provider_process.h"
#include "host/unit.h"
#include "http/router.h"
#include "observe/metrics.h"
#include "skald/env.h"

namespace skald::host {

class Installation {
 public:
  enum class Purpose {
    serve,    // works, and answers whoever can show who it is
    work,     // works, answers nobody
    inspect,  // for one command: the caller counts as admin; nothing is delivered
  };

  // Wakes the streams of a topic.
  using Publish = std::function<void(std::string_view topic)>;

  // Opens the databases and brings their schemas up to date. `env`, `metrics` and what
  // `publish` needs outlive it. Invalid (BAD_SETTING) where settings contradict each other.
  Installation(
      Env env, Metrics& metrics, const cli::Settings& settings, Purpose purpose,
      Publish publish = [](std::string_view) {});
  ~Installation();

  const http::Routes& routes() const { return *routes_; }
  // Adds GET /api/installation. Before requests come.
  void tell_settings(const cli::Settings& settings, std::vector<std::string> warnings);
  void start();
  void stop(Duration grace);
  bool has_database() const { return !units_.empty(); }

 private:
  Unit& add_unit(Env env, const cli::Settings& settings, Purpose purpose, Part part, std::string service);
  void add_donation(Env env, const cli::Settings& settings, Unit& unit);
  void add_order(Env env, const cli::Settings& settings, Purpose purpose, Unit& unit);
  void add_agentflow(Env env, const cli::Settings& settings, Unit& unit, const Publish& publish);
  void add_booking(Env env, const cli::Settings& settings, Purpose purpose, Publish publish);
  void add_gateway(Env env, const cli::Settings& settings, Publish publish);
  void add_watching(Env env, Metrics& metrics, Access metrics_access);

  // In the order in which they may be needed by the next ones.
  std::unique_ptr<Alerts> alerts_;
  std::unique_ptr<WebhookBus> announcements_, notifications_;
  std::unique_ptr<ProviderProcess> provider_;
  std::unique_ptr<Asking> asking_;    // null where all is in this process
  std::unique_ptr<Gateway> gateway_;  // null where user-api is not here
  std::unique_ptr<http::Routes> routes_;
  std::vector<std::string> warnings_;  // for `skald doctor`
  std::shared_ptr<void> agentflow_;   // its engine's threads use it
  std::vector<std::unique_ptr<Unit>> units_;
  std::unique_ptr<News> news_;
  std::function<void()> begin_answering_ = [] {};  // fills the next
  std::vector<std::unique_ptr<Answering>> answering_;
};

// The options of a webhook of that URL: signed by the secret of that setting, or by the data
// folder's own.
WebhookOptions webhook_options(const cli::Settings& settings, const std::string& url, std::string_view secret_setting);

}  // namespace skald::host
