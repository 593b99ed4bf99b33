#include "host/booking_system.h"

#include "course/course.h"
#include "notify/notify.h"
#include "runtime/wakeup.h"

namespace skald::host {

void each_way(const BookingUnits& units,
              const std::function<void(Unit& from, const std::string& type, Unit& to)>& carry) {
  for (const char* type : {"slot.reserve", "slot.release"}) carry(units.booking, type, units.course);
  for (const char* type : {"slot.reserved", "slot.reserve.failed", "slot.released", "slot.changed"})
    carry(units.course, type, units.booking);
  for (const char* type : {"booking.confirmed", "booking.failed", "booking.cancelled"})
    carry(units.booking, type, units.notify);
}

void connect_in_process(const BookingUnits& units) {
  each_way(units, [](Unit& from, const std::string& type, Unit& to) {
    from.engine->route({.type = type, .bus = from.bus.get(), .retries_max = 4});
    from.bus->subscribe(type, [&to](std::span<const Message> messages) {
      to.engine->land(messages);
      return Outcome::ok();
    });
  });
}

void install_booking_system(Env env, const BookingUnits& units, http::Routes& routes, booking::Options options,
                            Bus* notifications) {
  options.ask = [&routes](const Request& request) {
    return routes.dispatch_as({.role = Role::system, .subject = "booking"}, request);
  };
  course::install(*units.course.engine, routes, env, {.pause = [](Duration time) { runtime::Wakeup().wait(time); }});
  notify::install(*units.notify.engine, routes, env, {.webhook = notifications});
  booking::install(*units.booking.engine, routes, env, std::move(options));
}

}  // namespace skald::host
