#include "donation/donation.h"
#include "donation/invariants.h"
#include "donation/outcome.h"
#include "donation/paths.h"
#include "donation/reconciliation.h"

namespace donation {

void install(skald::Engine& engine, skald::Router& router, skald::Env env, const Options& options) {
  engine.database().migrate("donation", migrations());
  if (options.webhook != nullptr) engine.route({.type = std::string(kAccepted), .bus = options.webhook});
  engine.on_settled(std::string(kAccepted), outcome_keeper(options.webhook != nullptr));
  add_donation_paths(engine, router, env);
  add_reconciliation(engine, router, env);
  add_story(engine);
  add_invariants(engine, router);
}

}  // namespace donation
