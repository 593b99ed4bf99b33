// How much each of many holds of something that is short.
#pragma once

#include <string>
#include <unordered_map>

namespace skald::http {

// Who holds nothing is forgotten: as many names are kept as there are holders. Not thread safe.
class Shares {
 public:
  std::size_t held(const std::string& who) const {
    const auto found = held_.find(who);
    return found == held_.end() ? 0 : found->second;
  }
  void add(const std::string& who, std::size_t amount) {
    if (amount > 0) held_[who] += amount;
  }
  // At most what was added.
  void remove(const std::string& who, std::size_t amount) {
    const auto found = held_.find(who);
    if (found == held_.end()) return;
    found->second -= amount;
    if (found->second == 0) held_.erase(found);
  }

 private:
  std::unordered_map<std::string, std::size_t> held_;
};

}  // namespace skald::http
