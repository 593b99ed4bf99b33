// ./dev bench outbox | store | saga | booking | agentflow | before: Skald, the hand-written limit, the peers and the
// version before, on the same work in one run. Exits with 1 where a promise was not kept.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "roles.h"
#include "sections.h"

namespace bench {
namespace {

int run(const Options& options) {
  Server server(options.postgres);
  Report report(options);
  report.setting("machine", std::to_string(std::thread::hardware_concurrency()) + " cores; PostgreSQL " +
                                server.version() + " with default durability");
  report.setting("runs", number(options.seconds, 1) + " s each, " + std::to_string(options.rounds) +
                             " interleaved rounds, medians");
  if (options.name == "outbox") {
    Rates rates;
    if (options.wants("e2e")) rates = measure_end_to_end(server, options, report);
    if (options.wants("drain")) measure_drain(server, options, report);
    if (options.wants("latency")) measure_latency(server, options, report, rates);
    if (options.wants("idle")) measure_idle(server, options, report);
    if (options.wants("history")) measure_history(server, options, report);
  } else if (options.name == "saga") {
    if (options.wants("throughput")) measure_saga_throughput(server, options, report);
    if (options.wants("latency")) measure_saga_latency(server, options, report);
    if (options.wants("workers")) measure_saga_workers(server, options, report);
    if (options.wants("sqlite")) measure_saga_sqlite(options, report);
    if (options.wants("hot")) measure_hot_sagas(server, options, report);
    if (options.wants("release")) measure_releases(server, report);
    if (options.wants("sleepers")) measure_sleepers(server, options, report);
  } else if (!options.against.empty()) {
    measure_bookings_against(options, report);
  } else if (options.name == "booking") {
    if (options.wants("embedded")) measure_embedded_bookings(options, report);
    if (options.wants("distributed")) measure_distributed_bookings(options, report);
    if (options.wants("polling")) measure_polling_bookings(server, options, report);
  } else if (options.name == "agentflow") {
    if (options.wants("overhead"))
      measure_flow_overhead(options, report);  // before what is deleted keeps the disk busy
    if (options.wants("starts")) measure_flow_starts(options, report);
    if (options.wants("flood")) measure_flow_flood(options, report);
  } else if (options.name == "before") {
    measure_before(server, options, report);
    if (options.wants("instructions")) measure_instructions(server, options, report);
  } else {
    if (options.wants("sqlite")) measure_sqlite_store(options, report);
    if (options.wants("postgres")) measure_postgres_store(server, options, report);
  }
  return report.finish() ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  try {
    if (argc > 1 && std::string(argv[1]) == "role") return bench::run_role(argc, argv);
    return bench::run(bench::parse_options(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "skald_bench: %s\n", error.what());
    return 1;
  }
}
