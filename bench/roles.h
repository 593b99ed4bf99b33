// Skald's side of the contest, each role in a process of its own:
//   skald_bench role ROLE NAME URL TIMES RATE SECONDS COUNT
// It speaks the protocol of peers/peer.mjs, and as "sagas" that of peers/saga.mjs.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "skald/env.h"

namespace bench {

int run_role(int argc, char** argv);

// What a role is told.
struct Role {
  std::string kind, name, url, times;
  double rate = 0, seconds = 0;
  std::int64_t count = 0;
};
void run_sagas(const Role& role);
void run_polling(const Role& role);

void say(const char* word);
void hear(const std::string& word);  // exits where something else is said

// Shows on stderr what an engine complains about, each kind once: one saga in ten is declined, and whoever
// reads the lines would take the time that is measured.
class Complaints : public skald::Observer {
 public:
  void log(Level level, std::string_view message, std::string_view fields) override;

 private:
  std::mutex mutex_;  // guards shown_
  std::set<std::string, std::less<>> shown_;
};

}  // namespace bench
