#include "host/booking_system.h"

#include <algorithm>
#include <set>

#include "bus/nats/nats_bus.h"
#include "bus/nats/nats_inlet.h"
#include "course/course.h"
#include "golf/ways.h"
#include "notify/notify.h"
#include "runtime/wakeup.h"

namespace skald::host {
namespace {

// Everything that `from` emits comes; what is for others is left alone.
std::unique_ptr<Inlet> inlet_from(Env env, const NatsOptions& server, std::string_view from, Unit& to,
                                  const Landing& land) {
  NatsInletOptions options;
  options.connection = server;
  options.connection.name = to.service;
  options.service = to.service;
  options.topic = from;
  const auto land_ours = [&to, from, land](std::span<const Message> messages) {
    std::vector<Message> ours;
    for (const Message& message : messages)
      if (std::ranges::any_of(golf::kWays, [&](const golf::Way& way) {
            return way.from == from && way.to == to.service && way.type == message.event.type;
          }))
        ours.push_back(message);
    land(to, ours);
  };
  return std::make_unique<NatsInlet>(env, options, land_ours,
                                     [&to](std::string_view subject, std::string_view bytes, std::string_view why) {
                                       to.engine->set_aside(subject, bytes, why);
                                     });
}

std::unique_ptr<Bus> outlet_of(Env env, const NatsOptions& server, const Unit& unit) {
  NatsBusOptions options;
  options.connection = server;
  options.connection.name = unit.service;
  options.stream.topic = unit.service;
  return std::make_unique<NatsBus>(env, options);
}

}  // namespace

void each_way(const BookingUnits& units,
              const std::function<void(Unit* from, const std::string& type, Unit* to)>& carry) {
  const auto unit = [&units](std::string_view service) {
    return service == "booking" ? units.booking : service == "course" ? units.course : units.notify;
  };
  for (const golf::Way& way : golf::kWays) carry(unit(way.from), std::string(way.type), unit(way.to));
}

void land_in_engine(Unit& to, std::span<const Message> messages) { to.engine->land(messages); }

void connect_in_process(const BookingUnits& units, const Landing& land, int tries) {
  each_way(units, [&land, tries](Unit* from, const std::string& type, Unit* to) {
    from->engine->route({.type = type, .bus = from->bus.get(), .retries_max = tries - 1});
    from->bus->subscribe(type, [to, land](std::span<const Message> messages) {
      land(*to, messages);
      return Outcome::ok();
    });
  });
}

void connect_by_nats(Env env, const BookingUnits& units, const NatsOptions& server, const Landing& land, int tries) {
  each_way(units, [&](Unit* from, const std::string& type, Unit*) {
    if (from == nullptr) return;
    if (!from->outlet) from->outlet = outlet_of(env, server, *from);
    from->engine->route({.type = type, .bus = from->outlet.get(), .retries_max = tries - 1});
  });
  for (Unit* to : {units.booking, units.course, units.notify}) {
    if (to == nullptr) continue;
    std::set<std::string_view> sources;
    for (const golf::Way& way : golf::kWays)
      if (way.to == to->service) sources.insert(way.from);
    for (const std::string_view from : sources) {
      to->inlets.push_back(inlet_from(env, server, from, *to, land));
      to->engine->receive(*to->inlets.back());
    }
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
