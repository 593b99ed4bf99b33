#include "notify/text.h"

#include <array>
#include <utility>

namespace notify {
namespace {

constexpr std::size_t kWordsBytesMax = 200;

// What the customer can do about it, by the reason's code.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kWhy = {{
    {"SLOT_FULL", "not enough seats are left at this time; please choose another"},
    {"SLOT_BUSY", "too many people were booking this time at once; please try again"},
    {"SLOT_CLOSED", "the course has closed this time; please choose another"},
    {"SLOT_NOT_FOUND", "this time is not offered any more; please choose another"},
    {"SLOT_STARTED", "this time has started already; please choose a later one"},
    {"SLOT_RELEASED", "it was given up before its seats were reserved"},
    {"SAGA_TIMEOUT", "the course did not answer in time; please try again"},
    {"PAYMENT_DECLINED", "the payment was declined; please pay by other means"},
}};

// ISO 4217: two digits after the point, but for these.
constexpr std::string_view kNoDigits = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
constexpr std::string_view kThreeDigits = "BHD IQD JOD KWD LYD OMR TND";

std::string money(std::int64_t amount, const std::string& currency) {
  std::string text = std::to_string(amount);
  const std::size_t digits = kNoDigits.find(currency) != kNoDigits.npos         ? 0
                             : kThreeDigits.find(currency) != kThreeDigits.npos ? 3
                                                                                : 2;
  if (digits > 0) {
    if (text.size() <= digits) text.insert(0, digits + 1 - text.size(), '0');
    text.insert(text.size() - digits, 1, '.');
  }
  return text + ' ' + currency;
}

// 2026-11-20 07:30 UTC.
std::string moment(skald::Time time) {
  const std::string text = skald::format_time(time);
  return text.substr(0, 10) + ' ' + text.substr(11, 5) + " UTC";
}

// Others' words: one line, bounded, cut between characters.
std::string tamed(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  if (text.size() <= kWordsBytesMax) return text;
  std::size_t end = kWordsBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::string why(const std::optional<golf::Reason>& reason) {
  if (!reason) return "";
  for (const auto& [code, words] : kWhy)
    if (reason->code == code) return std::string(words);
  return tamed(reason->message.empty() ? reason->code : reason->message);
}

std::string refund(const std::optional<golf::Refund>& refund) {
  if (!refund) return "";
  if (refund->amount == 0) return " There is no refund.";
  return " Refund: " + std::to_string(refund->percent) + " %, " + money(refund->amount, refund->currency) + ".";
}

}  // namespace

std::string text_of(Kind kind, const golf::BookingNews& news) {
  const std::string who = "Your booking " + news.number + " for " + std::to_string(news.players) +
                          (news.players == 1 ? " player on " : " players on ") + moment(news.starts_at);
  const std::string because = why(news.reason);
  const std::string end = because.empty() ? "." : ": " + because + ".";
  switch (kind) {
    case Kind::CONFIRMED: return who + " is confirmed. Price: " + money(news.price.amount, news.price.currency) + ".";
    case Kind::FAILED: return who + " could not be made" + end + refund(news.refund);
    case Kind::CANCELLED: return who + " is cancelled" + end + refund(news.refund);
  }
  return who;
}

}  // namespace notify
