// What a donation may look like.
#pragma once

#include <string_view>

#include "donation/record.h"
#include "skald/schema.h"

namespace donation {

inline constexpr std::int64_t kAmountMax = 100'000'000'000;  // a thousand million of a currency with cents

// Throws Invalid (BAD_REQUEST_ID, BAD_DONOR, BAD_AMOUNT, BAD_CURRENCY, BAD_MESSAGE)
// with what is wanted. Text must already be UTF-8.
void check(const Gift& gift);

inline constexpr std::int64_t kRequestIdMax = 128, kDonorMax = 100, kMessageMax = 500;  // characters

bool is_request_id(std::string_view text);
bool is_donor(std::string_view text);

}  // namespace donation

template <>
struct skald::Limits<donation::NewDonation> {
  static constexpr skald::MemberLimit of[] = {{"request_id", 1, donation::kRequestIdMax},
                                              {"donor", 1, donation::kDonorMax},
                                              {"amount", 1, donation::kAmountMax},
                                              {"currency", 3, 3},
                                              {"message", 0, donation::kMessageMax}};
};
