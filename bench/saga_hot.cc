#include "saga_run.h"
#include "sections.h"

namespace bench {

void measure_hot_sagas(Server& server, const Options& options, Report& report) {
  SagaSeries shared{{"shared", "skald:shared:8", "commutative updates, side by side"}};
  SagaSeries exclusive{{"exclusive", "skald:exclusive:8", "one after the other, in order of arrival"}};
  for (int round = 0; round < options.rounds; ++round) {
    shared.run(server, options.seconds);
    exclusive.run(server, options.seconds);
  }
  const double side_by_side = shared.middle(&SagaRun::rate), in_turn = exclusive.middle(&SagaRun::rate);
  report.setting("one hot product",
                 "64 order sagas in flight on one stock row, which ask a provider that takes 2 ms between their two "
                 "transactions");
  report.table(
      "Order sagas on one hot product, per second", {"semantic lock", "sagas/s", "shared is", "what it does"},
      {{"shared", number(side_by_side), "1.00x", shared.contestant.settings},
       {"exclusive", number(in_turn), number(side_by_side / in_turn, 2) + "x", exclusive.contestant.settings}});
}

}  // namespace bench
