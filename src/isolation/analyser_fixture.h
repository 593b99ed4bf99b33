// Small sagas for the analyser's tests.
#pragma once

#include <string>

#include "skald/analyser.h"
#include "skald/saga.h"

namespace skald::analyser {

struct Work {
  std::string id, sku;
};
BOOST_DESCRIBE_STRUCT(Work, (), (id, sku))

inline void work(Local&, Work&) {}
inline void call(Remote&, Work&) {}

inline Saga<Work> saga(const std::string& type) { return Saga<Work>(type); }

template <class... Sagas>
Report analysed(const Sagas&... sagas) {
  return analyse({std::cref(sagas.definition())...});
}

// The finding of that kind in which the first saga suffers; null where there is none.
inline const Finding* find(const Report& report, Anomaly anomaly, const std::string& first, const std::string& second) {
  for (const Finding& each : report.findings)
    if (each.anomaly == anomaly && each.first.saga == first && each.second.saga == second) return &each;
  return nullptr;
}
inline std::string cover(const Report& report, Anomaly anomaly, const std::string& first, const std::string& second) {
  const Finding* found = find(report, anomaly, first, second);
  return found == nullptr ? "impossible" : found->covered_by.value_or("nothing");
}

// Reserves stock, then calls: what it wrote can be undone until the call has been answered.
inline Saga<Work> reserving(Guard guard = Guard::none) {
  return saga("reserve").local("reserve", work).undo(work).writes("stock", guard).remote("charge", call).pivot();
}
inline Saga<Work> reading(Guard guard = Guard::none) {
  return saga("look").local("decide", work).nothing_to_undo().reads("stock", guard);
}
// Reads in one step, calls, writes in another.
inline Saga<Work> updating(Guard guard = Guard::none) {
  return saga("update")
      .local("see", work)
      .nothing_to_undo()
      .reads("stock")
      .remote("ask", call)
      .pivot()
      .local("save", work)
      .writes("stock", guard);
}
inline Saga<Work> setting(Guard guard = Guard::none) {
  return saga("set").local("set", work).nothing_to_undo().writes("stock", guard);
}

}  // namespace skald::analyser
