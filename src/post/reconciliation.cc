#include "post/reconciliation.h"

#include <algorithm>
#include <unordered_set>

#include "store/tables/audit.h"

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

void Reconciliation::finish(Transaction& tx, Random& random) const {
  if (!tables::subscriber::move(tx, row_, partition_, place_, *receivers_place_)) return;
  tables::audit::insert(tx, random, "skald", "post.gap", row_.name, told());
}

std::string Reconciliation::told() const {
  return "the service " + row_.name + " has letters up to " + std::to_string(receivers_place_->number) +
         " of partition " + std::to_string(partition_) + ", and this one knows of " + std::to_string(place_.number) +
         ": one of them was restored from an older copy. Compared by ids: " + std::to_string(counts_.owed_again) +
         " events are sent again, " + std::to_string(counts_.found) + " had arrived, " +
         std::to_string(counts_.unknowable) + " are too old to be known";
}

}  // namespace skald::post
