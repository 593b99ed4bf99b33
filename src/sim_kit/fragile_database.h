// The database as one simulated process sees it: the shared disk, and at every commit
// that changes a saga a place where the script may strike.
//
// The simulator of the engine itself (sim/faulty_database.h) draws faults by rates over
// every write of an outbox; here each one has a name and a number.
#pragma once

#include "sim_kit/chronicle.h"

namespace skald::sim::kit {

class FragileDatabase final : public Database {
 public:
  FragileDatabase(Stage& stage, Chronicle& chronicle) : stage_(stage), chronicle_(chronicle) {}

  void write(std::string_view name, const Body& body) override;
  void read(const Body& body) override { stage_.look(body); }
  void migrate(std::string_view component, std::span<const Migration> steps) override {
    stage_.disk.migrate(component, steps);
  }
  Dialect dialect() const override { return Dialect::sqlite; }
  void set_commit_hook(CommitHook* hook) override { hook_ = hook; }
  void announce(std::span<const int>) override {}
  std::unique_ptr<Listener> listen() override { return nullptr; }

 private:
  Stage& stage_;
  Chronicle& chronicle_;
  CommitHook* hook_ = nullptr;
};

}  // namespace skald::sim::kit
