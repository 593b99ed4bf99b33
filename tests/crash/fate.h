// Where a process is to die, as its test says: at a commit, or at an effect outside of the database. Thread safe.
#pragma once

#include <map>
#include <mutex>
#include <string_view>

#include "crash/doom.h"

namespace skald::crash {

class Fate {
 public:
  explicit Fate(Doom doom) : doom_(std::move(doom)) {}

  // Counts from here on. Does not return where the process is dying already.
  void expect(Doom doom);
  Commits commits() const;

  // Counts one of that name, and says what is to happen there. What is to happen during it is on its way.
  Moment meet(std::string_view name);
  [[noreturn]] static void die();

 private:
  mutable std::mutex mutex_;  // guards what follows
  Doom doom_;
  bool condemned_ = false;  // it dies at what is under way
  std::map<std::string, int, std::less<>> met_;
  Commits met_in_order_;
};

}  // namespace skald::crash
