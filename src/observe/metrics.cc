#include "observe/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>

namespace skald {
namespace {

// From a local commit (100 µs) to a webhook's timeout (10 s).
const prometheus::Histogram::BucketBoundaries kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};

std::string full_name(std::string_view name, std::string_view ending = {}) {
  std::string out = "skald_" + std::string(name);
  if (!out.ends_with(ending)) out += ending;
  return out;
}

}  // namespace

Metrics::Metrics() : registry_(std::make_unique<prometheus::Registry>()) {}
Metrics::~Metrics() = default;

template <class Metric, class Create>
Metric& Metrics::place(Places<Metric>& places, std::string_view name, Create&& create) {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = places.find(name); found != places.end()) return *found->second;
  }
  const std::unique_lock lock(mutex_);
  const auto [place, added] = places.try_emplace(std::string(name), nullptr);
  if (added) place->second = &create();
  return *place->second;
}

void Metrics::count(std::string_view name, std::int64_t by) noexcept {
  auto& counter = place(counters_, name, [&]() -> prometheus::Counter& {
    return prometheus::BuildCounter().Name(full_name(name, "_total")).Register(*registry_).Add({});
  });
  counter.Increment(static_cast<double>(by));
}

void Metrics::gauge(std::string_view name, double value) noexcept {
  auto& gauge = place(gauges_, name, [&]() -> prometheus::Gauge& {
    return prometheus::BuildGauge().Name(full_name(name)).Register(*registry_).Add({});
  });
  gauge.Set(value);
}

void Metrics::timing(std::string_view name, Duration took) noexcept {
  auto& histogram = place(histograms_, name, [&]() -> prometheus::Histogram& {
    return prometheus::BuildHistogram().Name(full_name(name, "_seconds")).Register(*registry_).Add({}, kSeconds);
  });
  histogram.Observe(std::chrono::duration<double>(took).count());
}

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(registry_->Collect()); }

}  // namespace skald
