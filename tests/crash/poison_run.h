// One run with code that always kills its process, and innocent work in the same hands: processes are
// started again at once, and in the end only what kills is parked.
#pragma once

#include <string>
#include <vector>

#include "crash/poison.h"
#include "skald/database.h"

namespace skald::crash {

// A death that the process can tell of counts at once: three, and it is parked. Where nobody can tell,
// suspicion has to be narrowed before a death counts.
inline constexpr int kDeathsTold = 3, kDeathsMax = 8;
constexpr bool can_be_told(Death how) { return how != Death::stray && how != Death::sigkill; }

struct PoisonSetup {
  Dialect dialect = Dialect::sqlite;
  Poisoned what = Poisoned::remote_step;
  Death how = Death::sigkill;
  std::string name() const;
};

struct PoisonReport {
  int deaths = 0;
  double seconds = 0;              // until everything but the poison has ended
  std::vector<std::string> faults;
};

// Up to a minute or two where it goes wrong.
PoisonReport run_poisoned(const PoisonSetup& setup);

}  // namespace skald::crash
