// What the paths of this service share. Kept alive by the handlers that hold it.
#pragma once

#include <memory>

#include "booking/booking.h"
#include "booking/lifecycle.h"

namespace booking {

struct Desk {
  skald::Engine& engine;
  skald::Env env;
  Options options;
  std::shared_ptr<Lifecycle> lifecycle;

  skald::Database& db() const { return engine.database(); }
};
using DeskHandle = std::shared_ptr<const Desk>;

// The booking that a path names; NotFound where there is none for this caller.
Booking booking_of(skald::Transaction& tx, const skald::Request& request);

void add_answers(const DeskHandle& desk);
void add_booking_paths(const DeskHandle& desk, skald::Router& router);
void add_booking_decisions(const DeskHandle& desk, skald::Router& router);
void add_booking_events(const DeskHandle& desk, skald::Router& router);
void add_ledger_path(const DeskHandle& desk, skald::Router& router);
void add_story(const DeskHandle& desk);
void add_invariants(const DeskHandle& desk, skald::Router& router);

}  // namespace booking
