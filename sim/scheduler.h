// One thread, one seed: decides after every transaction who goes on next, and lets
// processes stand still, die and start again. What the processes are, and what must hold
// of them, is for the worlds that stand on it.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "sim/stage.h"

namespace skald::sim {

class Scheduler {
 public:
  explicit Scheduler(Stage& stage) : scene_(stage) {}
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  int decisions() const { return decisions_; }

 protected:
  // Where a process lives, and what becomes of it.
  struct Slot {
    bool running = false;
    Instant frozen_until{};
    int freezes = 0;         // of its own steps, which hold it frozen from inside
    int frames = 0;          // steps of it that are under way
    bool dying = false;      // ends as soon as no frame is left
    bool graceful = false;   // a stop is under way
  };
  struct Actor {
    std::string name;
    int slot;                // -1: the outside
    enum class Kind { start, beat, part, outside } kind;
    Instant due{};
    std::function<Duration()> step;
    std::function<std::optional<Instant>()> early = {};  // where something may want it before it is due
    bool busy = false;       // under way further up
  };

  // What a world adds: the processes, and the network between them.
  virtual void begin_process(int slot) = 0;
  virtual void end_process(int slot, bool graceful) = 0;
  virtual bool writer_stopped(int slot) = 0;              // its supervisor starts it again
  virtual void drain(int slot) = 0;                       // begins nothing new
  virtual bool drained(int slot) = 0;
  virtual void leave(int slot) = 0;                       // hands the rest over
  virtual std::optional<Instant> next_arrival() = 0;
  virtual void deliver_due() = 0;
  virtual void observe() = 0;                             // after every decision

  // One decision, not later than `limit`; false: nothing happens before it.
  bool step(Instant limit);
  // Others run while a step of this process stands still.
  void pause(int slot, Duration time, bool whole_process);
  // Runs `body` as a part of the process, which may die in it.
  void inside(int slot, const std::function<void()>& body);
  void start(int slot);
  void kill(int slot);
  // Kills one, stops it, lets it nap, or moves the wall clock; by chance.
  void disturb();
  // Ends a process that was told to stop and has nothing in its hands any more.
  void stop_if_drained(int slot);
  int anybody();                                          // a slot that can be asked, or -1
  bool can_be_asked(int slot) const;
  // No process is frozen any more, those that are away come back, and the clock is right.
  void bring_back();
  // Database time has not gone astray with the wall clock.
  void check_time(sqlite::SqliteDatabase& disk) const;

  Slot& slot_of(int index) { return slots_[static_cast<std::size_t>(index)]; }
  const Slot& slot_of(int index) const { return slots_[static_cast<std::size_t>(index)]; }

  std::deque<Slot> slots_;
  std::deque<Actor> actors_;

 private:
  std::optional<Instant> due(const Actor& actor) const;   // nullopt: it cannot run
  void run_actor(Actor& actor);
  void end(int slot);
  void correct_clock();

  Stage& scene_;
  int decisions_ = 0;
  Duration leap_{};  // by which the wall clock is wrong, until somebody notices
};

}  // namespace skald::sim
