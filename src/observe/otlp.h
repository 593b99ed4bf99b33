// Spans as OpenTelemetry collectors read them: OTLP's JSON (ExportTraceServiceRequest), in which
// ids are hexadecimal, enumerations numbers, and 64-bit numbers strings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/trace.h"

namespace skald {

// Who made the spans.
struct OtlpResource {
  std::string service;  // service.name
  std::string version;
};

std::string otlp_traces(const OtlpResource& resource, std::span<const Span> spans);

// "api-key=abc,tenant=7": names and values of HTTP headers, the values percent-encoded where need
// be, as the variables of OpenTelemetry's own programs have it. Whole lines come out. Invalid
// (OTLP_HEADERS), without a value in the text, for what cannot be one.
std::vector<std::string> read_otlp_headers(std::string_view text);

}  // namespace skald
