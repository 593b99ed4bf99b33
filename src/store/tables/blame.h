// skald_blame: what may have killed its worker, and how often it surely did.
//
// The death of a worker makes everything that it had in hand suspect, sagas and events alike. Most
// deaths are nobody's fault, so suspicion is narrowed and not counted:
//
// | deaths in a row | how the suspect is taken up again                                |
// | 1               | at once, together with the others                                |
// | 2               | in a group of at most kGroup                                     |
// | 3 and more      | alone among sagas and events, in changing order, marked here with its worker |
//
// A suspect that has run and survived is cleared. A death counts only against the one that was
// marked, or against the one that the dying process named in its crash note. At the third count the
// suspect is parked (CRASHED). It is tried again, alone, after the pauses of a setting, and parked
// again at once if it kills again.
//
// The number of deaths in a row stands in the suspect's own row (`take_overs`, `crashes`).
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::tables::blame {

enum class Kind { saga, event };

inline constexpr int kDeathsGrouped = 2, kDeathsAlone = 3;
inline constexpr std::size_t kGroup = 8;
inline constexpr int kCountsMax = 3;

// A slow call of one suspect must not hold up hundreds: after so long alone, from the moment in which its code
// began, it has survived for now, and the next may begin. A suspect that kills late gets more time at each death.
inline Duration alone_for(int deaths) { return 50ms * (1 << std::clamp(deaths - kDeathsAlone, 0, 8)); }

struct Blame {
  int counted = 0;
  int parked_at = 0;   // the count that it was last parked for
  bool sure = false;   // the last count came from a crash note
  bool is_condemned() const { return counted >= kCountsMax && counted > parked_at; }
  // Kills that come from outside come in storms: the next time alone should be after this one.
  Duration pause() const {
    if (counted == 0 || sure || is_condemned()) return Duration::zero();
    return counted == 1 ? 5s : 25s;
  }
};

std::map<std::string, Blame, std::less<>> find(Transaction& tx, Kind kind, std::span<const std::string> ids);

// From its commit on a death of `worker` counts against this one, which is the only one of its kind that goes alone
// there. False: one of the other kind does, or is just being marked. Then this one must not run yet: of two nobody
// would know which it was.
bool mark(Transaction& tx, Kind kind, std::string_view id, std::string_view worker);
// No suspect of this kind goes alone in this worker: it has survived its time, or is no longer in hand.
void lift_kind(Transaction& tx, Kind kind, std::string_view worker);
// Of a worker that leaves in peace.
void lift_all(Transaction& tx, std::string_view worker);
// It has run and survived, or a person has decided about it.
void clear(Transaction& tx, Kind kind, std::string_view id);

struct Counted {
  Kind kind{};
  std::string id;
  Blame blame;
};
// `worker` is dead: what it had marked. A death that its crash note has told is not counted twice.
std::vector<Counted> count_death(Transaction& tx, std::string_view worker);
// What the crash note of a dead worker names. False: nothing live has that id.
bool count_report(Transaction& tx, std::string_view worker, Kind kind, std::string_view id);

// It is parked for what has been counted, and due again then; for good where that is none.
void park(Transaction& tx, Kind kind, std::string_view id, std::optional<Time> retry_at);
std::optional<Duration> retry_after(const Blame& blame, std::span<const Duration> retries);
// Parked events whose time has come; their next try is theirs alone.
std::vector<std::string> take_due_events(Transaction& tx, std::size_t most);

}  // namespace skald::tables::blame
