// Saga runners in miniature: one per session of the stage, w0, w1 and w2, which all
// know the same definitions.
//
//   adder      adds one to the account in two statements, under an exclusive lock
//   keeper, sharer, hasty   hold the lock, or wait for it, until they are told to end
//   pair       two effects in one transaction, behind an earlier one
//   listener   waits for its signal, behind an earlier transaction
//   parent     waits for its child
//   buyer      takes one from the account, and waits for it where there is none
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "interleave/stage.h"
#include "saga/runner.h"

namespace skald::test {

class SagaCast {
 public:
  explicit SagaCast(Stage& stage);

  Started start(int session, const std::string& type, const std::string& id, const std::string& key = "");
  // Makes what is due this session's; it stays in its memory.
  void claim(int session);
  // Goes on with what this session has in its memory.
  void work(int session);
  void signal(Database& db, const std::string& id);
  // Puts one into the account, for whoever lacks it.
  void give(int session);
  // After the play: the last session goes on with everything that is due.
  void settle();

  SagaStatus status(const std::string& id);
  // What is wrong at the lock's place; empty where nothing is.
  std::string verdict_on_lock();

 private:
  Stage& stage_;
  saga::Registry registry_;
  std::vector<std::unique_ptr<saga::Runner>> runners_;
};

}  // namespace skald::test
