#include "observe/otlp_exporter.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "skald/error.h"
#include "support/hand_clock.h"
#include "support/http_receiver.h"

namespace skald {
namespace {

using test::HttpReceiver;
using testing::HasSubstr;
using testing::Not;

struct NoRandom final : Random {
  std::uint64_t next() override { return 0; }
};

struct CountingObserver final : Observer {
  void count(std::string_view metric, std::int64_t by) override { counts[std::string(metric)] += by; }
  void log(Level, std::string_view message, std::string_view fields) override {
    lines += std::string(message) + " " + std::string(fields) + "\n";
    ++logged;
  }
  std::map<std::string, std::int64_t> counts;
  std::string lines;
  int logged = 0;
};

class OtlpExporterTest : public testing::Test {
 protected:
  void open(std::string headers = "", std::chrono::milliseconds timeout = 10s) {
    exporter_ = std::make_unique<OtlpExporter>(
        env_, OtlpOptions{receiver_.url("/otlp/"), std::move(headers), {"booking", "1"}, timeout}, queue_);
  }
  void put(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (!queue_.put(Span{.trace_id = "t", .span_id = "s"})) ++lost_;
  }
  // Drives it until that holds; `idle` is how long it then waits.
  void until(const std::function<bool(Duration idle)>& ready) {
    for (int i = 0; i < 2000; ++i) {
      if (ready(exporter_->step())) return;
      exporter_->poll(10ms, {});
    }
    FAIL() << "it did not happen";
  }
  void until_waiting_for(Duration time) {
    until([time](Duration idle) { return idle == time; });
  }
  void until_counted(const std::string& metric, std::int64_t count) {
    until([&](Duration) { return observer_.counts[metric] == count; });
  }
  std::size_t spans_in(std::size_t request) const {
    const std::string body = receiver_.requests().at(request).body;
    std::size_t count = 0;
    for (std::size_t at = body.find("\"spanId\""); at != body.npos; at = body.find("\"spanId\"", at + 1)) ++count;
    return count;
  }

  test::HandClock clock_;
  NoRandom random_;
  CountingObserver observer_;
  Env env_{clock_, random_, observer_};
  HttpReceiver receiver_;
  SpanQueue queue_;
  std::unique_ptr<OtlpExporter> exporter_;
  std::size_t lost_ = 0;
};

TEST_F(OtlpExporterTest, ABatchGoesWhenItsFirstSpanIsASecondOld) {
  open("api-key=hush-hush");
  EXPECT_EQ(exporter_->step(), 1h);
  put(3);
  EXPECT_EQ(exporter_->step(), 1s);
  clock_.advance(400ms);
  put(2);
  EXPECT_EQ(exporter_->step(), 600ms);
  EXPECT_TRUE(receiver_.requests().empty());
  clock_.advance(600ms);
  until_counted("spans_sent_total", 5);
  const HttpReceiver::Request request = receiver_.requests().at(0);
  EXPECT_EQ(request.method + " " + request.target, "POST /otlp/v1/traces");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_EQ(request.headers.at("api-key"), "hush-hush");
  EXPECT_EQ(spans_in(0), 5u);
}

TEST_F(OtlpExporterTest, AFullBatchGoesAtOnceAndTheQueueIsBounded) {
  put(SpanQueue::kSpansMax + 10);
  EXPECT_EQ(lost_, 10u);
  open();
  until_counted("spans_sent_total", SpanQueue::kSpansMax);
  ASSERT_EQ(receiver_.requests().size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(spans_in(i), SpanQueue::kBatchMax);
  EXPECT_EQ(observer_.counts["spans_dropped_total"], 0) << "whoever puts them counts those";
}

TEST_F(OtlpExporterTest, ACollectorThatAsksForTimeGetsTheSameBatchAfterIt) {
  receiver_.next({.status = 503, .headers = {"Retry-After: 7"}});
  receiver_.next({.status = 429});
  open();
  put(1);
  exporter_->step();
  clock_.advance(1s);
  until_waiting_for(7s);
  put(1);
  clock_.advance(6s);
  EXPECT_EQ(exporter_->step(), 1s);
  ASSERT_EQ(receiver_.requests().size(), 1u);
  clock_.advance(1s);
  until_waiting_for(2s);  // it said nothing: doubled
  clock_.advance(2s);
  until_counted("spans_sent_total", 1);
  EXPECT_EQ(receiver_.requests().at(0).body, receiver_.requests().at(2).body);
  EXPECT_EQ(observer_.counts["spans_dropped_total"], 0);
  EXPECT_EQ(observer_.logged, 1) << observer_.lines;
}

TEST_F(OtlpExporterTest, WhatCannotGetBetterIsDroppedAtOnceAndHeadersAreNeverTold) {
  receiver_.always({.status = 401, .body = "the key hush-hush is not good"});
  open("api-key=hush-hush");
  put(SpanQueue::kBatchMax);
  until_counted("spans_dropped_total", SpanQueue::kBatchMax);
  EXPECT_EQ(receiver_.requests().size(), 1u);
  EXPECT_THAT(observer_.lines, HasSubstr("401"));
  EXPECT_THAT(observer_.lines, Not(HasSubstr("hush")));
}

TEST_F(OtlpExporterTest, ABatchIsDroppedAfterItsFifthAttempt) {
  receiver_.always({.manner = HttpReceiver::Manner::close});
  open();
  put(SpanQueue::kBatchMax);
  for (const Duration pause : {1s, 2s, 4s, 8s}) {
    until_waiting_for(pause);
    clock_.advance(pause);
  }
  until_counted("spans_dropped_total", SpanQueue::kBatchMax);
  EXPECT_EQ(receiver_.requests().size(), 5u);
}

TEST_F(OtlpExporterTest, AtTheEndEverythingGoesOutOnceAndWhatIsLeftIsCounted) {
  receiver_.next({.status = 503});
  open();
  put(SpanQueue::kBatchMax + 3);
  exporter_->hurry();
  until([this](Duration) { return exporter_->has_ended(); });
  EXPECT_EQ(observer_.counts["spans_dropped_total"], SpanQueue::kBatchMax);
  EXPECT_EQ(observer_.counts["spans_sent_total"], 3);
  put(4);
  exporter_.reset();
  EXPECT_EQ(observer_.counts["spans_dropped_total"], SpanQueue::kBatchMax + 4);
}

TEST_F(OtlpExporterTest, AnEndpointIsABaseUrl) {
  for (const char* bad : {"", "collector:4318", "ftp://host", "http://ada:hush@host", "http://host/?token=hush"}) {
    try {
      OtlpExporter exporter(env_, OtlpOptions{.endpoint = bad}, queue_);
      ADD_FAILURE() << bad;
    } catch (const Invalid& error) {
      EXPECT_EQ(error.code(), "OTLP_ENDPOINT");
      EXPECT_THAT(error.what(), Not(HasSubstr("hush")));
    }
  }
}

}  // namespace
}  // namespace skald
