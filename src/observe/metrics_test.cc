#include "observe/metrics.h"

#include <gmock/gmock.h>

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

TEST(MetricsDeathTest, OneNameForTwoKindsStopsTheProgram) {
  Metrics metrics;
  metrics.count("lag_total", 1);
  EXPECT_DEATH(metrics.gauge("lag_total", 1), "");
}

}  // namespace
}  // namespace skald
