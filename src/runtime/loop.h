// A thread that calls a step again and again, waiting in between for as long as
// the step said, or until woken.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "runtime/wakeup.h"
#include "skald/env.h"

namespace skald::runtime {

class Loop {
 public:
  using Step = std::function<Duration()>;
  using Wait = std::function<void(Duration, Wakeup&)>;

  // `wait` replaces the plain wait for the wake-up. What a step or a wait throws is logged
  // and the step is called again after a pause.
  Loop(Env env, std::string name, Step step, Wait wait = {});
  ~Loop();

  void start();
  void stop();                       // waits for the step under way
  void wake() noexcept { wakeup_.set(); }
  // Wakes it if it waits and nobody has woken it yet. False: it has not begun to wait.
  bool wake_from_wait() noexcept;

  // A step is under way.
  bool is_busy() const { return busy_since_ != 0; }
  // For how long the step under way has been running; zero between steps.
  Duration busy_for() const;

 private:
  void run();
  Duration step_safely();
  void wait_safely(Duration longest);
  void note(const std::exception& error) const;

  Env env_;
  std::string name_;
  Step step_;
  Wait wait_;
  Wakeup wakeup_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> waiting_{false};
  std::atomic<std::int64_t> busy_since_{0};  // steady microseconds, 0 between steps
  std::thread thread_;
};

}  // namespace skald::runtime
