// Decides at every place whether something goes wrong there: exactly one fault at its
// n-th place, or by chance.
#pragma once

#include <array>

#include "sim_kit/fault.h"
#include "sim_kit/random.h"

namespace skald::sim::kit {

class Script {
 public:
  Script(std::optional<Refusal> refusal, std::optional<Fault> fault) : refusal_(std::move(refusal)), fault_(fault) {}
  explicit Script(std::uint64_t seed);

  std::optional<Kind> at(const Place& place);

  // Whether the fault was reached.
  bool struck() const { return !fault_ || seen_ >= fault_->nth; }
  // What went wrong, in words.
  std::string words() const;
  // Everything that could be refused with the saga going back, in order.
  const std::vector<Refusal>& refusable() const { return refusable_; }
  // Chance decides; null where the run is exact.
  SimRandom* dice() { return dice_ ? &*dice_ : nullptr; }

 private:
  bool refuses(const Place& place);
  bool strikes(Kind kind, const Place& place);
  void note(Kind kind, const Place& place) { words_.push_back(words_for(kind, place)); }

  std::optional<Refusal> refusal_;
  std::optional<Fault> fault_;
  int seen_ = 0;                        // places where the fault could strike
  bool refused_ = false;
  std::optional<SimRandom> dice_;
  std::array<int, kKinds> rates_{};     // per mille
  int left_ = 0;                        // faults that may still happen by chance
  std::vector<Refusal> refusable_;
  std::vector<std::string> words_;
};

}  // namespace skald::sim::kit
