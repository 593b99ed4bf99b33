#include "interleave/scenario.h"

namespace skald::test {

std::vector<Scenario> scenarios() {
  std::vector<Scenario> out;
  add_take_over_scenarios(out);
  add_emit_scenarios(out);
  add_membership_scenarios(out);
  add_comeback_scenarios(out);
  add_row_scenarios(out);
  add_isolation_scenarios(out);
  add_lock_scenarios(out);
  add_saga_scenarios(out);
  add_post_scenarios(out);
  return out;
}

}  // namespace skald::test
