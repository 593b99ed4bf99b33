// User code (a handler, a step, an undo) inside of a transaction of ours, and whose failure it is
// when that transaction fails. All who run user code decide it here (docs/decisions/0024).
//
// | the failure                                          | is                                     |
// | comes before any user code ran                       | an outage                              |
// | leaves user code, whatever its type                  | the user code's own                    |
// | leaves it because the session with the server is gone | an outage the first time, then its own |
// | shows behind it and may come from the database       | an outage                              |
// | shows behind it and cannot                           | the user code's own                    |
//
// Behind it shows what its enqueued statements come to, and that it paused until the server ended
// the session. So after an outage the next run is watched: the server is asked behind each
// piece of user code, inside of its boundary, whether all of it has worked.
//
// An outage costs nobody an attempt. For one thread.
#pragma once

#include <exception>

#include "env/foreign_code.h"
#include "skald/database.h"

namespace skald {

class UserCode {
 public:
  explicit UserCode(bool watched = false) : watched_(watched) {}

  // Before the transaction, and at the begin of each run of its body.
  void begin_run() noexcept;

  template <class F>
  void call(Transaction& tx, F&& code) {
    ran_ = true;
    try {
      run_foreign(code);
      if (watched_) confirm(tx);
    } catch (...) {
      thrown_ = std::current_exception();
      throw;
    }
  }

  // In a handler of what the transaction threw: false is an outage, and the next run is watched.
  bool is_own();
  // Whether the exception that is being handled is the one that has left user code.
  bool has_thrown() const { return thrown_ != nullptr && std::current_exception() == thrown_; }

  // Some user code has come through, or has failed by itself: what comes next is not suspected.
  void forgive() noexcept { watched_ = false; }
  bool is_watched() const { return watched_; }
  void watch() noexcept { watched_ = true; }

 private:
  static void confirm(Transaction& tx);
  bool may_be_outage(bool session_lost);

  bool watched_;
  bool ran_ = false;
  std::exception_ptr thrown_;
};

}  // namespace skald
