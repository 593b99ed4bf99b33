// Why nothing reaches a subscriber, for operators. Thread safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "skald/env.h"

namespace skald::post {

class Troubles {
 public:
  explicit Troubles(Env env) : env_(env) {}

  // Logged where it is the first since the last end().
  void note(const std::string& subscriber, std::string why);
  // It is reached. False: there was no trouble.
  bool end(const std::string& subscriber);
  std::map<std::string, std::string> all() const;

 private:
  Env env_;
  mutable std::mutex mutex_;  // guards whys_
  std::map<std::string, std::string> whys_;
};

}  // namespace skald::post
