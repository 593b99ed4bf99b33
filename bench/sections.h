// The parts of the benchmarks. Each prints its tables and checks its promises.
#pragma once

#include <map>
#include <string>

#include "contestant.h"
#include "options.h"
#include "report.h"
#include "server.h"

namespace bench {

// Events handled per second in steady state, by contestant.
using Rates = std::map<std::string, double>;

// One run of a contestant each.
double handled_per_second(Server& server, const Contestant& contestant, double seconds);
double drained_per_second(Server& server, const Contestant& contestant, std::int64_t backlog);

// Producers in one process, handlers in another, both as fast as they can.
Rates measure_end_to_end(Server& server, const Options& options, Report& report);
// A backlog that lies there when the consumer starts.
void measure_drain(Server& server, const Options& options, Report& report);
// From the producer's commit to the handler's commit, at 50/s and at half of each
// contestant's own rate, where that is known.
void measure_latency(Server& server, const Options& options, Report& report, const Rates& rates);
// What a running engine costs that has nothing to do.
void measure_idle(Server& server, const Options& options, Report& report);
// Insert and claim with millions of finished rows against none, on both databases.
void measure_history(Server& server, const Options& options, Report& report);

// Group commit against hand-written commits.
void measure_sqlite_store(const Options& options, Report& report);
// A transaction of ours against hand-written libpq.
void measure_postgres_store(Server& server, const Options& options, Report& report);

// Order sagas: as many as can be, one at a time, by one worker process and by two.
void measure_saga_throughput(Server& server, const Options& options, Report& report);
void measure_saga_latency(Server& server, const Options& options, Report& report);
void measure_saga_workers(Server& server, const Options& options, Report& report);
// Group commit of sagas against a hand-written loop.
void measure_saga_sqlite(const Options& options, Report& report);
// All on one product: side by side, or one after the other.
void measure_hot_sagas(Server& server, const Options& options, Report& report);
// How soon one that waits goes on.
void measure_releases(Server& server, Report& report);
// What sleeping sagas cost the engine and the others, and how well they wake.
void measure_sleepers(Server& server, const Options& options, Report& report);

// Bookings by an open-loop generator: in one process, as four processes over NATS at two rates,
// and the design that the booking system began with.
void measure_embedded_bookings(const Options& options, Report& report);
void measure_distributed_bookings(const Options& options, Report& report);
void measure_polling_bookings(Server& server, const Options& options, Report& report);
// The first two of these by another version in turns with this one.
void measure_bookings_against(const Options& options, Report& report);

// Many workflows started at once beside git alone; what the engine adds to a work; agents that write much.
void measure_flow_starts(const Options& options, Report& report);
void measure_flow_overhead(const Options& options, Report& report);
void measure_flow_flood(const Options& options, Report& report);

// Another version's program in turns with this one.
void measure_before(Server& server, const Options& options, Report& report);
// Both counted by Callgrind: nearly the same figure in every run, where rates differ by a third, as long as nothing
// else is done on the machine. What PostgreSQL and the disk have to do for them is not in it.
void measure_instructions(Server& server, const Options& options, Report& report);

}  // namespace bench
