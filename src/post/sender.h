// Sends what is owed to other services: one letter at a time per lane (skald/post.h).
//
// A lane goes round: read its number and what is owed in it; send the letter; wait for the receipt; settle, in one
// transaction with what other lanes settle and read. A lane's settling is committed before its next letter is read.
//
// | failure                            | what happens                                                       |
// | no answer, or nobody is there       | the lane waits (50 ms to 5 s), reads anew, sends under the same number |
// | this process dies                   | the next owner reads the stored number, and sends what is owed then |
// | another worker has settled meanwhile | the number has moved: nothing is written, the lane is read anew    |
// | the receiver's number does not fit  | reconciliation.h                                                   |
// | an event was tampered with          | it is given to the relay, which makes a dead letter of it          |
// | database unreachable                | nothing is lost; tried again after a pause                         |
//
// run_once() is called by one thread, everything else by any.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "dead_letter/undertaker.h"
#include "env/labelled.h"
#include "outbox/handling.h"
#include "outbox/membership.h"
#include "post/reconciliation.h"
#include "post/troubles.h"
#include "skald/post.h"
#include "store/tables/subscriber.h"

namespace skald::post {

class Sender {
 public:
  // What it is given outlives it.
  Sender(Env env, Database& db, const outbox::Membership& membership, const outbox::Routing& routing,
         const OutboxOptions& options, dead_letter::Alert alert);

  // Before the first run_once(). Without a courier there is nothing to do.
  void set_courier(Courier& courier);
  // There may be other subscribers, or other partitions of ours.
  void look_again() { looks_again_ = true; }

  // At most one transaction; how long it has nothing to do, unless woken or answered.
  Duration run_once();
  // Something may be owed in these partitions, a bit each.
  void wake(std::uint64_t partitions) { woken_.fetch_or(partitions); }
  bool has_work() const { return woken_.load() != 0; }
  // Letters that wait for their answer, or for their settling.
  std::size_t under_way() const { return under_way_; }
  // Sends no more; run_once() goes on with what is under way.
  void drain() { draining_ = true; }

  // Why nothing reaches each of those that nothing reaches.
  std::map<std::string, Trouble> troubles() const { return troubles_.all(); }

 private:
  using Row = tables::subscriber::Row;
  using LaneId = std::pair<std::string, int>;  // subscriber, partition
  struct Sending {
    Entry entry;
    std::optional<Span> span;
  };
  struct Lane {
    enum class State { idle, sent, answered, disputed, reconciled };
    State state = State::idle;
    std::int64_t fence = 0;
    bool is_wanted = true;       // something may be owed in it
    bool is_in_doubt = false;    // the next letter may have been sent before, and its receiver may have died of it
    std::int64_t number = 0;   // of the letter that was sent last
    std::string former = {};
    std::vector<std::string> ids = {};
    Instant at{};                // when it was sent, or answered
    Receipt receipt = {};
    LanePlace disputed = {};  // where the receiver says that it is
    int failures = 0;
    Instant not_before{};
    std::size_t bytes = 0;
    std::vector<Sending> traced = {};
  };
  // Of the places of a subscriber's lanes: here when it was asked, and there.
  struct Comparison {
    std::string subscriber;
    std::map<int, LanePlace> before, there;
  };
  // What one transaction does.
  struct Round {
    std::map<std::string, std::vector<tables::subscriber::Landed>> landed;
    std::map<std::string, std::vector<int>> wanted;
    std::map<std::string, std::vector<tables::subscriber::Ready>> ready;  // found
  };

  Duration step();
  void find_subscribers();
  void follow_membership();
  void follow_wakes();
  void compare_places();
  void judge_answers();
  void judge(const Comparison& one);
  bool is_at_rest(const LaneId& id, const LanePlace& place) const;
  Round plan_round();
  bool settles_now() const;
  std::size_t bytes_under_way() const {
    std::size_t bytes = 0;
    for (const auto& [id, lane] : lanes_) bytes += lane.state == Lane::State::sent ? lane.bytes : 0;
    return bytes;
  }
  void run(Round& round);
  void after_settling(const Round& round);
  void send(const Row& row, const tables::subscriber::Ready& ready);
  void hear(const LaneId& id, std::int64_t number, Courier::Answer answer);
  void pause(const LaneId& id, Lane& lane, std::string why);
  void note_reached(const std::string& subscriber);
  void end_pauses(const std::string& subscriber);
  void note_strange(const LaneId& id, const Lane& lane);
  void reconcile(const LaneId& id, const LanePlace& there);
  bool go_on_reconciling();
  void ask(const LaneId& id, Reconciliation& work);
  void finish(const LaneId& id, const Reconciliation& work);
  bool owns(Transaction& tx, const LaneId& id) const;
  void count(std::string_view metric, const std::string& subscriber, std::int64_t by = 1) {
    env_.observer.count(labelled(metric, "subscriber", subscriber), by);
  }
  void count_under_way();
  Duration idle_time() const;
  const Row& row_of(const std::string& subscriber) const;

  Env env_;
  Database& db_;
  const outbox::Membership& membership_;
  const OutboxOptions& options_;
  const outbox::Handling handling_;
  dead_letter::Alert alert_;
  Troubles troubles_;
  Courier* courier_ = nullptr;

  std::string own_id_;  // of the database
  std::vector<Row> subscribers_;
  Instant compare_at_{};     // when to compare numbers again
  std::shared_ptr<const outbox::Membership::View> view_;
  std::map<LaneId, Lane> lanes_;
  std::deque<Comparison> comparisons_;
  LaneId last_begun_;        // whose turn it is comes after it
  std::map<LaneId, Reconciliation> reconciliations_;
  int failures_ = 0;         // of the database, in a row
  std::atomic<std::uint64_t> woken_{~std::uint64_t{0}};
  std::atomic<std::size_t> under_way_{0};
  std::atomic<bool> draining_{false}, looks_again_{true};
};

}  // namespace skald::post
