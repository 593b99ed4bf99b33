// The program's numbers for Prometheus, by name. A metric
// exists from its first use; its place is looked up by name and then kept, so
// that counting costs one shared lock and one atomic addition.
//
// Names are "skald_" and what the code calls them; counters end in _total and
// timings in _seconds. A name that is used for two kinds is a bug in the program
// and stops it at once. A name may have one label (env/labelled.h): "post_letters_total{subscriber=notify}". Of each name
// the first hundred values are kept apart, and all others are "other".
//
// Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "skald/time.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace skald {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void count(std::string_view name, std::int64_t by) noexcept;
  void gauge(std::string_view name, double value) noexcept;
  void timing(std::string_view name, Duration took) noexcept;

  // All there is under this name from here on: one for each value of the label.
  void gauges(std::string_view name, const std::string& label, const std::map<std::string, double>& values) noexcept;

  // Everything in Prometheus' text format, version 0.0.4.
  std::string text() const;

 private:
  template <class Metric>
  using Places = std::map<std::string, Metric*, std::less<>>;
  template <class Metric, class Create>
  Metric& place(Places<Metric>& places, std::string_view name, Create&& create);

  std::string within_bounds(std::string_view name);

  std::unique_ptr<prometheus::Registry> registry_;
  std::shared_mutex mutex_;  // guards what is below; what it points to is thread safe
  Places<prometheus::Counter> counters_;
  Places<prometheus::Gauge> gauges_;
  Places<prometheus::Histogram> histograms_;
  std::map<std::string, int, std::less<>> values_;  // how many a labelled name has
  std::map<std::string, std::map<std::string, prometheus::Gauge*>, std::less<>> labelled_gauges_;
};

}  // namespace skald
