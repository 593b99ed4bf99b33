// What one seed sets up: how many processes, which settings, which faults and how
// often. Each kind of fault is on or off for a whole run: a run that has only some
// of them goes deeper than one that has them all.
#pragma once

#include "sim_kit/random.h"
#include "skald/outbox.h"

namespace skald::sim {

// All per mille, of the chances they have.
struct Rates {
  // of a write
  int away = 0, busy = 0, crash_before = 0, crash_after = 0, commit_fails = 0, answer_lost = 0, body_twice = 0;
  int bury_fails = 0;                    // of a write into the dead letters, or of one that ends its entry
  int slow = 0, freeze = 0;              // before or after a write
  int announce_lost = 0;                 // of a wake-up across processes
  // of a send
  int lost = 0, doubled = 0, send_answer_lost = 0, late = 0, server_error = 0, too_many = 0, refused = 0;
  // of a file operation
  int short_write = 0, sync_error = 0;
  // of an event
  int flaky = 0, doomed = 0, unacceptable = 0, poison = 0;
  // of an action of the outside
  int kill = 0, stop = 0, nap = 0, jump = 0, tamper = 0;
  // of a function of a saga's state that its definition asks, and of a service that is told of a dead letter
  int unclear = 0, deaf = 0;
  // of a call outside of the database, as agentflow makes it; and of what befalls agents
  int outside_fails = 0, outside_cut_off = 0, outside_answer_lost = 0, outside_refused = 0, outside_dies = 0;
  int outside_slow = 0;
  int interrupted = 0, reboot = 0;
  // of a letter, a question or an answer
  int truncated = 0;
  // of a disk: it is copied; it is put back to a copy
  int copy = 0, restore = 0;
};

// What the simulated processes are busy with.
enum class Workload {
  outbox,
  sagas,
  unlocked, // sagas that read, think and write, with their locks off: the checker must tell what comes of it
  booking,  // the booking system: three services with a database each
  post,     // two services that send each other notes, on disks that are put back to copies now and then
  agentflow // workflows of agents, with simulated git, agents and disk
};

struct Plan {
  Workload workload = Workload::outbox;
  bool sole = false;                     // one process on SQLite; otherwise leases
  int processes = 1;
  int keys = 4;
  int decisions = 500;                   // before everything heals
  OutboxOptions options;
  int route_retries_max = 2;
  Duration saga_deadline = 20s;
  std::int64_t refund_last_day = 0;      // percent
  bool runs_sagas() const { return workload == Workload::sagas || workload == Workload::unlocked; }
  bool locked() const { return workload != Workload::unlocked; }
  bool is_anything_late = false;         // of what is sent by the post
  bool healed = false;
  Rates rates;
};

inline constexpr std::int64_t kChargeMax = 5000;  // what a booking may cost

Plan draw_plan(SimRandom& dice, Workload workload);

}  // namespace skald::sim
