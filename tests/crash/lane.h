// One saga of the order service, told to one of its ends over and over, in processes
// that die on the way. A lane has a database and a provider of its own, so that several
// can run side by side; each stays in the thread that made it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crash/scene.h"

namespace skald::crash {

struct Story {
  std::string name;
  order::Behaviour provider;
  std::string order;               // the body of its request
  bool cancelled = false;          // told from a confirmed order to its cancellation
  order::Status end{};
  std::string reason = {};         // the code of a failure
  std::vector<Commit> commits;     // that it must come through; a slow machine may make more
  // Short, because every death and every lost answer is waited for.
  Pace pace = {.lease_ms = 300, .beat_ms = 50, .call_timeout_ms = 1000};
};

class Lane {
 public:
  Lane(Dialect dialect, const Story& story);

  // The commits on the way from the request to the end, where nothing goes wrong.
  std::vector<Commit> boundaries();

  struct Told {
    bool met = false;              // the last fate that it was told
    std::vector<Commit> recovery;    // the commits of the process that finished it
  };
  // From the request to the end, through that fate; and where it has one, through the
  // second, which is the next process's. Adds to faults() what is wrong then.
  Told tell(const Doom& first, const Doom& second = {});

  const std::vector<std::string>& faults() const { return faults_; }
  // Compares the provider's books with what became of all orders, and lets the checker look
  // at how they came to it.
  void check_books();

 private:
  void prepare();
  bool ask();                      // true: it was answered
  std::optional<test::HttpAnswer> request(bool cancels) const;
  bool live();                     // to the end; false: the process has died
  bool has_ended() const;
  std::vector<Commit> commits() const;
  void check(const std::string& what);

  const Story story_;
  Scene scene_;
  std::unique_ptr<ServedProcess> process_;
  int stories_ = 0;
  std::string order_id_;
  bool answered_ = false;
  std::string answer_;             // the first to its request
  std::vector<std::string> faults_;
};

}  // namespace skald::crash
