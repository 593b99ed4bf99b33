#include "host/booking_system.h"

#include "bus/nats/nats_post.h"
#include "course/course.h"
#include "golf/ways.h"
#include "notify/notify.h"
#include "runtime/local_post.h"
#include "runtime/wakeup.h"

namespace skald::host {
namespace {

// Services subscribe from the beginning: of what a version before this one gave to a broker nobody knows whether it
// arrived. It is sent once more, and its receivers know it again by its id.
void subscribe_those_who_want(Unit& unit) {
  std::map<std::string_view, Subscriber> subscribers;
  for (const golf::Way& way : golf::kWays) {
    if (way.from != unit.service) continue;
    Subscriber& one = subscribers[way.to];
    one.name = way.to;
    one.types.emplace_back(way.type);
    one.from = Subscriber::From::beginning;
  }
  for (auto& [name, subscriber] : subscribers) unit.engine->subscriber(std::move(subscriber));
}

void connect(Unit& unit, std::unique_ptr<Courier> courier, std::unique_ptr<Inlet> letterbox) {
  unit.courier = std::move(courier);
  unit.letterbox = std::move(letterbox);
  unit.engine->post(*unit.courier);
  unit.engine->receive(*unit.letterbox);
  subscribe_those_who_want(unit);
}

NatsOptions connection_of(const Unit& unit, NatsOptions server) {
  server.name = unit.service;
  return server;
}

}  // namespace

PostHandlers take_by_engine(Unit& unit) {
  return {.accept = [&unit](std::span<const Letter> letters) { return unit.engine->accept(letters); },
          .answer = [&unit](const Inquiry& inquiry) { return unit.engine->answer(inquiry); }};
}

void connect_in_process(const BookingUnits& units, const Taking& taking) {
  runtime::LocalPost post;
  for (Unit* unit : {units.booking, units.course, units.notify})
    connect(*unit, post.courier(), post.letterbox(unit->service, taking(*unit)));
}

void connect_by_nats(Env env, const BookingUnits& units, const NatsOptions& server, const Taking& taking) {
  for (Unit* unit : {units.booking, units.course, units.notify}) {
    if (unit == nullptr) continue;
    const NatsOptions connection = connection_of(*unit, server);
    connect(*unit, std::make_unique<NatsCourier>(env, connection),
            std::make_unique<NatsLetterbox>(env, connection, unit->service, taking(*unit)));
  }
}

void install_booking_system(Env env, const BookingUnits& units, http::Routes& routes, BookingSurroundings around) {
  if (units.course != nullptr) {
    around.booking.ask = [&routes](const Request& request) {
      return routes.dispatch_as({.role = Role::system, .subject = "booking"}, request);
    };
    course::install(*units.course->engine, routes, env,
                    {.pause = [](Duration time) { runtime::Wakeup().wait(time); }, .lock_tries = around.lock_tries});
  }
  if (units.notify != nullptr) notify::install(*units.notify->engine, routes, env, {.webhook = around.notifications});
  if (units.booking != nullptr) booking::install(*units.booking->engine, routes, env, std::move(around.booking));
}

}  // namespace skald::host
