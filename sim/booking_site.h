// The booking system as those outside of it see it: three services that may be away, and
// their disks, which outlive them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "sim/booking_unit.h"
#include "sim/stage.h"

namespace skald::sim {

inline const Caller kAdmin{.role = Role::admin, .subject = "ada"};

class BookingDisks {
 public:
  explicit BookingDisks(Stage& stage) {
    for (const Service service : kServices)
      disks_[static_cast<std::size_t>(service)] =
          std::make_unique<sqlite::SqliteDatabase>(Env{stage.database_clock, stage.engine_random, silent_observer()},
                                                   stage.disk_options(std::string(enum_name(service)) + ".db"));
  }
  sqlite::SqliteDatabase& of(Service service) { return *disks_[static_cast<std::size_t>(service)]; }
  void look(Service service, const Database::Body& body) { look_at(of(service), body); }

 private:
  std::array<std::unique_ptr<sqlite::SqliteDatabase>, std::size(kServices)> disks_;
};

class BookingSite {
 public:
  virtual ~BookingSite() = default;
  // Nothing: there was no answer, whatever has happened.
  virtual std::optional<Response> call(Service service, const Caller& caller, Request request) = 0;
  // Runs inside of the service, where it is there; false: it was not, or died in it.
  virtual bool work(Service service, const std::function<void(BookingUnit&)>& body) = 0;
};

}  // namespace skald::sim
