// The threads that bring events of other services in, one for each inlet.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/loop.h"
#include "skald/bus.h"

namespace skald::runtime {

class Receiving {
 public:
  // `partitions`: what may be taken at this moment, a bit each; asked by the threads.
  Receiving(Env env, std::function<std::uint64_t()> partitions) : env_(env), partitions_(std::move(partitions)) {}

  void add(Inlet& inlet);  // before start()
  void start();
  // Lands what is being landed; what was taken and is not landed comes again.
  void stop();
  // One round of all of them, for who has no threads (steps.h); when it wants to be called again.
  Duration poll();
  void wake() noexcept;    // other partitions may be ours by now
  bool all_up() const;

 private:
  struct One {
    Inlet& inlet;
    std::atomic<bool> up{false};
    std::unique_ptr<Loop> loop = {};
  };

  Duration poll(One& one);

  Env env_;
  std::function<std::uint64_t()> partitions_;
  std::vector<std::unique_ptr<One>> inlets_;
};

}  // namespace skald::runtime
