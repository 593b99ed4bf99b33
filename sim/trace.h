// Every scheduling decision and its outcome, as one hash; printed on demand. Two
// runs of one seed must have the same hash.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string_view>

#include "skald/env.h"

namespace skald::sim {

class Trace {
 public:
  explicit Trace(std::ostream* out) : out_(out) {}

  void note(Instant at, std::initializer_list<std::string_view> words) {
    mix(static_cast<std::uint64_t>(at.time_since_epoch().count()));
    for (const std::string_view word : words) {
      for (const char c : word) mix_byte(static_cast<unsigned char>(c));
      mix_byte(0);
    }
    if (out_ == nullptr) return;
    *out_ << at.time_since_epoch().count();
    for (int i = 0; i < depth; ++i) *out_ << "   |";
    for (const std::string_view word : words) *out_ << ' ' << word;
    *out_ << '\n';
  }

  std::uint64_t hash() const { return hash_; }
  bool printed() const { return out_ != nullptr; }
  int depth = 0;  // of steps inside of steps, for the print

 private:
  void mix(std::uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8) mix_byte(static_cast<unsigned char>(number & 255));
  }
  void mix_byte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3; }

  std::ostream* out_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace skald::sim
