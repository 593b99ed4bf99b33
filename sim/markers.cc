#include "sim/markers.h"

#include <optional>

namespace skald::sim {
namespace {

struct Place {
  std::string_view name;
  std::optional<Workload> only = {};
  bool between_workers = false;   // needs several processes on one database
  bool by_bus = false;            // needs a bus
  bool by_post = false;           // needs letters
};

constexpr Place kPlaces[] = {
    {"crash before commit"},
    {"crash after commit"},
    {"crash in a handler", Workload::outbox},
    {"crash from outside"},
    {"answer lost, committed"},
    {"answer lost, rolled back"},
    {"physical commit failed"},
    {"transaction ended by the store", Workload::outbox},
    {"body run twice"},
    {"database away"},
    {"writer stopped"},
    {"frozen inside a step"},
    {"frozen past its lease", {}, true},
    {"slow step"},
    {"clock jumped forward"},
    {"clock jumped back"},
    {"clock leapt by years"},
    {"take-over", {}, true},
    {"lease lost", {}, true},
    {"partition handed over", {}, true},
    {"graceful stop"},
    {"orphan recovered", Workload::outbox},
    {"fenced out", Workload::outbox},
    {"batch split into singles", Workload::outbox},
    {"key waits behind a retry", Workload::outbox},
    {"retry succeeded", Workload::outbox},
    {"Retry-After honoured", Workload::outbox},
    {"dead: RETRIES_EXHAUSTED", Workload::outbox},
    {"dead: REFUSED", Workload::outbox},
    {"dead: INTEGRITY", Workload::outbox},
    {"dead: CRASHED", Workload::outbox},
    {"key blocked", Workload::outbox},
    {"key unblocked", Workload::outbox},
    {"file fallback", Workload::outbox},
    {"file failed", Workload::outbox},
    {"file torn", Workload::outbox},
    {"file imported", Workload::outbox},
    {"dead letter unsaved", Workload::outbox},
    {"service deaf to its dead letter", Workload::outbox},
    {"replayed", Workload::outbox},
    {"replayed out of order", Workload::outbox},
    {"died again", Workload::outbox},
    {"discarded", Workload::outbox},
    {"tampered", Workload::outbox},
    {"retention", Workload::outbox},
    {"sent twice", Workload::outbox},
    {"message lost", Workload::outbox},
    {"message late", Workload::outbox},
    {"bus answer lost", {}, false, true},
    {"wake-up lost, delivered by the poll", Workload::outbox},
    {"batch of callers", Workload::outbox},
    {"duplicate in a batch", Workload::outbox},
    {"API answer replayed", Workload::outbox},
    {"API key reused", Workload::outbox},
    {"API key in flight", Workload::outbox},
    {"business refused", Workload::outbox},
    {"saga taken over in a call", Workload::sagas},
    {"saga taken over in an undo", Workload::sagas},
    {"call by a saga's owner of before", Workload::sagas},
    {"action overtaken by its undo", Workload::sagas},
    {"result of a call committed alone", Workload::sagas},
    {"sagas of a gone worker released", Workload::sagas},
    {"saga joined by its key", Workload::sagas},
    {"saga parked: CRASHED", Workload::sagas},
    {"saga parked: its undo keeps failing", Workload::sagas},
    {"saga parked: its step is always unavailable", Workload::sagas},
    {"question about a saga's state without an answer", Workload::sagas},
    {"saga undone at its deadline", Workload::sagas},
    {"saga undone by hand", Workload::sagas},
    {"saga that can no longer be undone", Workload::sagas},
    {"signal did not come in time", Workload::sagas},
    {"signal before anybody waits", Workload::sagas},
    {"lock waited for", Workload::sagas},
    {"lock granted to who waits", Workload::sagas},
    {"lock waited for in vain", Workload::sagas},
    {"units waited for", Workload::sagas},
    {"child taken over", Workload::sagas},
    {"child completed", Workload::sagas},
    {"child refused", Workload::sagas},
    {"child undone by its parent", Workload::sagas},
    {"money lost without locks", Workload::unlocked},
    {"dirty read named", Workload::unlocked},
    {"lost update named", Workload::unlocked},
    {"non-repeatable read named", Workload::unlocked},
    {"dirty undo named", Workload::unlocked},
    {"late success", Workload::booking},
    {"release overtakes its reserve", Workload::booking},
    {"duplicate reserve", Workload::booking},
    {"duplicate release", Workload::booking},
    {"cancel races confirm", Workload::booking},
    {"cancelled when confirmed", Workload::booking},
    {"cancelled too late", Workload::booking},
    {"slot full", Workload::booking},
    {"slot closed", Workload::booking},
    {"slot started", Workload::booking},
    {"saga timeout", Workload::booking},
    {"payment declined", Workload::booking},
    {"booking at no price", Workload::booking},
    {"refunded in part", Workload::booking},
    {"attended or not", Workload::booking},
    {"copy was stale", Workload::booking},
    {"request repeated", Workload::booking},
    {"service cut off", {}, false, false, true},
    {"letter lost", {}, false, false, true},
    {"letter doubled", {}, false, false, true},
    {"letter late", {}, false, false, true},
    {"letter behind newer ones of its lane", {}, false, false, true},
    {"letter or question cut short", {}, false, false, true},
    {"letter again after silence", {}, false, false, true},
    {"letter waits for a process that stands still", {}, false, false, true},
    {"several letters landed together", {}, false, false, true},
    {"nobody took a letter", {}, false, false, true},
    {"receiver busy", {}, false, false, true},
    {"answer to a letter lost", {}, false, false, true},
    {"answer to a letter late", {}, false, false, true},
    {"answer to a letter cut short", {}, false, false, true},
    {"letter settled by the ids of another", {}, false, false, true},
    {"question that the database cannot answer", {}, false, false, true},
    {"disk put back to a copy", Workload::post},
    {"person told of a gap", Workload::post},
    {"person told of events that nobody has sent", Workload::post},
    {"sent again after a restore", Workload::post},
    {"found to have arrived before a restore", Workload::post},
    {"call outside failed", Workload::agentflow},
    {"call outside cut off", Workload::agentflow},
    {"call outside refused half way", Workload::agentflow},
    {"answer from outside lost", Workload::agentflow},
    {"process died before a call outside", Workload::agentflow},
    {"process died amid a call outside", Workload::agentflow},
    {"process died after a call outside", Workload::agentflow},
    {"supervisor of an agent died", Workload::agentflow},
    {"machine rebooted", Workload::agentflow},
    {"second try of an interrupted task", Workload::agentflow},
    {"agent asked a person", Workload::agentflow},
    {"agent completed its task by word", Workload::agentflow},
    {"query answered by a running agent", Workload::agentflow},
    {"client asked again", Workload::agentflow},
    {"workflow restored", Workload::agentflow},
    {"restoration undone", Workload::agentflow},
    {"works side by side joined", Workload::agentflow},
    {"join of works undone", Workload::agentflow},
    {"workflow integrated", Workload::agentflow},
    {"integration undone", Workload::agentflow},
};
static_assert(std::size(kPlaces) == kMarkers);

const Place& place_of(Marker marker) { return kPlaces[static_cast<std::size_t>(marker)]; }

}  // namespace

std::string_view name_of(Marker marker) { return place_of(marker).name; }

bool is_wanted(Marker marker, Workload workload) {
  const auto only = place_of(marker).only;
  const bool by_post = workload == Workload::booking || workload == Workload::post;
  if (place_of(marker).by_post) return by_post;
  if ((by_post || workload == Workload::agentflow) && place_of(marker).between_workers) return false;
  if ((workload == Workload::post || workload == Workload::agentflow) && place_of(marker).by_bus) return false;
  // Without locks it is all about what the checker names.
  return workload == Workload::unlocked ? only == workload : only.value_or(workload) == workload;
}

}  // namespace skald::sim
