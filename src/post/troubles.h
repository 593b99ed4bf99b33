// Why nothing reaches a subscriber, for operators. Thread safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "skald/env.h"

namespace skald::post {

struct Trouble {
  std::string why;  // as of the last answer
  Time since{};
};

class Troubles {
 public:
  explicit Troubles(Env env) : env_(env) {}

  // Logged where it is the first since the last end().
  void note(const std::string& subscriber, std::string why);
  // It is reached. False: there was no trouble.
  bool end(const std::string& subscriber);
  std::map<std::string, Trouble> all() const;

 private:
  Env env_;
  mutable std::mutex mutex_;  // guards troubles_
  std::map<std::string, Trouble> troubles_;
};

}  // namespace skald::post
