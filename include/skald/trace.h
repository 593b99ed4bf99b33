// Traces: what was caused by what, across services. The W3C trace context
// ("00-<trace id>-<span id>-<flags>") goes with requests, questions, events and sagas; a span
// is one piece of work in it. Spans are made only where the context says that its trace is
// sampled and the observer wants to hear of them: everywhere else they cost a look at a flag.
//
//   std::optional<Span> span = begin_span(env, request.traceparent, Span::Kind::client, {"ask ", service});
//   call(span ? span->traceparent() : request.traceparent);
//   if (span) end_span(env, *span);
//
// A span that is begun and thrown away was never there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "skald/env.h"

namespace skald {

struct Span {
  enum class Kind { internal = 1, server, client, producer, consumer };  // numbered as OTLP does
  struct Attribute {
    std::string name;
    std::variant<std::string, std::int64_t> value;
  };

  std::string trace_id, span_id;
  std::string parent_id = {};  // empty: the first of its trace
  std::string name = {};       // of few: no ids in it
  Kind kind = Kind::internal;
  Time start{}, end{};
  std::optional<std::string> error = {};  // why it failed
  std::vector<Attribute> attributes = {};

  // The context of what is done inside of it.
  std::string traceparent() const;
};

bool is_traceparent(std::string_view text);
// Of a valid one: the 32 digits that name the trace, the 16 that name the span.
std::string_view trace_id(std::string_view traceparent);
std::string_view span_id(std::string_view traceparent);
// Any text; false for what is no context.
bool is_sampled(std::string_view traceparent);

// The context of our own work: a new span in the caller's trace, or in a new trace where what
// came is absent or not valid. Of new traces the share `ratio` (0 to 1) is sampled.
std::string continue_trace(std::string_view incoming, Random& random, double ratio = 1);
// The same context, but that nobody makes spans in it.
std::string unsampled(std::string_view traceparent);

// A span that begins now, a child of `parent`; its name in parts. Nothing where nobody wants it.
std::optional<Span> begin_span(const Env& env, std::string_view parent, Span::Kind kind,
                               std::initializer_list<std::string_view> name);
// The same where the span's own context is made already, by continue_trace(parent).
std::optional<Span> begin_span_as(const Env& env, std::string_view own, std::string_view parent, Span::Kind kind);
// Ends it now and tells the observer.
void end_span(const Env& env, Span& span);
void end_failed_span(const Env& env, Span& span, std::string error);

// Sixteen digits that stand for a number, and never for "none".
std::string span_digits(std::uint64_t bits);

}  // namespace skald
