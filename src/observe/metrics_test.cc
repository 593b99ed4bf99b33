#include "observe/metrics.h"

#include <gmock/gmock.h>

#include "env/labelled.h"

namespace skald {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, CountsUnderThePrefixAndTheEnding) {
  Metrics metrics;
  metrics.count("outbox_delivered_total", 2);
  metrics.count("outbox_delivered_total", 3);
  metrics.count("alerts", 1);
  EXPECT_THAT(metrics.text(), HasSubstr("# TYPE skald_outbox_delivered_total counter"));
  EXPECT_THAT(metrics.text(), HasSubstr("\nskald_outbox_delivered_total 5\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("\nskald_alerts_total 1\n"));
}

TEST(Metrics, GaugesShowTheLastValue) {
  Metrics metrics;
  metrics.gauge("http_connections", 7);
  metrics.gauge("http_connections", 4);
  EXPECT_THAT(metrics.text(), HasSubstr("\nskald_http_connections 4\n"));
}

TEST(Metrics, TimingsAreHistogramsInSeconds) {
  Metrics metrics;
  metrics.timing("http_request_seconds", 3ms);
  metrics.timing("http_request_seconds", 20s);
  EXPECT_THAT(metrics.text(), HasSubstr("skald_http_request_seconds_bucket{le=\"0.0025\"} 0\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("skald_http_request_seconds_bucket{le=\"0.005\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("skald_http_request_seconds_count 2\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("seconds_seconds")));
}

TEST(Metrics, ANameMayHaveOneLabel) {
  Metrics metrics;
  metrics.count(labelled("post_letters_total", "subscriber", "notify"), 2);
  metrics.count(labelled("post_letters_total", "subscriber", "a\"b{c}=d"), 1);
  metrics.timing(labelled("post_round_trip_seconds", "subscriber", "notify"), 3ms);
  EXPECT_THAT(metrics.text(), HasSubstr("\nskald_post_letters_total{subscriber=\"notify\"} 2\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("\nskald_post_letters_total{subscriber=\"a\\\"b{c}=d\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("skald_post_round_trip_seconds_count{subscriber=\"notify\"} 1\n"));
}

TEST(Metrics, OfALabelAHundredValuesAreKeptApart) {
  Metrics metrics;
  for (int i = 0; i < 150; ++i) metrics.count(labelled("landed_total", "sender", std::to_string(i)), 1);
  metrics.count(labelled("landed_total", "sender", "7"), 1);
  EXPECT_THAT(metrics.text(), HasSubstr("skald_landed_total{sender=\"99\"} 1\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("skald_landed_total{sender=\"7\"} 2\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("skald_landed_total{sender=\"other\"} 50\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("\"100\"")));
}

TEST(Metrics, WhoHasNoGaugeAnyMoreIsLeftOut) {
  Metrics metrics;
  metrics.gauges("post_owed", "subscriber", {{"a", 1}, {"b", 2}});
  metrics.gauges("post_owed", "subscriber", {{"b", 3}});
  EXPECT_THAT(metrics.text(), HasSubstr("skald_post_owed{subscriber=\"b\"} 3\n"));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("\"a\"")));
  metrics.gauges("post_owed", "subscriber", {{"a", 4}});
  EXPECT_THAT(metrics.text(), HasSubstr("skald_post_owed{subscriber=\"a\"} 4\n"));
}

TEST(MetricsDeathTest, OneNameForTwoKindsStopsTheProgram) {
  Metrics metrics;
  metrics.count("lag_total", 1);
  EXPECT_DEATH(metrics.gauge("lag_total", 1), "");
}

}  // namespace
}  // namespace skald
