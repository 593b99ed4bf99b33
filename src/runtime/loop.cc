#include "runtime/loop.h"

#include <algorithm>

#include "skald/json.h"

namespace skald::runtime {
namespace {

constexpr Duration kPauseAfterError = std::chrono::milliseconds(500);

}  // namespace

Loop::Loop(Env env, std::string name, Step step, Wait wait)
    : env_(env), name_(std::move(name)), step_(std::move(step)), wait_(std::move(wait)) {
  if (!wait_) wait_ = [](Duration longest, Wakeup& wakeup) { wakeup.wait(longest); };
}

Loop::~Loop() { stop(); }

void Loop::start() {
  stopping_ = false;
  thread_ = std::thread([this] { run(); });
}

void Loop::stop() {
  stopping_ = true;
  wakeup_.set();
  if (thread_.joinable()) thread_.join();
}

bool Loop::wake_from_wait() noexcept {
  if (!waiting_.exchange(false)) return false;
  wake();
  return true;
}

Duration Loop::busy_for() const {
  const auto since = busy_since_.load();
  return since == 0 ? Duration::zero() : env_.clock.steady() - Instant(Duration(since));
}

void Loop::run() {
  while (!stopping_) {
    busy_since_ = env_.clock.steady().time_since_epoch().count();
    const Duration idle = step_safely();
    busy_since_ = 0;
    if (idle <= Duration::zero() || stopping_) continue;
    waiting_ = true;
    wait_safely(idle);
    waiting_ = false;
  }
}

Duration Loop::step_safely() {
  try {
    return step_();
  } catch (const std::exception& error) {
    note(error);
    return kPauseAfterError;
  }
}

void Loop::wait_safely(Duration longest) {
  try {
    wait_(longest, wakeup_);
  } catch (const std::exception& error) {
    note(error);
    wakeup_.wait(std::min(longest, kPauseAfterError));
  }
}

void Loop::note(const std::exception& error) const {
  env_.observer.count("loop_errors_total");
  env_.observer.log(Observer::Level::error, "a loop failed and goes on",
                    "\"loop\":" + to_json(name_) + ",\"error\":" + to_json(std::string(error.what())));
}

}  // namespace skald::runtime
