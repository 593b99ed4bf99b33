#include "observe/otlp.h"

#include <algorithm>

#include "base/text.h"
#include "skald/error.h"
#include "skald/json.h"

namespace skald {
namespace {

constexpr std::size_t kTextMax = 500;

void add_text(std::string& out, std::string_view text) { json::write_string(out, cut_text(text, kTextMax)); }

void add_attribute(std::string& out, std::string_view name, std::string_view kind, std::string_view value) {
  out += R"({"key":)";
  add_text(out, name);
  out.append(R"(,"value":{")").append(kind).append("\":");
  add_text(out, value);
  out += "}}";
}

void add_attribute(std::string& out, const Span::Attribute& attribute) {
  if (const auto* number = std::get_if<std::int64_t>(&attribute.value))
    add_attribute(out, attribute.name, "intValue", std::to_string(*number));
  else add_attribute(out, attribute.name, "stringValue", std::get<std::string>(attribute.value));
}

std::string nanos(Time time) { return std::to_string(to_micros(time)) + "000"; }

void add_span(std::string& out, const Span& span) {
  out += R"({"traceId":")" + span.trace_id + R"(","spanId":")" + span.span_id + '"';
  if (!span.parent_id.empty()) out += R"(,"parentSpanId":")" + span.parent_id + '"';
  out += R"(,"name":)";
  add_text(out, span.name);
  // A wall clock may jump back meanwhile; what ends before it begins is refused by collectors.
  out += R"(,"kind":)" + std::to_string(static_cast<int>(span.kind)) + R"(,"startTimeUnixNano":")" + nanos(span.start) +
         R"(","endTimeUnixNano":")" + nanos(std::max(span.start, span.end)) + R"(","attributes":[)";
  for (std::size_t i = 0; i < span.attributes.size(); ++i) {
    if (i > 0) out += ',';
    add_attribute(out, span.attributes[i]);
  }
  out += ']';
  if (span.error) {
    out += R"(,"status":{"code":2,"message":)";
    add_text(out, *span.error);
    out += '}';
  }
  out += '}';
}

[[noreturn]] void bad_headers(const std::string& why) {
  throw Invalid("OTLP_HEADERS", why + "; write them like name=value,other=value");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() && text[i] == '%' ? hex_digit(text[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_digit(text[i + 2]);
    if (low < 0) {
      out += text[i];
    } else {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

bool is_header_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

}  // namespace

std::string otlp_traces(const OtlpResource& resource, std::span<const Span> spans) {
  std::string out = R"({"resourceSpans":[{"resource":{"attributes":[)";
  add_attribute(out, "service.name", "stringValue", resource.service);
  out += ',';
  add_attribute(out, "service.version", "stringValue", resource.version);
  out += R"(]},"scopeSpans":[{"scope":{"name":"skald"},"spans":[)";
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i > 0) out += ',';
    add_span(out, spans[i]);
  }
  return out + "]}]}]}";
}

std::vector<std::string> read_otlp_headers(std::string_view text) {
  std::vector<std::string> out;
  while (!trimmed(text).empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view pair = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    if (equals == pair.npos) bad_headers("a header has no '='");
    const std::string_view name = trimmed(pair.substr(0, equals));
    if (!is_header_name(name)) bad_headers("a header's name has characters that it must not have");
    const std::string value = percent_decoded(trimmed(pair.substr(equals + 1)));
    // Anything but visible ASCII and blanks could end the header.
    if (value.empty() || !std::ranges::all_of(value, [](char c) { return c >= ' ' && c < 0x7f; }))
      bad_headers("a header's value is empty, or is no visible ASCII");
    out.push_back(std::string(name) + ": " + value);
  }
  return out;
}

}  // namespace skald
