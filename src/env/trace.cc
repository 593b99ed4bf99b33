#include "skald/trace.h"

#include <algorithm>

namespace skald {
namespace {

constexpr std::size_t kLength = 55;  // of version 00

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_zero(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c == '0'; });
}

// By the trace's own id, so that whoever decides about it anew decides the same.
bool falls_in(std::uint64_t id, double ratio) {
  constexpr double whole = 18446744073709551616.0;  // 2 to the 64th
  return ratio >= 1 || static_cast<double>(id) < ratio * whole;
}

std::string context(std::string_view trace, std::string_view span, std::string_view flags) {
  std::string out = "00-";
  out.append(trace).append("-").append(span).append("-").append(flags);
  return out;
}

}  // namespace

std::string span_digits(std::uint64_t bits) {
  static constexpr char digits[] = "0123456789abcdef";
  bits |= 1;
  std::string out(16, '0');
  for (auto place = out.rbegin(); place != out.rend(); ++place, bits >>= 4) *place = digits[bits & 15];
  return out;
}

std::string Span::traceparent() const { return context(trace_id, span_id, "01"); }

bool is_traceparent(std::string_view text) {
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  const std::string_view version = text.substr(0, 2), trace = text.substr(3, 32), span = text.substr(36, 16);
  if (!is_hex(version) || !is_hex(trace) || !is_hex(span) || !is_hex(text.substr(53, 2))) return false;
  // Later versions may add fields behind another dash; 00 may not.
  if (version == "ff" || (text.size() > kLength && (version == "00" || text[kLength] != '-'))) return false;
  return !is_zero(trace) && !is_zero(span);
}

std::string_view trace_id(std::string_view traceparent) { return traceparent.substr(3, 32); }
std::string_view span_id(std::string_view traceparent) { return traceparent.substr(36, 16); }

bool is_sampled(std::string_view traceparent) {
  if (!is_traceparent(traceparent)) return false;
  const char last = traceparent[54];  // the lowest of its bits says it
  return ((last <= '9' ? last - '0' : last - 'a' + 10) & 1) != 0;
}

std::string continue_trace(std::string_view incoming, Random& random, double ratio) {
  if (is_traceparent(incoming)) return context(trace_id(incoming), span_digits(random.next()), incoming.substr(53, 2));
  const std::uint64_t high = random.next(), low = random.next();
  return context(span_digits(high) + span_digits(low), span_digits(random.next()), falls_in(high, ratio) ? "01" : "00");
}

std::string unsampled(std::string_view traceparent) {
  if (!is_traceparent(traceparent)) return std::string(traceparent);
  return context(trace_id(traceparent), span_id(traceparent), "00");
}

std::optional<Span> begin_span(const Env& env, std::string_view parent, Span::Kind kind,
                               std::initializer_list<std::string_view> name) {
  if (parent.empty() || !env.observer.traces() || !is_sampled(parent)) return std::nullopt;
  auto span = begin_span_as(env, continue_trace(parent, env.random), parent, kind);
  for (const std::string_view part : name) span->name += part;
  return span;
}

std::optional<Span> begin_span_as(const Env& env, std::string_view own, std::string_view parent, Span::Kind kind) {
  if (!env.observer.traces() || !is_sampled(own)) return std::nullopt;
  Span span{.trace_id = std::string(trace_id(own)), .span_id = std::string(span_id(own))};
  if (is_traceparent(parent)) span.parent_id = span_id(parent);
  span.kind = kind;
  span.start = env.clock.now();
  return span;
}

void end_span(const Env& env, Span& span) {
  span.end = env.clock.now();
  env.observer.span(span);
}

void end_failed_span(const Env& env, Span& span, std::string error) {
  span.error = std::move(error);
  end_span(env, span);
}

}  // namespace skald
