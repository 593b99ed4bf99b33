// An event as it leaves this service, and the span of its sending.
#pragma once

#include <optional>

#include "outbox/handling.h"

namespace skald::outbox {

// A child of its sending. The span is named by the event's id, not by chance: a message has the same bytes at every
// attempt and in every process, and what its handlers did has one parent.
Message outgoing(const Env& env, const Handling& handling, const Entry& entry);
std::optional<Span> begin_sending(const Env& env, const Entry& entry);
// An attempt that failed is beside the one that did not.
void end_sending(const Env& env, Span& span, const Entry& entry, const std::string& service, const Outcome& outcome);

}  // namespace skald::outbox
