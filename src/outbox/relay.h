// Brings events from the outbox to their consumers and buses: at least once, in
// commit order per key, exactly once in effect for local consumers.
//
// A relay works on the partitions that its Membership gives it and owns no thread:
// run_once() does at most one transaction and says when it wants to be called
// again, so that a simulator can stop it between any two.
//
// | failure                         | what happens                                    |
// | handler throws, whatever it is  | the batch is undone; its events run one by one, the failing one waits for its retry |
// | process dies in a handler       | the next owner claims what it runs, all together; what was claimed when that one dies, too, |
// |                                 | is suspect: store/tables/blame.h |
// | process dies after a send       | the next owner finds it live and sends it again, same id, same bytes |
// | partition taken by another      | nothing of this relay's commits: the fence is checked first in every transaction |
// | database unreachable            | nothing is lost; tried again after a pause      |
// | bus down                        | nothing is claimed for it and no attempt is spent; its keys wait, others go on |
// | bus breaks with events under way | whether they arrived is not known: sent again as soon as it is ready, the attempt counted |
//
// run_once() and in_hand() are called by one thread; wake(), be_careful(), orderly() and
// drain() by any.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <unordered_map>

#include "dead_letter/undertaker.h"
#include "outbox/handling.h"
#include "outbox/membership.h"
#include "outbox/routing.h"
#include "outbox/triage.h"
#include "skald/outbox.h"
#include "store/tables/outbox.h"
#include "store/tables/partition.h"

namespace skald::outbox {

// Why a dead letter that kills its workers is one.
inline constexpr std::string_view kCrashed = "CRASHED";

class Relay {
 public:
  Relay(Env env, Database& db, Membership& membership, const Routing& routing, dead_letter::Undertaker& undertaker,
        const OutboxOptions& options, const CrashNotes* notes = nullptr);

  // How long it has nothing to do, unless woken; zero: call again at once. Errors
  // of the database are logged and counted, and give a pause.
  Duration run_once();

  // New events may be in these partitions, a bit each.
  void wake(std::uint64_t partitions) { woken_.fetch_or(partitions); }
  // An event of another process that has just been committed, the news of it: handled at
  // once where nothing stands in front of it, else found by a pass. By the thread of run_once().
  void offer(Entry entry) { offered_.push_back(std::move(entry)); }
  // What comes into these partitions may be what killed its last owner: until all that is in
  // them has been looked through, it is claimed before it is run. Before it can be seen.
  void be_careful(std::uint64_t partitions) { suspected_.fetch_or(partitions); }
  // The partitions that are worked on as usual: owned, and no reason to be careful.
  std::uint64_t orderly() const { return orderly_.load(); }
  bool has_work() const { return woken_.load() != 0; }
  // It has handled many at once, and looks again soon by itself: nobody needs to call run_once() sooner.
  bool rests() const { return rest_until_.load() > env_.clock.steady(); }
  std::size_t in_hand() const { return in_hand_.size(); }

  // Begins nothing new; run_once() goes on with what is under way.
  void drain() { draining_ = true; }

 private:
  // A partition as this relay works on it.
  struct Lane {
    std::int64_t fence = 0;
    bool careful = false;
    bool leaving = false;
    bool scanning = true;  // a pass is under way or wanted
    std::int64_t after = 0;  // where the pass goes on
    HeldKeys held_keys;  // of this pass
    bool again = false;  // another pass is wanted after this one
    std::optional<Instant> due;  // the next retry
    std::size_t under_way = 0;
    bool wants_room = false;  // something waits only for fewer to be in hand
    bool wants_bus = false;  // something waits only for its bus
    bool wants_front = false;  // something waits for an earlier one of its key

    void want_pass();
    void begin_pass();
  };
  struct Finished {
    Entry entry;
    InHand begun;
    Outcome outcome;
    Duration took{};
    bool unproven = false;  // it looks like an outage: it counts if the database can write it down
  };

  struct Outlet {
    Bus* bus = nullptr;
    bool was_ready = false;
  };

