// JSON Web Tokens, HS256 alone.
#pragma once

#include <string>
#include <string_view>

#include "skald/http.h"

namespace skald::http {

inline constexpr std::size_t kTokenBytesMax = 8192;
inline constexpr std::size_t kSubjectBytesMax = 255;

// For whom and by whom a token is. Empty: not said; of what is expected: nothing is.
struct TokenNames {
  std::string audience = {}, issuer = {};
};

struct Claims {
  std::string subject;
  Role role = Role::customer;
  Time issued_at;   // whole seconds count
  Time expires_at;
  TokenNames names = {};
};

// Invalid (BAD_CLAIMS) where the subject is empty, too long or no UTF-8.
std::string sign_token(std::string_view secret, const Claims& claims);

// Unauthorized: BAD_TOKEN, or EXPIRED_TOKEN and EARLY_TOKEN where only the time is wrong. Every
// algorithm but HS256 is refused, "none" included, before anything is believed. What is expected
// must be there, and a token that names audiences is refused by everybody else.
Claims verify_token(std::string_view secret, std::string_view token, Time now, const TokenNames& expected = {});

}  // namespace skald::http
