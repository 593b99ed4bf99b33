#include "closed_loop.h"

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace bench {

std::vector<Stamp> closed_loop(int threads, double seconds,
                               const std::function<void(int thread, std::int64_t n)>& work) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  std::vector<std::vector<Stamp>> stamps(static_cast<std::size_t>(threads));
  {
    std::vector<std::jthread> loops;
    for (int k = 0; k < threads; ++k) {
      loops.emplace_back([&, k] {
        try {
          for (std::int64_t begun = now_ns(); begun < end && !failed;) {
            work(k, next.fetch_add(1));
            const std::int64_t ended = now_ns();
            stamps[static_cast<std::size_t>(k)].push_back({begun, ended});
            begun = ended;
          }
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          failed = true;
        }
      });
    }
  }
  if (failed) throw std::runtime_error("a worker has failed");
  std::vector<Stamp> all;
  for (const auto& some : stamps) all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace bench
