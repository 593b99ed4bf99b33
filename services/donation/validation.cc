#include "donation/validation.h"

#include <algorithm>

#include "skald/error.h"

namespace donation {
namespace {

std::int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

// C0, DEL and C1 (U+0080 to U+009F, 0xC2 0x80 to 0xC2 0x9F in UTF-8).
bool has_control(std::string_view text, std::string_view allowed = {}) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 || byte == 0x7f) && allowed.find(text[i]) == std::string_view::npos) return true;
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

}  // namespace

bool is_request_id(std::string_view text) {
  return !text.empty() && std::ssize(text) <= kRequestIdMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_donor(std::string_view text) {
  return !text.empty() && characters_in(text) <= kDonorMax && !has_control(text) &&
         text.find_first_not_of(' ') != std::string_view::npos;
}

void check(const Gift& gift) {
  using skald::Invalid;
  if (!is_request_id(gift.request_id))
    throw Invalid("BAD_REQUEST_ID", "requestId must be 1 to 128 visible ASCII characters without spaces");
  if (!is_donor(gift.donor))
    throw Invalid("BAD_DONOR", "donor must be 1 to 100 characters, not only spaces, without control characters");
  if (gift.amount < 1 || gift.amount > kAmountMax)
    throw Invalid("BAD_AMOUNT",
                  "amount must be 1 to " + std::to_string(kAmountMax) + ", counted in the currency's minor unit");
  if (gift.currency.size() != 3 || !std::ranges::all_of(gift.currency, [](char c) { return c >= 'A' && c <= 'Z'; }))
    throw Invalid("BAD_CURRENCY", "currency must be an ISO 4217 code: three letters in upper case, such as EUR");
  if (gift.message && (characters_in(*gift.message) > kMessageMax || has_control(*gift.message, "\n\r\t")))
    throw Invalid("BAD_MESSAGE",
                  "message must be at most 500 characters, without control characters other than line breaks and tabs");
}

}  // namespace donation
