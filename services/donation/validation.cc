#include "donation/validation.h"

#include <algorithm>

#include "skald/controls.h"
#include "skald/error.h"

namespace donation {
namespace {

std::int64_t characters_in(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace

bool is_request_id(std::string_view text) {
  return !text.empty() && std::ssize(text) <= kRequestIdMax &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_donor(std::string_view text) {
  return !text.empty() && characters_in(text) <= kDonorMax && !skald::has_controls(text) &&
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
  if (gift.message &&
      (characters_in(*gift.message) > kMessageMax || skald::has_controls(*gift.message, skald::kLineBreaks)))
    throw Invalid("BAD_MESSAGE",
                  "message must be at most 500 characters, without control characters other than line breaks and tabs");
}

}  // namespace donation
