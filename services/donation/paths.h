// The HTTP paths for donations themselves.
#pragma once

#include "donation/record.h"
#include "skald/engine.h"
#include "skald/http.h"

namespace donation {

// Takes a donation of `giver` in the caller's transaction, which also emits its
// announcement. `fresh` is false where this giver's request was taken before; then it is
// told what became of it. Invalid (REQUEST_ID_REUSED) where the first request had
// other fields.
struct Taken {
  DonationView view;
  bool fresh = false;
};
Taken take(skald::Engine& engine, skald::Env env, skald::Transaction& tx, const skald::Caller& giver,
           const NewDonation& asked, const std::string& traceparent);

void add_donation_paths(skald::Engine& engine, skald::Router& router, skald::Env env);
void add_story(skald::Engine& engine);

}  // namespace donation
