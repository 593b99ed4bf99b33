#include "skald/secret_mask.h"

#include <algorithm>

namespace skald {

SecretMask::SecretMask(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& secret) { return secret.size() < kBytesMin; });
  std::ranges::sort(secrets_, std::ranges::greater{}, &std::string::size);
  for (const std::string& secret : secrets_) begins_.set(static_cast<unsigned char>(secret[0]));
}

std::string SecretMask::pass(std::string_view bytes) {
  if (secrets_.empty()) return std::string(bytes);
  held_ += bytes;
  return replace(More::may_come);
}

std::string SecretMask::rest() { return replace(More::never); }

// From left to right; at a place where the longest one that fits is not whole yet, what follows is held back.
std::string SecretMask::replace(More more) {
  std::string out;
  std::size_t at = 0;
  while (at < held_.size()) {
    const std::string_view left = std::string_view(held_).substr(at);
    const auto fits = [&](const std::string& secret) {
      return more == More::may_come && left.size() < secret.size() ? secret.starts_with(left)
                                                                   : left.starts_with(secret);
    };
    const auto found =
        begins_[static_cast<unsigned char>(left[0])] ? std::ranges::find_if(secrets_, fits) : secrets_.end();
    if (found == secrets_.end()) {
      out += held_[at++];
    } else if (found->size() > left.size()) {
      break;
    } else {
      out += "***";
      at += found->size();
    }
  }
  held_.erase(0, at);
  return out;
}

std::string masked(const std::vector<std::string>& secrets, std::string_view text) {
  SecretMask mask(secrets);
  std::string out = mask.pass(text);
  return out += mask.rest();
}

}  // namespace skald
