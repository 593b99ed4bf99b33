// The business that the simulated services do: rows that tell afterwards what was
// committed, what was applied, and under whose fence.
//
//   local.*   two consumers, ledger and thanks
//   both.*    one consumer, mirror, then the bus
//   bus.*     the bus alone
//   nobody.*  nobody: completes with nothing
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/stage.h"
#include "skald/bus.h"
#include "skald/database.h"
#include "skald/entry.h"

namespace skald::sim {

// How an event behaves wherever it comes: it is part of its payload.
enum class Temper { calm, flaky, doomed, unacceptable, poison };

struct Intent {
  std::string subject, key, type;
  Temper temper = Temper::calm;
};

Intent draw_intent(Stage& stage, std::string subject);
Temper temper_of(std::string_view payload);
std::vector<std::string> consumers_of(std::string_view type);
bool goes_to_bus(std::string_view type);

void create_business_tables(Database& db);

// The event, and beside it a row that is the truth about what was committed, in
// the order of commits.
void announce_gift(Transaction& tx, const Intent& intent);

// Under what a handler acts, as its process believes.
struct Footing {
  std::string worker;
  std::int64_t fence = 0;
};
void apply_gift(Transaction& tx, std::string_view consumer, const Message& message, const Footing& footing);
// What a service is told of its event's end.
void note_settled(Transaction& tx, const Entry& entry, EntryStatus status, const Footing& footing);

}  // namespace skald::sim
