// Calls the consumers of events, for whoever has them in a transaction: the relay, and
// the lander. Thread safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "env/crash_note.h"
#include "outbox/routing.h"
#include "skald/env.h"
#include "skald/outbox.h"
#include "skald/trace.h"

namespace skald::outbox {

// In a crash note.
inline constexpr char kEventNote = 'e';

class Handling {
 public:
  // What it is given outlives it. `notes`: where what kills this process is noted; null: nowhere.
  Handling(Env env, const Routing& routing, const OutboxOptions& options, const CrashNotes* notes)
      : env_(env), routing_(routing), options_(options), notes_(notes) {}

  Message message_of(const Entry& entry) const;

  // Calls the handler with the event, as a part of its trace. `span` is what this was, if it is
  // one; of a handler that threw it has no end.
  void call(Transaction& tx, const Consumer& consumer, const Message& message, std::optional<Span>& span) const;

  // Many events in the caller's transaction, with their inbox rows. `spans` is made anew: a
  // transaction may run several times, and they are told of once it is committed.
  void call_together(Transaction& tx, std::span<const Entry> entries, std::vector<Span>& spans) const;

  // Behind the commit of what was handled together.
  void note_delivered(std::size_t count, Instant begun, std::span<const Span> spans) const;

 private:
  Env env_;
  const Routing& routing_;
  const OutboxOptions& options_;
  const CrashNotes* notes_;
};

}  // namespace skald::outbox
