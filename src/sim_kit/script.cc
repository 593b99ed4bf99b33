#include "sim_kit/script.h"

#include <algorithm>

namespace skald::sim::kit {
namespace {

constexpr int kFaultsMax = 6;
constexpr int kRateMax = 150;

}  // namespace

// A run that has only some kinds of faults goes deeper than one that has them all.
Script::Script(std::uint64_t seed) : dice_(seed) {
  left_ = dice_->between(0, kFaultsMax);
  for (int& rate : rates_) rate = dice_->chance(400) ? dice_->between(5, kRateMax) : 0;
}

bool Script::refuses(const Place& place) {
  if (place.what == Place::What::commit || !place.way_back || place.happened) return false;
  const Refusal here{place.saga, place.step, place.element};
  if (std::ranges::find(refusable_, here) == refusable_.end()) refusable_.push_back(here);
  if (dice_) return strikes(Kind::refused, place);
  if (refusal_ != here) return false;
  if (!std::exchange(refused_, true)) note(Kind::refused, place);
  return true;
}

bool Script::strikes(Kind kind, const Place& place) {
  if (dice_) {
    if (left_ == 0 || !dice_->chance(rates_[static_cast<std::size_t>(kind)])) return false;
    --left_;
  } else if (!fault_ || fault_->kind != kind || ++seen_ != fault_->nth) {
    return false;
  }
  note(kind, place);
  return true;
}

std::optional<Kind> Script::at(const Place& place) {
  if (refuses(place)) return Kind::refused;
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<Kind>(i);
    if (applies(kind, place) && strikes(kind, place)) return kind;
  }
  return std::nullopt;
}

std::string Script::words() const {
  if (words_.empty()) return "nothing went wrong around it";
  std::string out;
  for (const std::string& one : words_) out += (out.empty() ? "" : "; then ") + one;
  return out;
}

}  // namespace skald::sim::kit
