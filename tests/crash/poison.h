// Code that kills its process, and how: asked of an order process by a test.
#pragma once

#include <cstdint>
#include <string>

#include "skald/json.h"

namespace skald::crash {

enum class Death {
  abort,
  null_write,  // SIGSEGV
  terminate,   // an exception that nothing catches, in the thread that runs the poison
  stray,       // the same at the top of a thread of its own: nobody can tell for whom that ran
  sigkill      // nobody can tell anything
};
BOOST_DESCRIBE_ENUM(Death, abort, null_write, terminate, stray, sigkill)

// What kills: a call, a transaction, or the handler of an event.
enum class Poisoned { remote_step, local_step, handler };
BOOST_DESCRIBE_ENUM(Poisoned, remote_step, local_step, handler)

inline constexpr const char* kPoisonType = "test.poison";       // of the event, and of the saga with the call
inline constexpr const char* kPoisonLocalType = "test.poison_local";
inline constexpr const char* kInnocentType = "test.innocent";

// POST /test/poison starts a saga; its locks are named by `name`.
struct Poison {
  std::string name;
  Death how = Death::sigkill;
  Poisoned what = Poisoned::remote_step;
};
BOOST_DESCRIBE_STRUCT(Poison, (), (name, how, what))

// POST /test/poison-event emits one that kills, in the middle of others, all with one commit.
struct PoisonEvent {
  Death how = Death::sigkill;
  std::int64_t innocents = 0;
};
BOOST_DESCRIBE_STRUCT(PoisonEvent, (), (how, innocents))

}  // namespace skald::crash