  // One transaction's worth of a pass.
  struct Page {
    std::vector<tables::outbox::Position> positions;
    std::set<int> careful;
    std::size_t limit = 0;
    Instant begun{};
    // Found and decided inside of the transaction:
    tables::outbox::Pending pending;
    Triage work;
    Blames blames;
    HeldKeys held_keys;
    std::vector<Span> spans;
    Time now{};
    std::optional<int> put_off = {};  // the partition of a suspect that may not go alone yet
  };

  Duration step();
  void follow_membership();
  void follow_suspicion();
  void note_orderly();
  void find_outlets();
  void follow_buses();
  bool settle();
  bool settle_by_itself(const std::exception& error);
  void take_back_unproven();
  void write_down(Transaction& tx, std::span<const Finished> finished,
                  std::vector<dead_letter::Undertaker::Burial>& dead);
  bool bury_next();
  bool run_claimed();
  bool run_next_single();
  bool hand_over_leaving();
  bool take_offers();
  bool run_offered(const Lane& lane, const Entry& entry);
  bool scan();
  void sort_out(Transaction& tx, Page& page);
  void work_on_page(Transaction& tx, Page& page);
  void run_one_by_one(std::vector<Entry>& entries);
  void advance_lanes(const Page& page);
  void rest_after(const Page& page);
  void begin_work(Page& page);
  Duration idle_time() const;

  void complete(Transaction& tx, std::span<const Entry> entries, bool attempt_counted);
  void recover(Transaction& tx, const Entry& orphan, const Blames& blames);
  void clear_survivor(Transaction& tx, Entry& entry) const;
  void end_alone();
  bool lift_alone();
  bool lift_suspects();
  bool has_suspects() const;
  void look_for_room();
  bool run_consumers(const Entry& entry);
  void send(const Entry& entry);
  void finish(Entry entry, Outcome outcome, Duration took, bool unproven = false);
  void warn_of(const Entry& entry, const std::string& error, Time again) const;
  void take_in_hand(const Entry& entry);
  void release_from_hand(const Entry& entry);
  void release_delivered(const Entry& entry);
  bool owns(Transaction& tx, const Entry& entry) const;
  tables::partition::Ownership ownership(int partition) const;
  void note_share(std::vector<tables::partition::Ownership>& shares, int partition) const;
  bool blocks_keys() const { return options_.on_dead_letter == OnDeadLetter::block; }

  Env env_;
  Database& db_;
  Membership& membership_;
  const Routing& routing_;
  dead_letter::Undertaker& undertaker_;
  const OutboxOptions& options_;
  const Handling handling_;

  std::shared_ptr<const Membership::View> view_ = std::make_shared<Membership::View>();
  std::map<int, Lane> lanes_;
  std::optional<std::vector<Outlet>> outlets_;  // none before the first step: routes come until then
  std::unordered_map<std::string, InHand> in_hand_;
  struct Alone {
    std::string id;
    Instant until{};  // it is on its way for long then; known when it is sent
  };
  std::optional<Alone> alone_;  // of those, the suspect that a death would count against
  bool marks_stale_ = false;  // one that went alone does so no longer, and may be marked still
  std::optional<Instant> suspects_until_;  // the others of those that are suspect count as survivors then
  std::unordered_map<std::string, int> cut_offs_;  // since an event's bus has last told what became of it
  std::vector<Entry> claimed_;  // to be run together
  std::deque<Entry> singles_;  // to be run one by one
  std::vector<Finished> finished_;  // to be settled
  bool settles_singly_ = false;  // until one of them has shown why they cannot be settled together
  UserCode code_;  // handlers, in this relay's transactions
  UserCode end_code_;  // what is told of an entry's end
  std::vector<Entry> offered_;
  std::deque<dead_letter::Undertaker::Burial> burials_;
  std::atomic<std::uint64_t> woken_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> suspected_{0};
  std::atomic<std::uint64_t> orderly_{0};
  std::atomic<bool> draining_{false};
  std::atomic<Instant> rest_until_{};
  int failures_ = 0;  // of the database, in a row
};

}  // namespace skald::outbox
