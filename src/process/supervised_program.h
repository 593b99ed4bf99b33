// The program of a run, from its start until nothing of it is left. For the supervisor's process alone: all children of
// that process are taken to be the run's.
#pragma once

#include <optional>
#include <string>

#include "process/feed.h"
#include "process/pipe_reader.h"
#include "process/run_folder.h"
#include "process/run_output.h"
#include "process/spawn.h"
#include "skald/process.h"
#include "skald/secret_mask.h"

namespace skald::process {

class SupervisedProgram {
 public:
  SupervisedProgram(const Clock& clock, const RunFolder& run, const RunSpec& spec, RunOutput& output);

  // Returns once every process of the run is dead.
  RunEnd run_to_end();

 private:
  bool start();
  void note_begun() const;
  void follow();
  void exchange(Duration longest);
  Duration until_next_deadline() const;
  void keep_deadlines();
  void ask_to_end(std::string why);
  bool all_ended();
  bool end_descendants();
  RunEnd outcome() const;

  const Clock& clock_;
  const RunFolder& run_;
  const RunSpec& spec_;
  RunOutput& output_;
  SecretMask mask_;

  Descriptor stops_;  // inotify: a file appears in the folder
  Descriptor children_;  // signalfd: a child has ended
  PipeReader from_program_;
  Feed input_;
  Child child_;
  Instant limit_{};
  bool ended_ = false;  // the program; others of its group may still run
  std::optional<Instant> kill_at_;  // it was asked to end
  bool killed_ = false;
  RunEnd end_;
};

}  // namespace skald::process
