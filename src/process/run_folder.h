// The files of one run. All but `output` and `lost` appear whole, and only the lock says who may write them.
//
// | file       | by            | what it says                                                             |
// | lock       | starter       | flock: held by whoever starts, supervises or settles the run             |
// | asked      | starter       | the run's token; a second start finds it                                 |
// | supervised | supervisor    | from here on the run is never started again                              |
// | begun      | supervisor    | the program's pid                                                        |
// | stop       | anybody       | why it shall end; the first one counts; empty where the disk was full    |
// | output     | supervisor    | both outputs as they came                                                |
// | lost       | supervisor    | bytes of output that were not kept                                       |
// | end        | who has lock  | RunEnd; the last file that is written                                    |
// | log        | supervisor    | what it had to complain of                                               |
//
// Nothing of what a run is given (arguments, variables, input) is in them: that may be secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "process/descriptor.h"
#include "skald/process.h"

namespace skald::process {

// The variable that marks every process of a run, so that they are found when nobody watches them any more.
constexpr const char* kRunVariable = "SKALD_RUN";

struct RunAsked {
  std::string token;                     // no other run has it, not even one of the same id
};
BOOST_DESCRIBE_STRUCT(RunAsked, (), (token))

struct RunBegun {
  std::int64_t pid = 0, ticks = 0;       // `ticks` as ProcessRow::started
  std::string boot;
  Time at{};
};
BOOST_DESCRIBE_STRUCT(RunBegun, (), (pid, ticks, boot, at))

struct RunEnded {
  RunEnd end;
  std::int64_t output_lost = 0;
};
BOOST_DESCRIBE_STRUCT(RunEnded, (), (end, output_lost))

class RunFolder {
 public:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file(const char* name) const { return path_ + "/" + name; }
  bool has(const char* name) const;

  // None: not written yet. Corrupt (RUN_DAMAGED): it is not what was written.
  std::optional<RunAsked> asked() const;
  std::optional<RunBegun> begun() const;
  std::optional<RunEnded> ended() const;
  std::optional<std::string> stop_reason() const;
  std::int64_t lost() const;

  // The lock, held as long as the descriptor lives; empty where somebody else holds it or the folder is gone. For a
  // supervisor it is opened to write, though nothing is written: watchers hear of the end of a writer, and so of a
  // supervisor that was killed. They do not hear of others.
  enum class LockFor { passing, supervisor };
  Descriptor try_lock(LockFor purpose = LockFor::passing) const;
  // Whether `descriptor` is open on this folder's lock.
  bool is_lock(const Descriptor& descriptor) const;

 private:
  std::string path_;
};

}  // namespace skald::process
