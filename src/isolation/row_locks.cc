#include "skald/row_locks.h"

namespace skald {
namespace {

std::string shown(const std::variant<std::int64_t, std::string>& key) {
  if (const auto* number = std::get_if<std::int64_t>(&key)) return std::to_string(*number);
  return "'" + std::get<std::string>(key) + "'";
}

}  // namespace

std::optional<std::size_t> LockRanks::of(std::string_view resource) const {
  const auto found = std::ranges::find(resources_, resource);
  if (found == resources_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - resources_.begin());
}

std::string LockRanks::text() const {
  std::string out;
  for (const std::string& resource : resources_) out += (out.empty() ? "" : ", ") + resource;
  return out;
}

void RowLocks::check(std::string_view resource, Key key) {
  const auto rank = ranks_.of(resource);
  if (!rank)
    throw LockOrder("LOCK_NOT_DECLARED", step_ + " locks a row of " + std::string(resource) +
                                             ", which has no place in the order (" + ranks_.text() +
                                             "): give it one where the order is declared");
  Place wanted{*rank, std::move(key)};
  Taken& taken = tx_.shared<Taken>();
  if (!taken.empty() && wanted < taken.rbegin()->first && !taken.contains(wanted)) {
    const auto& [last, step] = *taken.rbegin();
    throw LockOrder("LOCK_ORDER", step_ + " asks for " + std::string(resource) + " " + shown(wanted.key) + " while " +
                                      (step == step_ ? "it" : step) + " holds " + ranks_.name(last.rank) + " " +
                                      shown(last.key) + ": take rows in the order " + ranks_.text() +
                                      " and those of one table sorted by key, or all at once by take_all");
  }
  taken.emplace(std::move(wanted), step_);
}

}  // namespace skald
