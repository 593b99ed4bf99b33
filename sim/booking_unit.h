// One service of the booking system as a simulated process: the real service, installed on a
// real engine that has no threads, over a database that fails. A crash destroys it.
#pragma once

#include <memory>
#include <string>

#include "http/router.h"
#include "runtime/steps.h"
#include "sim/booking_network.h"
#include "sim/faulty_database.h"
#include "sim/stage.h"
#include "skald/engine.h"

namespace skald::sim {

enum class Service { booking, course, notify };
BOOST_DESCRIBE_ENUM(Service, booking, course, notify)
inline constexpr Service kServices[] = {Service::booking, Service::course, Service::notify};

// What the services count and log, turned into markers.
class BookingObserver final : public Observer {
 public:
  explicit BookingObserver(Stage& stage) : stage_(stage) {}
  void count(std::string_view metric, std::int64_t by) override;
  void log(Level level, std::string_view message, std::string_view fields) override;

 private:
  Stage& stage_;
};

class BookingUnit {
 public:
  struct Surroundings {
    Stage& stage;
    BookingNetwork& network;
    BookingBroker* broker;  // null: services are sent to directly
    sqlite::SqliteDatabase& disk;
    FaultyDatabase::Wiring wiring;
    std::function<Response(const Request&)> ask_course;
  };
  BookingUnit(Service service, Surroundings around);

  // Each says when it wants to be called again.
  Duration beat();
  Duration relay();
  Duration jobs() { return steps_.jobs(); }
  std::optional<Instant> wants_relay() const;

  Response call(const Caller& caller, Request request) { return routes_.dispatch_as(caller, std::move(request)); }
  Engine& engine() { return engine_; }
  runtime::Steps& steps() { return steps_; }
  const runtime::Steps& steps() const { return steps_; }
  FaultyDatabase& db() { return db_; }
  bool idle() const { return steps_.relay_idle() && bus_.in_flight() == 0 && bus_.is_ready(); }

 private:
  void install(Service service, const Surroundings& around);

  Stage& stage_;
  SimClock clock_;
  BookingObserver observer_;
  Env env_;
  FaultyDatabase db_;
  BookingBus bus_;
  http::Routes routes_;
  Engine engine_;
  runtime::Steps steps_;
  bool wake_seen_ = false;  // the relay was woken and could not go on: it comes again by itself
};

// Requests, as clients write them.
Request request_of(std::string method, std::string path, std::string body = "", std::string key = "");

}  // namespace skald::sim
