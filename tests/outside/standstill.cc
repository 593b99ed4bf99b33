#include "outside/standstill.h"

#include <chrono>
#include <stdexcept>

namespace skald::test {

void Standstill::at(std::string_view call) {
  const std::scoped_lock lock(mutex_);
  phase_ = Phase::wanted;
  call_ = call;
}

void Standstill::until_there() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::minutes(1), [&] { return phase_ == Phase::there; }))
    throw std::runtime_error("nobody has called " + call_);
}

void Standstill::go_on() {
  const std::scoped_lock lock(mutex_);
  phase_ = Phase::nothing;
  changed_.notify_all();
}

std::shared_ptr<void> Standstill::meet(std::string_view call) {
  std::unique_lock lock(mutex_);
  if (phase_ != Phase::wanted || call != call_) return nullptr;
  phase_ = Phase::there;
  changed_.notify_all();
  changed_.wait(lock, [&] { return phase_ == Phase::nothing; });
  return nullptr;
}

}  // namespace skald::test
