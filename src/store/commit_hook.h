// What both stores do where a transaction has emitted events.
#pragma once

#include "skald/database.h"

namespace skald {

// An event that nobody writes down would be lost without a word.
inline CommitHook& required_hook(CommitHook* hook) {
  if (hook == nullptr)
    throw Error("NO_OUTBOX", "an event was emitted, but no Engine is attached to this database: create one first");
  return *hook;
}

}  // namespace skald
