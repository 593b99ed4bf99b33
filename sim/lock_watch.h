// Watches the semantic locks from commit to commit:
//   nobody shares an exclusive one, and none outlives its saga
//   who comes later does not overtake who waits, and nobody waits beside a free place
//   no sagas wait for each other
//   a lock that was granted is kept to the end of its saga, unless that turns back before it knows
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/stage.h"
#include "store/tables/semantic_lock.h"

namespace skald::sim {

class LockWatch {
 public:
  explicit LockWatch(Stage& stage) : stage_(stage) {}
  // Throws BrokenInvariant.
  void observe(Transaction& tx);

 private:
  using Row = tables::semantic_lock::Row;
  using Name = std::tuple<std::string, std::string, std::string>;  // resource, key, root

  void check_owners(Transaction& tx);
  void check_shortages(Transaction& tx);
  void check_place(const std::vector<Row>& rows) const;
  void check_circles(const std::vector<Row>& rows) const;
  void check_kept(Transaction& tx, const std::vector<Row>& rows);

  Stage& stage_;
  std::map<Name, Row> before_;
};

}  // namespace skald::sim
