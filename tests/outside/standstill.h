// A call outside of the database that stands still until the test lets it go on, so that two things meet in the order
// that the test wants. Thread safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace skald::test {

class Standstill {
 public:
  // The next call of that name stands still before it begins.
  void at(std::string_view call);
  // Throws std::runtime_error where none comes within a minute.
  void until_there();
  // Also where none has come: then none will stand still.
  void go_on();

  // The witness of all calls.
  std::shared_ptr<void> meet(std::string_view call);

 private:
  enum class Phase { nothing, wanted, there };

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Phase phase_ = Phase::nothing;
  std::string call_;
};

}  // namespace skald::test
