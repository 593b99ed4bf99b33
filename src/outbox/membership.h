// Which partitions this process may work on, and for how long it may believe so.
//
// Leases: one row per worker with a beat that counts up each second. A worker that
// cannot beat stops by its own monotonic clock, counted from *sending* the last
// good beat; a taker must have seen an unchanged beat for a whole lease on its own
// clock. A taken partition's fence counts up, and the dead worker's database
// sessions are ended first, so that a stopped process holds no row locks. Sessions that
// do not end at once are looked for again at the next beat; the work of others is taken meanwhile.
//
// | what happens                                 | what follows                                                 |
// | a beat comes too late, the row is still there | it goes on with what it owned: nobody has touched that        |
// | the row is gone                              | others have its work; it begins again under a new id          |
// | a beat comes while a taker ends its sessions  | it is not taken over: the row goes only with the beat seen    |
// | a worker joins or leaves, or gives a partition back | the others hear it, and beat at once: nothing waits for a lease |
// | its own beats have become fewer              | the database has lost what it acknowledged: that is told      |
//
// Sole: on SQLite one process owns the file; it adopts everything and never beats.
//
// run_once() is called by one thread, everything else by any.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/outbox.h"
#include "store/tables/subscriber.h"

namespace skald::outbox {

struct Identity {
  std::string host;
  std::int64_t pid = 0;
};

class Membership {
 public:
  enum class Kind { sole, leased };
  struct Share {
    int partition = 0;
    std::int64_t fence = 0;
    bool careful = false;  // the owner before died: its work may be what killed it
    bool leaving = false;  // wanted by another worker: begin nothing new, then give_back()
  };
  // What this process owns; a new one at every change.
  struct View {
    std::string worker;
    std::vector<Share> shares;
  };

  Membership(Env env, Database& db, Identity identity, Kind kind, const OutboxOptions& options);

  struct Result {
    Duration again_in;
    std::uint64_t live = 0;  // own partitions with something to do, a bit each
    std::optional<Duration> saga_due_in;
    std::uint64_t owed = 0;  // own partitions of which something is owed to subscribers
    bool subscribers_changed = false;
  };
  // Joins, beats, takes over and shares out. Throws what the database throws;
  // call again then, too.
  Result run_once();

  std::shared_ptr<const View> view() const;
  // False once the lease can no longer be trusted: begin nothing.
  bool trusted() const;
  void give_back(int partition);
  // Hands everything over at once; the end of a graceful stop. Nothing is blamed, and others hear of it. Where some
  // work has not ended its sessions are: what they had not committed is undone, and begun again elsewhere. Not beside
  // run_once().
  enum class Unfinished { none, some };
  void leave(Unfinished unfinished = Unfinished::none);

 private:
  View join(Transaction& tx);
  void must_count(Transaction& tx) const;  // throws Stale where others hold this worker for dead
  void drop_everything();
  void note_late_beat() const;
  void note_beats_taken_back(const std::vector<std::pair<std::string, std::int64_t>>& beats);
  using Beats = std::map<std::string, std::int64_t>;  // by worker
  Beats observe(const std::vector<std::pair<std::string, std::int64_t>>& beats, Instant sent, Instant answered);
  std::set<std::string> take_over(const Beats& dead);
  void take_over_from(const std::string& dead, std::int64_t beat);
  void share_out(std::size_t workers);
  void publish(View view);
  void tell_others();
  std::string sessions_text() const;
  std::uint64_t owned_bits() const;

  struct Seen {
    std::int64_t beat = -1;
    Instant since{};
    int observations = 0;
  };

  Env env_;
  Database& db_;
  Identity identity_;
  Kind kind_;
  const OutboxOptions& options_;
  bool joined_ = false;
  std::string id_;
  std::int64_t beats_acknowledged_ = 0;
  std::size_t workers_seen_ = 0;
  std::vector<tables::subscriber::Row> subscribers_;  // as of the last beat
  std::map<std::string, Seen> others_;
  std::set<std::string> resisting_;  // dead, with sessions that the server has not ended yet

  std::mutex changing_;  // held while what is owned changes, in the database and here
  mutable std::mutex mutex_;  // guards the two below
  std::shared_ptr<const View> view_ = std::make_shared<View>();
  Instant good_until_{};
};

}  // namespace skald::outbox
