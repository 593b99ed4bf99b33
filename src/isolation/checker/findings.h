// The findings of one check as they are collected: each once, and in words.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "isolation/checker/history.h"

namespace skald::checker {

class Findings {
 public:
  Findings(const History& history, std::size_t max) : history_(history), max_(max) {}

  // `entries` are the operations that have a part in it, the culprit or victim first. A
  // second finding of the same anomaly with the same sagas and row is dropped; false
  // then, and where there are enough.
  bool add(Anomaly anomaly, const std::vector<Index>& entries, std::vector<Edge> edges, std::string explanation);

  // Whether these sagas have been reported for this row, by a closer name than cycle.
  bool explained(const std::vector<Index>& entries) const;

  // saga 'o-1' (order.place) in step 'reserve'
  std::string who(Index entry) const;
  // product/A12
  std::string row(Index entry) const;
  Edge edge(EdgeKind kind, Index from, Index to) const;

  std::vector<Finding> take();

 private:
  std::string identity(Anomaly anomaly, const std::vector<Index>& entries) const;
  std::string countermeasure(Anomaly anomaly, const std::vector<Index>& entries) const;

  const History& history_;
  std::size_t max_;
  std::vector<Finding> found_;
  std::unordered_map<std::string, std::size_t> known_;  // identity to place in found_
};

}  // namespace skald::checker
