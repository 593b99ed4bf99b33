// A real database in a process that dies, stops, or loses an answer at a chosen commit.
// Thread safe.
#pragma once

#include "crash/fate.h"
#include "skald/database.h"

namespace skald::crash {

class LethalDatabase final : public Database {
 public:
  LethalDatabase(std::unique_ptr<Database> real, Fate& fate) : real_(std::move(real)), fate_(fate) {}

  void write(std::string_view name, const Body& body) override;
  void read(const Body& body) override { real_->read(body); }
  void migrate(std::string_view component, std::span<const Migration> steps) override {
    real_->migrate(component, steps);
  }
  Dialect dialect() const override { return real_->dialect(); }
  void set_commit_hook(CommitHook* hook) override { real_->set_commit_hook(hook); }
  void announce(std::span<const int> partitions) override { real_->announce(partitions); }
  std::unique_ptr<Listener> listen() override { return real_->listen(); }
  void set_announcement_waker(std::function<void()> waker) override { real_->set_announcement_waker(std::move(waker)); }
  bool flush_announcements() override { return real_->flush_announcements(); }
  std::vector<Session> sessions() const override { return real_->sessions(); }
  bool end_sessions(std::span<const Session> sessions) override { return real_->end_sessions(sessions); }

 protected:
  Rows run_alone(std::string_view sql, std::span<const Param> params) override;

 private:
  const std::unique_ptr<Database> real_;
  Fate& fate_;
};

}  // namespace skald::crash
