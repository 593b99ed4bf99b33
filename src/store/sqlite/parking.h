// Where one thread waits for a word from another. Cheaper than a mutex with a
// condition: who is woken takes no lock.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace skald::sqlite {

class Parking {
 public:
  // The first word that is not zero.
  int wait() {
    for (;;) {
      const int word = word_.load(std::memory_order_acquire);
      if (word != 0) return word;
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
  }
  // Whoever waits may be gone, and this with it, as soon as the word is there: nothing
  // of it is touched after that but its address.
  void say(int word) {
    std::atomic<int>* const place = &word_;
    place->store(word, std::memory_order_release);
    syscall(SYS_futex, place, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  std::atomic<int> word_{0};
};

}  // namespace skald::sqlite
