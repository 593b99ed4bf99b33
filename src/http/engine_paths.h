// The engine's own paths, under /api, for operators and the console; and the open
// ones for whoever watches over the process: /healthz /readyz /metrics.
#pragma once

#include <functional>
#include <string>

#include "http/engines.h"
#include "http/router.h"
#include "observe/metrics.h"
#include "skald/env.h"

namespace skald::http {

// Publish it to make /api/stream look again, at most once a second.
inline constexpr std::string_view kOverviewTopic = "skald.overview";

// Of the reason that an operator gives for a decision.
inline constexpr std::size_t kReasonBytesMax = 500;

// All of it outlives the routes.
struct Watched {
  Env env;
  Engines engines;  // in the order in which their lists follow each other
  Metrics& metrics;
  // What else this process cannot do without and is not there, in words; empty: nothing.
  // Asked at each /readyz.
  std::function<std::string()> missing = [] { return std::string(); };
  Access metrics_access = Access::open;  // of /metrics
};

void add_engine_paths(Routes& routes, const Watched& watched);
// The open ones alone, for a process without an engine.
void add_open_paths(Routes& routes, const Watched& watched);

// The parts of it, one file each.
void add_outbox_paths(Routes& routes, const Engines& engines);
void add_dead_letter_paths(Routes& routes, const Engines& engines);
void add_subscriber_paths(Routes& routes, const Engines& engines);
void add_overview_paths(Routes& routes, const Watched& watched);
void add_metrics_path(Routes& routes, const Watched& watched);
void add_saga_paths(Routes& routes, const Engines& engines);
void add_lock_paths(Routes& routes, const Engines& engines);
void add_history_paths(Routes& routes, const Engines& engines);
void add_isolation_paths(Routes& routes, const Engines& engines);

std::optional<std::string> unless_empty(const std::string& text);

// A stored payload as JSON again. What is none, because somebody has been at the
// table, is shown as a string.
RawJson shown_payload(const std::string& payload);

}  // namespace skald::http
