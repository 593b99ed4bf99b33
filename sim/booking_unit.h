// One service of the booking system as a simulated process: the real service, installed on a
// real engine that has no threads, over a database that fails. A crash destroys it.
#pragma once

#include <memory>
#include <string>

#include "http/router.h"
#include "sim/customer_bus.h"
#include "sim/faulty_database.h"
#include "sim/sim_courier.h"
#include "sim/stage.h"
#include "sim/unit_steps.h"
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
  using Alert = std::function<void(std::string_view code, std::string_view text)>;
  struct Surroundings {
    Stage& stage;
    PostNetwork& network;
    PostOffice& office;
    sqlite::SqliteDatabase& disk;
    FaultyDatabase::Wiring wiring;
    CustomerBus::Heard customers;
    std::function<void(const Letter&)> sends;
    Alert alert;
    std::function<Response(const Request&)> ask_course;
  };
  BookingUnit(Service service, Surroundings around);

  std::optional<Instant> wants_relay() const;

  Response call(const Caller& caller, Request request) { return routes_.dispatch_as(caller, std::move(request)); }
  Engine& engine() { return engine_; }
  UnitSteps& steps() { return steps_; }
  FaultyDatabase& db() { return db_; }
  bool idle() const { return steps_.relay_idle() && bus_.in_flight() == 0; }

 private:
  void install(Service service, const Surroundings& around);
  void subscribe(Service service);
  void watch_handling(Service service);

  Stage& stage_;
  SimClock clock_;
  BookingObserver observer_;
  Env env_;
  FaultyDatabase db_;
  CustomerBus bus_;
  SimCourier courier_;
  http::Routes routes_;
  Engine engine_;
  UnitSteps steps_;
};

// Requests, as clients write them.
Request request_of(std::string method, std::string path, std::string body = "", std::string key = "");

}  // namespace skald::sim
