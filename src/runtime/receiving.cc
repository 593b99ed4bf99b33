#include "runtime/receiving.h"

#include <algorithm>

namespace skald::runtime {
namespace {

// A lease that ends by the clock is noticed within this.
constexpr Duration kLookAgain = std::chrono::seconds(1);

}  // namespace

void Receiving::add(Inlet& inlet) {
  inlets_.push_back(std::make_unique<One>(inlet));
  One& one = *inlets_.back();
  one.loop = std::make_unique<Loop>(
      env_, "receive", [this, &one] { return poll(one); },
      [&one](Duration longest, Wakeup& wakeup) {
        const int wake[] = {wakeup.fd()};
        one.inlet.poll(longest, wake);
        wakeup.clear();
      });
}

Duration Receiving::poll(One& one) {
  one.inlet.set_partitions(partitions_());
  one.inlet.poll(Duration::zero());
  one.up = one.inlet.is_up();
  return kLookAgain;
}

Duration Receiving::poll() {
  for (const auto& one : inlets_) poll(*one);
  return kLookAgain;
}

void Receiving::start() {
  for (const auto& one : inlets_) one->loop->start();
}

void Receiving::stop() {
  for (const auto& one : inlets_) {
    one->loop->stop();
    one->inlet.set_partitions(0);  // it tells the bus what is landed
  }
}

void Receiving::wake() noexcept {
  for (const auto& one : inlets_) one->loop->wake();
}

bool Receiving::all_up() const {
  return std::ranges::all_of(inlets_, [](const auto& one) { return one->up.load(); });
}

}  // namespace skald::runtime
