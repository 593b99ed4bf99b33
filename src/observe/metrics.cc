#include "observe/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <mutex>

#include "env/labelled.h"

namespace skald {
namespace {

// From a local commit (100 µs) to a webhook's timeout (10 s).
const prometheus::Histogram::BucketBoundaries kSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                          0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};

constexpr int kValuesMax = 100;

// "NAME", or "NAME{LABEL=VALUE}".
struct SeriesName {
  std::string_view name, label, value;

  explicit SeriesName(std::string_view text) : name(text.substr(0, text.find('{'))) {
    if (name.size() == text.size()) return;
    const std::string_view inside = text.substr(name.size() + 1, text.size() - name.size() - 2);
    label = inside.substr(0, inside.find('='));
    value = inside.substr(std::min(label.size() + 1, inside.size()));
  }
  prometheus::Labels labels() const {
    if (label.empty()) return {};
    return {{std::string(label), std::string(value)}};
  }
};

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
  if (const auto found = places.find(name); found != places.end()) return *found->second;
  const auto [place, added] = places.try_emplace(within_bounds(name), nullptr);
  if (added) place->second = &create(SeriesName(place->first));
  return *place->second;
}

// Called for a name that is new.
std::string Metrics::within_bounds(std::string_view name) {
  const SeriesName series(name);
  if (series.label.empty()) return std::string(name);
  int& values = values_.try_emplace(std::string(series.name), 0).first->second;
  if (values == kValuesMax) return labelled(series.name, series.label, "other");
  ++values;
  return std::string(name);
}

void Metrics::count(std::string_view name, std::int64_t by) noexcept {
  auto& counter = place(counters_, name, [&](const SeriesName& series) -> prometheus::Counter& {
    return prometheus::BuildCounter().Name(full_name(series.name, "_total")).Register(*registry_).Add(series.labels());
  });
  counter.Increment(static_cast<double>(by));
}

void Metrics::gauge(std::string_view name, double value) noexcept {
  auto& gauge = place(gauges_, name, [&](const SeriesName& series) -> prometheus::Gauge& {
    return prometheus::BuildGauge().Name(full_name(series.name)).Register(*registry_).Add(series.labels());
  });
  gauge.Set(value);
}

void Metrics::timing(std::string_view name, Duration took) noexcept {
  auto& histogram = place(histograms_, name, [&](const SeriesName& series) -> prometheus::Histogram& {
    return prometheus::BuildHistogram()
        .Name(full_name(series.name, "_seconds"))
        .Register(*registry_)
        .Add(series.labels(), kSeconds);
  });
  histogram.Observe(std::chrono::duration<double>(took).count());
}

void Metrics::gauges(std::string_view name, const std::string& label,
                     const std::map<std::string, double>& values) noexcept {
  const std::unique_lock lock(mutex_);
  auto& family = prometheus::BuildGauge().Name(full_name(name)).Register(*registry_);
  auto& known = labelled_gauges_[std::string(name)];
  std::erase_if(known, [&](const auto& one) {
    if (values.contains(one.first)) return false;
    family.Remove(one.second);
    return true;
  });
  for (const auto& [value, number] : values) {
    prometheus::Gauge*& gauge = known[value];
    if (gauge == nullptr) gauge = &family.Add({{label, value}});
    gauge->Set(number);
  }
}

std::string Metrics::text() const { return prometheus::TextSerializer().Serialize(registry_->Collect()); }

}  // namespace skald
