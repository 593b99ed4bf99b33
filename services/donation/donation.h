// The donation service: takes donations and announces exactly what was taken to
// the outside, through any crash. The showcase of the outbox by itself.
//
//   WebhookBus webhooks(env, …);
//   donation::install(engine, router, env, {.webhook = &webhooks});
//   engine.start();
//
// Paths: GET, POST /donation/donations · GET /donation/donations/{requestId} ·
// POST /donation/reconcile · GET /donation/invariants.
#pragma once

#include <span>
#include <string>

#include "skald/bus.h"
#include "skald/database.h"
#include "skald/engine.h"
#include "skald/env.h"
#include "skald/http.h"

namespace donation {

struct Options {
  // Carries the announcements; outlives the engine. Null: there is nobody to
  // tell, and a donation stays accepted and says so.
  skald::Bus* webhook = nullptr;
};

// Component "donation". Its tables stand beside the engine's in one database,
// because one transaction writes a donation and its outbox entry.
std::span<const skald::Migration> migrations();

// Brings the schema up to date and registers paths, route, outcome and the hourly
// reconciliation. Before engine.start(); engine, router and what `env` refers to
// must live as long as requests come.
void install(skald::Engine& engine, skald::Router& router, skald::Env env, const Options& options);

// One line of plain text about an announced donation, for chat-like receivers. It
// holds words of strangers: escape it for the place where it is shown. Throws
// Invalid or Malformed where the event is no donation.
std::string announcement_text(const skald::Message& message);

}  // namespace donation
