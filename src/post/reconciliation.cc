#include "post/reconciliation.h"

#include <algorithm>
#include <unordered_set>

namespace skald::post {
namespace {

constexpr int kPage = 500;
// Two databases do not have one clock.
constexpr Duration kClocksApart = std::chrono::hours(1);

}  // namespace

std::vector<std::string> Reconciliation::next_page(Transaction& tx) {
  page_ = tables::subscriber::kept(tx, row_, partition_, after_, kPage);
  std::vector<std::string> ids;
  for (const auto& kept : page_) ids.push_back(kept.id);
  return ids;
}

void Reconciliation::apply(Transaction& tx, const Knowledge& knowledge) {
  const std::unordered_set<std::string_view> known(knowledge.ids.begin(), knowledge.ids.end());
  std::vector<std::string> found, owed;
  of_page_ = {};
  for (const auto& kept : page_) {
    const bool is_known = known.contains(kept.id);
    if (is_known && kept.owed) found.push_back(kept.id);
    if (is_known || kept.owed) continue;
    if (kept.created_at > knowledge.since + kClocksApart) owed.push_back(kept.id);
    else ++of_page_.unknowable;
  }
  of_page_.found = std::ssize(found);
  of_page_.owed_again = std::ssize(owed);
  tables::subscriber::found(tx, row_, found);
  tables::subscriber::owe(tx, row_, owed);
}

void Reconciliation::turn_page() {
  after_ = page_.back().id;
  page_.clear();
  answer.reset();
  counts_.owed_again += of_page_.owed_again;
  counts_.found += of_page_.found;
  counts_.unknowable += of_page_.unknowable;
}

void Reconciliation::hear(std::optional<Knowledge> knowledge) {
  is_asked = false;
  answer = std::move(knowledge);
  if (!answer) return;
  const auto found = answer->lasts.find(partition_);
  LanePlace there = found == answer->lasts.end() ? LanePlace{} : found->second;
  if (receivers_place_ && *receivers_place_ != there) {
    after_.clear();
    page_.clear();
    answer.reset();
    counts_ = {};
  }
  receivers_place_ = std::move(there);
}

void Reconciliation::finish(Transaction& tx) const {
  tables::subscriber::move(tx, row_, partition_, place_, *receivers_place_);
}

}  // namespace skald::post
