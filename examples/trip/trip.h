// A journey: every construct that a saga can have, in one. docs/sagas.md explains them.
#pragma once

#include "../first_saga/place_order.h"
#include "skald/saga.h"

struct Leg {
  std::string from, to;
  std::optional<std::string> ticket;
};
BOOST_DESCRIBE_STRUCT(Leg, (), (from, to, ticket))

struct Trip {
  std::string traveller;
  std::vector<Leg> legs;
  bool insured = false;
  std::optional<std::string> hotel, car, approved_by;
};
BOOST_DESCRIBE_STRUCT(Trip, (), (traveller, legs, insured, hotel, car, approved_by))

// What the remote steps reach. Both keep to the rules: one effect per key, and nothing is
// booked any more under a key that was cancelled.
struct Agency {
  std::function<std::string(std::string_view key)> book;
  std::function<void(std::string_view key)> cancel;
};

inline void open_file(skald::Local& step, Trip& trip) {
  step->execute("INSERT INTO trip (saga, traveller, status) VALUES ($1, $2, 'PLANNED')", step.saga_id(),
                trip.traveller);
}
inline void close_file(skald::Local& step, Trip&) {
  step->execute("UPDATE trip SET status = 'CANCELLED' WHERE saga = $1", step.saga_id());
}
inline void insure(skald::Local& step, Trip&) {
  step->execute("UPDATE trip SET insured = 1 WHERE saga = $1", step.saga_id());
}
inline void end_insurance(skald::Local& step, Trip&) {
  step->execute("UPDATE trip SET insured = 0 WHERE saga = $1", step.saga_id());
}
inline void confirm(skald::Local& step, Trip& trip) {
  step->execute("UPDATE trip SET status = 'BOOKED' WHERE saga = $1", step.saga_id());
  step->emit({.type = "trip.booked", .key = trip.traveller, .subject = step.saga_id(), .payload = "{}"});
}

inline skald::Saga<Trip> plan_trip(Agency agency, const skald::Saga<PlaceOrder>& order) {
  using namespace std::chrono_literals;
  using skald::Local, skald::Remote;
  const auto cancel = [agency](Remote& call, Trip&) { agency.cancel(call.action_key()); };
  return skald::Saga<Trip>("trip.plan")
      .local("open file", open_file)
      .undo(close_file)
      .holds("traveller", &Trip::traveller, skald::exclusive, skald::reject)
      .writes("trip")
      .commit()

      .local("insure", insure)
      .undo(end_insurance)
      .when([](const Trip& trip) { return trip.insured; })

      .each("book leg", &Trip::legs,
            [agency](Remote& call, Trip&, Leg& leg) { leg.ticket = agency.book(call.idempotency_key()); })
      .undo(&Trip::legs, [agency](Remote& call, Trip&, Leg&) { agency.cancel(call.action_key()); })
      .retry(5, 200ms)
      .timeout(10s)

      .all("stay",
           {{"hotel", [agency](Remote& call, Trip& trip) { trip.hotel = agency.book(call.idempotency_key()); }, cancel},
            {"car", [agency](Remote& call, Trip& trip) { trip.car = agency.book(call.idempotency_key()); }, cancel}})

      .await("approval", "approved", [](Local&, Trip& trip, const skald::RawJson& who) { trip.approved_by = who.text; })
      .timeout(48h)

      .child<PlaceOrder>(
          "guidebook", order, [](const Trip&) { return PlaceOrder{"lamp", 1}; },
          [](Local&, Trip&, const PlaceOrder&) {})
      .nothing_to_undo()  // a book may be kept

      .sleep("time to think", 24h)

      .local("confirm", confirm)
      .pivot()
      .writes("trip")
      .deadline(96h);
}
