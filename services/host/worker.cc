// skald worker
#include <algorithm>

#include "cli/command.h"
#include "host/descriptors.h"
#include "host/installation.h"
#include "host/program.h"
#include "host/span_export.h"
#include "runtime/signals.h"

namespace skald::host {

int work(Program& program) {
  if (!program.settings.text("db").starts_with("postgres"))
    throw Invalid(
        "BAD_SETTING",
        "skald worker needs --db postgresql://…: a SQLite file belongs to one process, which is `skald serve`");
  const auto services = program.settings.list("services");
  const bool donates =
      std::ranges::any_of(services, [](const auto& name) { return name == "all" || name == "donation"; });
  if (donates && program.settings.text("donation.webhook").empty())
    throw Invalid("BAD_SETTING",
                  "skald worker needs donation.webhook (SKALD_DONATION_WEBHOOK), the one that the servers have: "
                  "without it nobody would be told of donations");
  runtime::StopSignals signals;
  program.log.set_lowest(log_level(program.settings));
  raise_descriptor_limit();
  const SpanExport spans(program);
  Installation installation(program.env, program.metrics, program.settings, Installation::Purpose::work);
  installation.start();
  program.env.observer.log(Observer::Level::info, "working",
                           fields({{"database", shown_database(program.settings)}, {"version", SKALD_VERSION}}));
  while (!signals.wait(1h)) {}
  runtime::end_process_after(10s);
  installation.stop(8s);
  program.env.observer.log(Observer::Level::info, "stopped");
  return cli::kDone;
}

}  // namespace skald::host
