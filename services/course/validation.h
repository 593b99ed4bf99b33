// What may come from clients and from other services. Everything throws Invalid with what is
// wanted.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "golf/events.h"
#include "skald/http.h"

namespace course {

inline constexpr std::int64_t kPlayersMax = 100;
inline constexpr std::int64_t kPriceMax = 10'000'000'000;  // minor units

struct NewCourse {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(NewCourse, (), (name))

struct NewSlot {
  std::string course_id;
  skald::Time starts_at{};
  std::int64_t max_players = 0, price_per_player = 0;
  std::optional<std::string> currency;  // KRW
};
BOOST_DESCRIBE_STRUCT(NewSlot, (), (course_id, starts_at, max_players, price_per_player, currency))

void check(const NewCourse& course);                   // BAD_NAME
void check(const NewSlot& slot,
           skald::Time now);      // BAD_COURSE_ID, SLOT_IN_THE_PAST, BAD_PLAYERS, BAD_PRICE, BAD_CURRENCY
void check(const golf::SlotReserve& wanted);           // BAD_RESERVE
void check(const golf::SlotRelease& wanted);           // BAD_RELEASE

// Filters of lists; absent where they are not asked for.
std::optional<std::string> id_filter(const skald::Request& request, const std::string& name);  // BAD_FILTER
std::optional<bool> bool_filter(const skald::Request& request, const std::string& name);       // BAD_FILTER
// The first moment of a day in UTC.
std::optional<skald::Time> date_filter(const skald::Request& request, const std::string& name);  // BAD_DATE

}  // namespace course

template <>
struct skald::Limits<course::NewCourse> {
  static constexpr skald::MemberLimit of[] = {{"name", 1, 200}};
};
template <>
struct skald::Limits<course::NewSlot> {
  static constexpr skald::MemberLimit of[] = {
      {"max_players", 1, course::kPlayersMax}, {"price_per_player", 0, course::kPriceMax}, {"currency", 3, 3}};
};
