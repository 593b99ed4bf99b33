#include "donation/donation.h"
#include "donation/record.h"
#include "skald/lenient_json.h"

namespace donation {
namespace {

// ISO 4217: two digits after the point, but for these.
constexpr std::string_view kNoDigits = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF";
constexpr std::string_view kThreeDigits = "BHD IQD JOD KWD LYD OMR TND";

std::size_t digits_of(std::string_view currency) {
  if (kNoDigits.find(currency) != std::string_view::npos) return 0;
  return kThreeDigits.find(currency) != std::string_view::npos ? 3 : 2;
}

std::string money(std::int64_t amount, const std::string& currency) {
  std::string text = std::to_string(amount);
  const std::size_t digits = digits_of(currency);
  if (digits > 0) {
    if (text.size() <= digits) text.insert(0, digits + 1 - text.size(), '0');
    text.insert(text.size() - digits, 1, '.');
  }
  return text + ' ' + currency;
}

std::string on_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  return text;
}

}  // namespace

std::string announcement_text(const skald::Message& message) {
  const auto gift = skald::from_lenient_json<Gift>(message.event.payload);
  std::string text = gift.donor + " gave " + money(gift.amount, gift.currency);
  if (gift.message && !gift.message->empty()) text += ": " + on_one_line(*gift.message);
  return text;
}

}  // namespace donation
