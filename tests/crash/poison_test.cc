// A step or a handler that always kills its process is the only one that is parked. All kinds of
// death, of what and on which database, are in `./dev chaos --storm --poison 30`; here are a few.
#include <gmock/gmock.h>

#include "crash/poison_run.h"

namespace skald::crash {
namespace {

class Poisoning : public testing::TestWithParam<PoisonSetup> {};

std::string test_name(const testing::TestParamInfo<PoisonSetup>& given) {
  std::string name = given.param.name();
  std::erase_if(name, [](char c) { return c == ' ' || c == '_'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Few, Poisoning,
                         testing::Values(PoisonSetup{Dialect::sqlite, Poisoned::remote_step, Death::abort},
                                         PoisonSetup{Dialect::postgres, Poisoned::remote_step, Death::null_write},
                                         PoisonSetup{Dialect::sqlite, Poisoned::local_step, Death::terminate},
                                         PoisonSetup{Dialect::sqlite, Poisoned::remote_step, Death::sigkill},
                                         PoisonSetup{Dialect::sqlite, Poisoned::handler, Death::null_write},
                                         PoisonSetup{Dialect::postgres, Poisoned::handler, Death::abort}),
                         test_name);

TEST_P(Poisoning, ParksWhatKillsAndNothingElse) {
  const PoisonReport report = run_poisoned(GetParam());
  EXPECT_THAT(report.faults, testing::IsEmpty());
  std::printf("%d deaths, everything else ended after %.1f s\n", report.deaths, report.seconds);
}

}  // namespace
}  // namespace skald::crash
