#include "observe/otlp.h"

#include <gmock/gmock.h>

#include "skald/error.h"

namespace skald {
namespace {

Span some_span() {
  Span span{.trace_id = "0af7651916cd43dd8448eb211c80319c", .span_id = "b7ad6b7169203331"};
  span.name = "GET /things/{id}";
  span.kind = Span::Kind::server;
  span.start = from_micros(1'800'000'000'000'001);
  span.end = from_micros(1'800'000'000'000'250);
  return span;
}

TEST(Otlp, WritesWhatTheSpecificationOfItsJsonAsksFor) {
  Span first = some_span(), second = some_span();
  first.attributes = {{"http.route", "/things/{id}"}, {"http.response.status_code", std::int64_t{200}}};
  second.span_id = "00f067aa0ba902b7";
  second.parent_id = first.span_id;
  second.name = "say \"no\"";
  second.kind = Span::Kind::internal;
  second.error = "NO: the business says no";
  EXPECT_EQ(otlp_traces({"booking", "1.2.3"}, std::vector{first, second}),
            R"({"resourceSpans":[{"resource":{"attributes":[)"
            R"({"key":"service.name","value":{"stringValue":"booking"}},)"
            R"({"key":"service.version","value":{"stringValue":"1.2.3"}}]},)"
            R"("scopeSpans":[{"scope":{"name":"skald"},"spans":[)"
            R"({"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"b7ad6b7169203331",)"
            R"("name":"GET /things/{id}","kind":2,)"
            R"("startTimeUnixNano":"1800000000000001000","endTimeUnixNano":"1800000000000250000","attributes":[)"
            R"({"key":"http.route","value":{"stringValue":"/things/{id}"}},)"
            R"({"key":"http.response.status_code","value":{"intValue":"200"}}]},)"
            R"({"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00f067aa0ba902b7",)"
            R"("parentSpanId":"b7ad6b7169203331","name":"say \"no\"","kind":1,)"
            R"("startTimeUnixNano":"1800000000000001000","endTimeUnixNano":"1800000000000250000","attributes":[],)"
            R"("status":{"code":2,"message":"NO: the business says no"}}]}]}]})");
}

TEST(Otlp, WhatStrangersWroteIsCutAndMadeText) {
  Span span = some_span();
  span.error = std::string(2000, 'x') + "\xff";
  span.name = "a\xff";
  const std::string written = otlp_traces({"s", "1"}, std::vector{span});
  EXPECT_THAT(written, testing::HasSubstr(R"("name":"a?")"));
  EXPECT_LT(written.size(), 1200u);
}

TEST(Otlp, ASpanNeverEndsBeforeItBegins) {
  Span span = some_span();
  span.end = from_micros(5);
  EXPECT_THAT(otlp_traces({"s", "1"}, std::vector{span}),
              testing::HasSubstr(R"("endTimeUnixNano":"1800000000000001000")"));
}

TEST(Otlp, HeadersAreReadAsOpenTelemetryWritesThem) {
  EXPECT_THAT(read_otlp_headers(" api-key = abc%20d%3D , x=7=8%,, "),
              testing::ElementsAre("api-key: abc d=", "x: 7=8%"));
  EXPECT_TRUE(read_otlp_headers("").empty());
  for (const char* bad : {"secret-without-equals", "=hush", "a b=hush", "x=hush%0d%0aHost: evil", "x="}) {
    try {
      read_otlp_headers(bad);
      ADD_FAILURE() << bad;
    } catch (const Invalid& error) {
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("hush")));
    }
  }
}

}  // namespace
}  // namespace skald
