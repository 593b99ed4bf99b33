// Sender: lanes of which one side knows other letters than the other.
#include <algorithm>

#include "post/sender.h"
#include "store/tables/audit.h"
#include "store/tables/outbox.h"
#include "store/tables/partition.h"

namespace skald::post {
namespace {

using tables::partition::Ownership;

constexpr Duration kAskAgain = 5s;

}  // namespace

bool Sender::is_at_rest(const LaneId& id, const LanePlace& place) const {
  return lanes_.contains(id) && db_.read_result([&](Transaction& tx) {
    return tables::subscriber::is_at_rest(tx, row_of(id.first), id.second, place);
  });
}

// Letters that another owner of the lane sent may land under a number. Ids that this database does not have are of a
// later state of it: it was restored from a backup.
void Sender::note_strange(const LaneId& id, const Lane& lane) {
  std::vector<std::string> others;
  for (const std::string& one : lane.receipt.ids)
    if (std::ranges::find(lane.ids, one) == lane.ids.end()) others.push_back(one);
  if (others.empty()) return;
  const auto known = db_.read_result([&](Transaction& tx) { return tables::outbox::find_all(tx, others); });
  if (known.size() == others.size()) return;
  const std::string text = "the service " + id.first + " has " + std::to_string(others.size() - known.size()) +
                           " events that this database does not know: was it restored from an older copy?";
  db_.write("note a strange answer",
            [&](Transaction& tx) { tables::audit::insert(tx, env_.random, "skald", "post.strange", id.first, text); });
  alert_("POST_STRANGE", text);
}

// By the place that is stored, not the one that is remembered: another worker may have gone on with the lane. A letter of
// it that is landed and not settled yet is no disagreement.
void Sender::reconcile(const LaneId& id, const LanePlace& there) {
  const auto found = lanes_.find(id);
  if (found == lanes_.end()) return;
  Lane& lane = found->second;
  const LanePlace here =
      db_.read_result([&](Transaction& tx) { return tables::subscriber::places(tx, id.first).at(id.second); });
  const Lane::State before = std::exchange(lane.state, Lane::State::idle);
  const bool was_sent = before == Lane::State::sent || before == Lane::State::disputed;
  lane.is_wanted = true;
  if (here == there || (was_sent && here != LanePlace{lane.number - 1, lane.former})) return;
  lane.state = Lane::State::reconciled;
  reconciliations_.try_emplace(id, row_of(id.first), id.second, here);
}

// False: none of them can go on now.
bool Sender::go_on_reconciling() {
  for (auto one = reconciliations_.begin(); one != reconciliations_.end(); ++one) {
    Reconciliation& work = one->second;
    if (work.is_asked || work.not_before > env_.clock.steady()) continue;
    if (!work.answer) {
      ask(one->first, work);
    } else if (work.has_page()) {
      db_.write("settle by ids", [&](Transaction& tx) {
        if (owns(tx, one->first)) work.apply(tx, *work.answer);
      });
      work.turn_page();
    } else {
      finish(one->first, work);
      reconciliations_.erase(one);
    }
    return true;
  }
  return false;
}

void Sender::ask(const LaneId& id, Reconciliation& work) {
  auto ids = db_.read_result([&](Transaction& tx) { return work.next_page(tx); });
  work.is_asked = true;
  courier_->ask(id.first, {own_id_, std::move(ids)}, [this, id](std::optional<Knowledge> knowledge) {
    const auto found = reconciliations_.find(id);
    if (found == reconciliations_.end()) return;
    found->second.not_before = env_.clock.steady() + (knowledge ? Duration::zero() : kAskAgain);
    found->second.hear(std::move(knowledge));
  });
}

void Sender::finish(const LaneId& id, const Reconciliation& work) {
  db_.write("agree on a place", [&](Transaction& tx) {
    if (owns(tx, id)) work.finish(tx, env_.random);
  });
  Lane& lane = lanes_.at(id);
  lane.state = Lane::State::idle;
  lane.is_wanted = true;
  count("post_gaps_total", id.first);
  alert_("POST_GAP", work.told());
}

bool Sender::owns(Transaction& tx, const LaneId& id) const {
  const Ownership own{id.second, view_->worker, lanes_.at(id).fence};
  return !tables::partition::check(tx, view_->worker, std::span(&own, 1)).empty();
}

}  // namespace skald::post
