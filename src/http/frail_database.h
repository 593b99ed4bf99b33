// For the tests of this folder: a database that can be taken away.
#pragma once

#include <memory>

#include "support/test_database.h"

namespace skald::http {

class FrailDatabase final : public Database {
 public:
  FrailDatabase(Dialect dialect, Env env) : real_(test::TestDatabase::of(dialect, env)) {}
  void write(std::string_view name, const Body& body) override { real().write(name, body); }
  void read(const Body& body) override { real().read(body); }
  void migrate(std::string_view component, std::span<const Migration> steps) override {
    real().migrate(component, steps);
  }
  Dialect dialect() const override { return (*real_)->dialect(); }
  void set_commit_hook(CommitHook* hook) override { (*real_)->set_commit_hook(hook); }
  void announce(std::span<const int> partitions) override { (*real_)->announce(partitions); }
  std::unique_ptr<Listener> listen() override { return (*real_)->listen(); }
  bool away = false;

 private:
  Database& real() {
    if (away) throw Unavailable("CONNECT_FAILED", "it was taken away");
    return **real_;
  }
  std::unique_ptr<test::TestDatabase> real_;
};

}  // namespace skald::http
