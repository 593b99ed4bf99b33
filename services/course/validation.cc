#include "course/validation.h"

#include <algorithm>
#include <charconv>

#include "skald/controls.h"
#include "skald/id.h"

namespace course {
namespace {

using skald::Invalid;
using skald::is_id;

constexpr std::size_t kNameMax = 200;

std::optional<int> number(std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) return std::nullopt;
  return value;
}

// YYYY-MM-DD.
std::optional<skald::Time> day_of(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number(text.substr(0, 4)), month = number(text.substr(5, 2)), day = number(text.substr(8));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return skald::Time(std::chrono::sys_days(date));
}

}  // namespace

void check(const NewCourse& course) {
  if (course.name.empty() || course.name.size() > kNameMax || skald::has_controls(course.name) ||
      course.name.find_first_not_of(' ') == std::string::npos)
    throw Invalid("BAD_NAME", "name must be 1 to 200 bytes, not only spaces, without control characters");
}

void check(const NewSlot& slot, skald::Time now) {
  if (!is_id(slot.course_id)) throw Invalid("BAD_COURSE_ID", "courseId must be the id of a course");
  if (slot.starts_at <= now) throw Invalid("SLOT_IN_THE_PAST", "startsAt must be in the future");
  if (slot.max_players < 1 || slot.max_players > kPlayersMax)
    throw Invalid("BAD_PLAYERS", "maxPlayers must be 1 to " + std::to_string(kPlayersMax));
  if (slot.price_per_player < 0 || slot.price_per_player > kPriceMax)
    throw Invalid("BAD_PRICE", "pricePerPlayer must be 0 to " + std::to_string(kPriceMax) +
                                   ", counted in the currency's minor unit");
  if (slot.currency &&
      (slot.currency->size() != 3 || !std::ranges::all_of(*slot.currency, [](char c) { return c >= 'A' && c <= 'Z'; })))
    throw Invalid("BAD_CURRENCY", "currency must be an ISO 4217 code: three letters in upper case, such as KRW");
}

void check(const golf::SlotReserve& wanted) {
  if (!is_id(wanted.booking_id) || !is_id(wanted.slot_id) || wanted.players < 1)
    throw Invalid("BAD_RESERVE", "slot.reserve needs a bookingId, a slotId and at least one player");
}

void check(const golf::SlotRelease& wanted) {
  if (!is_id(wanted.booking_id) || !is_id(wanted.slot_id))
    throw Invalid("BAD_RELEASE", "slot.release needs a bookingId and a slotId");
}

std::optional<std::string> id_filter(const skald::Request& request, const std::string& name) {
  auto text = request.query_value(name);
  if (text && !is_id(*text)) throw Invalid("BAD_FILTER", name + " must be an id");
  return text;
}

std::optional<bool> bool_filter(const skald::Request& request, const std::string& name) {
  const auto text = request.query_value(name);
  if (!text) return std::nullopt;
  if (*text != "true" && *text != "false") throw Invalid("BAD_FILTER", name + " must be true or false");
  return *text == "true";
}

std::optional<skald::Time> date_filter(const skald::Request& request, const std::string& name) {
  const auto text = request.query_value(name);
  if (!text) return std::nullopt;
  const auto day = day_of(*text);
  if (!day) throw Invalid("BAD_DATE", name + " must be a day in UTC, such as 2026-11-20");
  return day;
}

}  // namespace course
