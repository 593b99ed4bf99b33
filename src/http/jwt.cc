#include "http/jwt.h"

#include <algorithm>
#include <boost/json/value.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "skald/controls.h"

namespace skald::http {
namespace {

constexpr std::int64_t kSecondsMax = 253'402'300'799;  // the end of the year 9999

struct Header {
  std::string alg = "HS256", typ = "JWT";
};
BOOST_DESCRIBE_STRUCT(Header, (), (alg, typ))

struct Payload {
  std::string sub;
  Role role = Role::customer;
  std::int64_t iat = 0, exp = 0;
  std::optional<std::string> aud, iss;
};
BOOST_DESCRIBE_STRUCT(Payload, (), (sub, role, iat, exp, aud, iss))

// Whoever made the token may have a clock that is a little ahead.
constexpr Duration kClocksDiffer = 5s;

[[noreturn]] void refuse(const std::string& why) {
  throw Unauthorized("BAD_TOKEN", "the token is not valid (" + why + "); make one with `skald token`");
}

std::string signature_of(std::string_view secret, std::string_view signed_part) {
  const Digest digest = hmac_sha256(secret, signed_part);
  return base64url(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

bool is_subject(std::string_view text) {
  return !text.empty() && text.size() <= kSubjectBytesMax && is_utf8(text) && !has_controls(text);
}

boost::json::value decode(std::string_view part) {
  try {
    auto value = json::parse(base64_decode(part));
    if (value.is_object()) return value;
  } catch (const Invalid&) {}
  refuse("a part of it is not base64url of a JSON object");
}

std::string text_member(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

std::optional<std::int64_t> seconds_member(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0 || value->get_int64() > kSecondsMax) return {};
  return value->get_int64();
}

bool names(const boost::json::value& audiences, std::string_view wanted) {
  if (audiences.is_string()) return std::string(audiences.get_string()) == wanted;
  if (!audiences.is_array()) return false;
  return std::ranges::any_of(audiences.get_array(), [&](const auto& one) {
    return one.is_string() && std::string(one.get_string()) == wanted;
  });
}

void check_names(const boost::json::object& object, const TokenNames& expected) {
  const auto* audiences = object.if_contains("aud");
  if (audiences == nullptr && !expected.audience.empty()) refuse("it does not say that it is for this server");
  if (audiences != nullptr && (expected.audience.empty() || !names(*audiences, expected.audience)))
    refuse("it is for others; auth.audience says who this server is");
  const auto* issuer = object.if_contains("iss");
  if (issuer != nullptr && !issuer->is_string()) refuse("its issuer is no text");
  if (!expected.issuer.empty() && (issuer == nullptr || std::string(issuer->get_string()) != expected.issuer))
    refuse("it is not of the issuer that auth.issuer names");
}

Time at(std::int64_t seconds) { return Time(std::chrono::seconds(seconds)); }
std::int64_t seconds_of(Time time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(); }

}  // namespace

std::string sign_token(std::string_view secret, const Claims& claims) {
  if (!is_subject(claims.subject))
    throw Invalid("BAD_CLAIMS", "a token's subject must be text of 1 to " + std::to_string(kSubjectBytesMax) +
                                    " bytes without control characters");
  const auto unless_none = [](const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); };
  const Payload payload{claims.subject,
                        claims.role,
                        seconds_of(claims.issued_at),
                        seconds_of(claims.expires_at),
                        unless_none(claims.names.audience),
                        unless_none(claims.names.issuer)};
  const std::string signed_part = base64url(to_json(Header{})) + '.' + base64url(to_json(payload));
  return signed_part + '.' + signature_of(secret, signed_part);
}

Claims verify_token(std::string_view secret, std::string_view token, Time now, const TokenNames& expected) {
  if (token.size() > kTokenBytesMax) refuse("it is too long");
  const auto first = token.find('.'), last = token.rfind('.');
  if (first == std::string_view::npos || first == last || token.find('.', first + 1) != last)
    refuse("it has not three parts");

  const auto header = decode(token.substr(0, first));
  if (text_member(header.get_object(), "alg") != "HS256") refuse("its algorithm is not HS256");
  if (header.get_object().contains("crit")) refuse("it asks for extensions that are not known");
  // Compared as text: only the one canonical encoding of a signature is taken.
  if (!equal_in_constant_time(signature_of(secret, token.substr(0, last)), token.substr(last + 1)))
    refuse("its signature is wrong");

  const auto payload = decode(token.substr(first + 1, last - first - 1));
  const auto& object = payload.get_object();
  Claims claims;
  claims.subject = text_member(object, "sub");
  if (!is_subject(claims.subject)) refuse("its subject is missing, too long, or has control characters");
  const auto role = enum_of<Role>(text_member(object, "role"));
  if (!role) refuse("it has no known role");
  claims.role = *role;
  check_names(object, expected);
  const auto expires = seconds_member(object, "exp");
  if (!expires) refuse("it has no time of expiry");
  claims.expires_at = at(*expires);
  claims.issued_at = at(seconds_member(object, "iat").value_or(0));
  const auto begins = seconds_member(object, "nbf");
  if (object.contains("nbf") && !begins) refuse("its time of beginning cannot be read");
  if (begins && now + kClocksDiffer < at(*begins))
    throw Unauthorized("EARLY_TOKEN", "the token is not valid yet; wait until its nbf, or make a new one");
  if (now >= claims.expires_at)
    throw Unauthorized("EXPIRED_TOKEN", "the token has expired; make a new one with `skald token`");
  return claims;
}

}  // namespace skald::http
