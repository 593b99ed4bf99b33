#include "skald/time.h"

#include <fmt/format.h>

#include "base/text.h"
#include "skald/error.h"

namespace skald {
namespace {

[[noreturn]] void bad_time(std::string_view text) {
  throw Invalid("BAD_TIME", "not an RFC 3339 time: '" + cut_text(text, 40) + "'; write it like 2026-01-31T12:00:00Z");
}

// Reads fixed-width digits and separators from the front.
struct Scanner {
  std::string_view rest, whole;
  int digits(int count) {
    if (static_cast<int>(rest.size()) < count) bad_time(whole);
    int value = 0;
    for (int i = 0; i < count; ++i) {
      if (rest[i] < '0' || rest[i] > '9') bad_time(whole);
      value = value * 10 + (rest[i] - '0');
    }
    rest.remove_prefix(count);
    return value;
  }
  char any(std::string_view choices) {
    if (rest.empty() || choices.find(rest[0]) == std::string_view::npos) bad_time(whole);
    const char c = rest[0];
    rest.remove_prefix(1);
    return c;
  }
};

}  // namespace

std::string format_time(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string out = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                                clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (const auto fraction = clock.subseconds().count()) out += fmt::format(".{:06}", fraction);
  return out + "Z";
}

Time parse_time(std::string_view text) {
  Scanner in{text, text};
  const int year = in.digits(4);
  in.any("-");
  const int month = in.digits(2);
  in.any("-");
  const int day = in.digits(2);
  in.any("Tt ");
  const int hour = in.digits(2);
  in.any(":");
  const int minute = in.digits(2);
  in.any(":");
  const int second = in.digits(2);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) bad_time(text);

  std::int64_t micros = 0;
  if (!in.rest.empty() && in.rest[0] == '.') {
    in.any(".");
    std::int64_t scale = 100000;
    bool any = false;
    while (!in.rest.empty() && in.rest[0] >= '0' && in.rest[0] <= '9') {
      micros += (in.rest[0] - '0') * scale;
      scale /= 10;
      any = true;
      in.rest.remove_prefix(1);
    }
    if (!any) bad_time(text);
  }
  std::chrono::minutes offset{0};
  if (const char zone = in.any("Zz+-"); zone == '+' || zone == '-') {
    const int hours = in.digits(2);
    in.any(":");
    const int minutes = in.digits(2);
    if (hours > 23 || minutes > 59) bad_time(text);
    offset = std::chrono::minutes((hours * 60 + minutes) * (zone == '-' ? -1 : 1));
  }
  if (!in.rest.empty()) bad_time(text);
  const Time time = std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                    std::chrono::seconds(second) + Duration(micros) - offset;
  // In UTC it must have four digits, too: what we write is read by others.
  const std::chrono::year_month_day in_utc(std::chrono::floor<std::chrono::days>(time));
  if (in_utc.year() < std::chrono::year(0) || in_utc.year() > std::chrono::year(9999)) bad_time(text);
  return time;
}

}  // namespace skald
