// One of two services that send each other notes, as a simulated process. It writes down which notes it has written and which
// it has heard, each in the transaction that does so: its history goes back with its disk.
#pragma once

#include <functional>
#include <string>

#include "sim/faulty_database.h"
#include "sim/sim_courier.h"
#include "sim/stage.h"
#include "sim/unit_steps.h"
#include "skald/engine.h"

namespace skald::sim {

class PostUnit {
 public:
  struct Surroundings {
    Stage& stage;
    PostNetwork& network;
    PostOffice& office;
    sqlite::SqliteDatabase& disk;
    FaultyDatabase::Wiring wiring;
    std::function<void(std::string_view code, std::string_view text)> alert;
    std::string name, other;
  };
  explicit PostUnit(const Surroundings& around);

  // Notes under one key, in one transaction; `next` counts them, whatever is restored.
  void write_notes(const std::string& key, int count, std::int64_t& next);

  UnitSteps& steps() { return steps_; }
  const UnitSteps& steps() const { return steps_; }
  FaultyDatabase& db() { return db_; }
  Engine& engine() { return engine_; }

 private:
  // Its log, into the trace.
  class Scribe final : public Observer {
   public:
    explicit Scribe(Stage& stage) : stage_(stage) {}
    void log(Level, std::string_view message, std::string_view fields) override {
      stage_.trace.note(stage_.now(), {"  log", message, fields});
    }

   private:
    Stage& stage_;
  };
  void hear(Transaction& tx, const Message& message);

  Stage& stage_;
  const std::string name_;
  SimClock clock_;
  Scribe scribe_;
  Env env_;
  FaultyDatabase db_;
  SimCourier courier_;
  Engine engine_;
  UnitSteps steps_;
};

}  // namespace skald::sim
