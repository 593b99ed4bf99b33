// What a store knows of itself and a SELECT does not show. For those who watch over the process,
// and so beside Database, which shows what its users call.
#pragma once

#include <string>

#include "skald/database.h"

namespace skald {

struct StoreHealth {
  std::string trouble = {};    // why nothing can be written, a sentence for operators; empty: it can
  bool until_restart = false;  // else the next write may find it over
};

// A Database that can tell.
class TellsHealth {
 public:
  virtual ~TellsHealth() = default;
  // Asks nobody and never blocks: what the last writes have shown. From any thread.
  virtual StoreHealth health() const = 0;
};

// Of one that cannot tell: nothing is known against it.
inline StoreHealth health_of(const Database& db) {
  const auto* const teller = dynamic_cast<const TellsHealth*>(&db);
  return teller != nullptr ? teller->health() : StoreHealth{};
}

// Asks it, and where its last write found no room writes something: whether there is some again shows only then, and
// nobody is sent to a process that is not ready.
bool can_write(Database& db);

}  // namespace skald
