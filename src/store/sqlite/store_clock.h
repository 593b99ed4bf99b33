// Database time of SQLite: the machine's wall clock, made fit for deadlines.
//
// | the wall clock                 | database time                                       |
// | runs                           | follows it                                          |
// | is put forward by a minute at most | follows it                                      |
// | jumps ahead by more            | goes on as if nothing had happened                  |
// | is put back                    | goes on from where it was, by the monotonic clock   |
//
// It never runs back, so whatever it followed it could not give up again: a clock that is two
// years wrong for a moment would end every deadline for good. A jump that is not followed is
// told, in the log, by a metric and by how far the two are apart; a restart takes the wall
// clock as it is then. Thread safe.
#pragma once

#include <mutex>

#include "skald/env.h"

namespace skald::sqlite {

class StoreClock {
 public:
  explicit StoreClock(Env env);
  Time now();

 private:
  void tell(Duration ahead);

  Env env_;
  std::mutex mutex_;  // guards the rest
  Time last_;
  Instant last_steady_;
  bool apart_ = false;
};

}  // namespace skald::sqlite
