// What is true in a run, and the invariants checked against it after every event:
//   I1 committed => applied exactly once per consumer in the end, or in sight as a dead letter
//   I2 apply order per key = commit order, but for what is marked out of order
//   I3 no effect under a fence below the highest seen, and a fence has one owner
//   I7 one idempotency key => one effect, one answer
//   I9 acknowledged to a client => survives
// Every check throws BrokenInvariant.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "sim/faulty_file.h"
#include "sim/stage.h"

namespace skald::sim {

class Ledger {
 public:
  explicit Ledger(Stage& stage) : stage_(stage) {}
  void watch(const FaultyFile& file) { files_.push_back(&file); }

  // Something was committed, under this name; look at it with the next observe().
  void wrote(std::string_view name);
  void observe();

  // A message has arrived at the receiver. `stray`: after its send was over, or from
  // an owner that has lost the partition since; it may come late, but not changed.
  void received(const Message& message, bool stray);
  void sending(const Message& message, std::int64_t fence, Duration since_step_began);
  std::int64_t fence_of(int partition);

  // What clients were told.
  void acknowledged(const std::string& subject);
  void denied(const std::string& subject);
  void answered(const std::string& key, const std::string& request_body, const std::string& answer);
  // A worker's beat is durable, and the worker trusts it from when it sent it.
  void beat_seen(const std::string& worker, Instant sent) { last_beats_[worker] = sent; }

  void wake_lost(const std::string& event_id) { wakes_lost_.insert(event_id); }
  // Which entries are still to be done though nothing holds them back; empty: quiet.
  std::string unfinished();
  void check_end();
  void check_dead_letters();
  void mark_waiting_keys();

 private:
  struct Emitted {
    std::int64_t n = 0;
    std::string key, type, subject, payload;
    std::map<std::string, int> effects;   // by consumer
    int receipts = 0;
  };
  // Per consumer (or the receiver) and key: the latest in commit order so far.
  using Progress = std::map<std::pair<std::string, std::string>, std::int64_t>;

  [[noreturn]] void broken(std::string invariant, const std::string& text);
  Emitted& known(const std::string& id, std::string_view where);
  void observe_emitted(Transaction& tx);
  void observe_effects(Transaction& tx);
  void observe_settled(Transaction& tx);
  void observe_donations(Transaction& tx);
  void observe_owners(Transaction& tx);
  void check_order(std::string_view by, const Emitted& event, const std::string& id, bool out_of_order);
  void check_entry(const std::string& id, const Emitted& event, Transaction& tx);
  void check_footing(const Rows& rows, std::size_t row, std::size_t column, const std::string& what,
                     const std::string& id);
  bool in_a_file(std::string_view id) const;
  void first_delivery(const std::string& id);

  Stage& stage_;
  std::vector<const FaultyFile*> files_;
  bool dirty_ = true, owners_dirty_ = true, letters_dirty_ = false;
  std::int64_t emitted_upto_ = 0, effects_upto_ = 0, settled_upto_ = 0, donations_upto_ = 0;
  std::unordered_map<std::string, Emitted> events_;
  std::set<std::string> subjects_;                              // committed
  std::set<std::string> acknowledged_, denied_, wakes_lost_;
  Progress progress_;
  std::map<std::pair<int, std::int64_t>, std::string> owners_;  // of each partition's fences
  std::map<int, std::pair<std::string, std::int64_t>> held_;    // partition -> owner and fence now
  std::map<std::string, Instant> last_beats_;
  std::map<std::string, std::int64_t> donations_;               // request -> row
  std::map<std::string, std::string> answers_;                  // request -> first answer
  std::map<std::string, std::string> letter_states_;
};

}  // namespace skald::sim
