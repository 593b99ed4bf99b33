// A role in a process of its own, told what to do over its stdin and heard over
// its stdout: "ready", then "go" to it, then "stop" where it is a consumer, "done".
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace bench {

class Child {
 public:
  explicit Child(const std::vector<std::string>& command);
  ~Child();  // kills what has not ended
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Throws where the child says anything else or nothing within `seconds`.
  void expect(const std::string& word, double seconds = 60);
  void tell(const std::string& word);
  // All that it says, until it ends by itself.
  std::string hear_out();
  pid_t pid() const { return pid_; }

 private:
  std::string command_;
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string heard_;
};

}  // namespace bench
