#include "http/jwt.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "http/auth.h"
#include "http/fake_env.h"

namespace skald::http {
namespace {

constexpr std::string_view kTokenSecret = "a secret of the tests, long enough";
const Time kNow = from_micros(1'800'000'000'000'000);

std::string token_for(Role role, Time expires = kNow + 1h) {
  return sign_token(kTokenSecret, {"kim", role, kNow, expires});
}

std::string signed_by_hand(std::string_view header, std::string_view payload) {
  const std::string part = base64url(header) + '.' + base64url(payload);
  const Digest digest = hmac_sha256(kTokenSecret, part);
  return part + '.' + base64url(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return "";
}

std::string verdict(std::string_view token, Time now = kNow) {
  return code_of([&] { verify_token(kTokenSecret, token, now); });
}

TEST(Jwt, ASignedTokenIsVerifiedWithItsClaims) {
  const Claims claims = verify_token(kTokenSecret, token_for(Role::admin), kNow);
  EXPECT_EQ(claims.subject, "kim");
  EXPECT_EQ(claims.role, Role::admin);
  EXPECT_EQ(claims.expires_at, kNow + 1h);
}

TEST(Jwt, TheKnownVectorOfTheStandardToolsIsProduced) {
  EXPECT_EQ(token_for(Role::admin).substr(0, 36), base64url(R"({"alg":"HS256","typ":"JWT"})"));
}

TEST(Jwt, ATokenEndsAtItsExpiry) {
  EXPECT_EQ(verdict(token_for(Role::customer), kNow + 1h - 1us), "");
  EXPECT_EQ(verdict(token_for(Role::customer), kNow + 1h), "EXPIRED_TOKEN");
}

TEST(Jwt, OnlyHs256IsBelieved) {
  const std::string claims = R"({"sub":"kim","role":"admin","exp":1900000000})";
  EXPECT_EQ(verdict(signed_by_hand(R"({"alg":"HS256"})", claims)), "");
  for (const char* header : {R"({"alg":"none"})", R"({"alg":"hs256"})", R"({"alg":"HS512"})", R"({"typ":"JWT"})",
                             R"({"alg":["HS256"]})", R"({"alg":"HS256","crit":["b64"]})", "[]", "{"})
    EXPECT_EQ(verdict(signed_by_hand(header, claims)), "BAD_TOKEN") << header;
  EXPECT_EQ(verdict(base64url(R"({"alg":"none"})") + '.' + base64url(claims) + '.'), "BAD_TOKEN");
}

TEST(Jwt, ClaimsThatMakeNoSenseAreRefused) {
  for (const char* claims :
       {R"({"role":"admin","exp":1900000000})", R"({"sub":"","role":"admin","exp":1900000000})",
        R"({"sub":"k","role":"root","exp":1900000000})", R"({"sub":"k","role":"admin"})",
        R"({"sub":"k","role":"admin","exp":"1900000000"})", R"({"sub":"k","role":"admin","exp":9223372036854775807})",
        R"({"sub":"k","role":"admin","exp":-1})", R"({"sub":"k\u0000","role":"admin","exp":1900000000})", "null", ""})
    EXPECT_EQ(verdict(signed_by_hand(R"({"alg":"HS256"})", claims)), "BAD_TOKEN") << claims;
}

std::string with_claims(const std::string& more) {
  return signed_by_hand(R"({"alg":"HS256"})", R"({"sub":"kim","role":"admin","exp":1900000000,)" + more + "}");
}

TEST(Jwt, ATokenIsNotTakenBeforeItsTime) {
  EXPECT_EQ(verdict(with_claims(R"("nbf":1800000000)")), "");
  EXPECT_EQ(verdict(with_claims(R"("nbf":1800000060)")), "EARLY_TOKEN");
  EXPECT_EQ(verdict(with_claims(R"("nbf":1800000060)"), kNow + 60s), "");
  for (const char* bad : {R"("nbf":"1800000000")", R"("nbf":-1)", R"("nbf":null)", R"("nbf":1.5)"})
    EXPECT_EQ(verdict(with_claims(bad)), "BAD_TOKEN") << bad;
}

TEST(Jwt, ATokenForAnotherAudienceIsRefused) {
  for (const char* other : {R"("aud":"elsewhere")", R"("aud":["a","b"])", R"("aud":[])", R"("aud":7)", R"("aud":null)",
                            R"("iss":7)", R"("iss":null)"})
    EXPECT_EQ(verdict(with_claims(other)), "BAD_TOKEN") << other;
  EXPECT_EQ(verdict(with_claims(R"("iss":"anybody who has the secret")")), "");
}

TEST(Jwt, WhatIsExpectedOfAudienceAndIssuerMustBeThere) {
  const auto expecting = [](const TokenNames& names, const std::string& token) {
    return code_of([&] { verify_token(kTokenSecret, token, kNow, names); });
  };
  const TokenNames both{"skald", "ops"};
  EXPECT_EQ(expecting(both, sign_token(kTokenSecret, {"kim", Role::admin, kNow, kNow + 1h, both})), "");
  EXPECT_EQ(expecting(both, with_claims(R"("aud":["x","skald"],"iss":"ops")")), "");
  for (const char* claims :
       {R"("aud":"skald")", R"("iss":"ops")", R"("aud":"x","iss":"ops")", R"("aud":"skald","iss":"x")",
        R"("aud":[["skald"]],"iss":"ops")", R"("aud":"skald\u0000","iss":"ops")", R"("n":1)"})
    EXPECT_EQ(expecting(both, with_claims(claims)), "BAD_TOKEN") << claims;
}

TEST(Jwt, ARoleWithANulInsideIsNoRole) {
  for (const char* role : {R"("admin\u0000")", R"("admin\u0000x")", R"("\u0000admin")"})
    EXPECT_EQ(verdict(signed_by_hand(R"({"alg":"HS256"})",
                                     R"({"sub":"kim","exp":1900000000,"role":)" + std::string(role) + "}")),
              "BAD_TOKEN")
        << role;
}

TEST(Jwt, AnyChangedCharacterBreaksTheToken) {
  const std::string good = token_for(Role::customer);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(verdict(bad), "BAD_TOKEN") << i;
  }
  EXPECT_EQ(verdict(good + "="), "BAD_TOKEN");
  EXPECT_EQ(verdict(std::string(kTokenBytesMax + 1, 'a')), "BAD_TOKEN");
  EXPECT_EQ(verdict("a.b"), "BAD_TOKEN");
  EXPECT_EQ(verdict("a.b.c.d"), "BAD_TOKEN");
  EXPECT_EQ(code_of([&] { verify_token("another secret", good, kNow); }), "BAD_TOKEN");
}

struct Admission : testing::Test {
  FakeEnv fake;
  Authenticator guarded{fake.env, std::string(kTokenSecret)};
  Authenticator open{fake.env, std::nullopt};

  static Request with(const std::string& authorization) {
    Request request;
    if (!authorization.empty()) request.headers["authorization"] = authorization;
    return request;
  }
  std::string refusal(const Authenticator& authenticator, const std::string& authorization, Access access) {
    return code_of([&] { authenticator.admit(with(authorization), access); });
  }
};

TEST_F(Admission, WithASecretEveryRouteButOpenOnesNeedsAToken) {
  EXPECT_EQ(refusal(guarded, "", Access::customer), "MISSING_TOKEN");
  EXPECT_EQ(refusal(guarded, "", Access::open), "");
  EXPECT_EQ(refusal(guarded, "Basic abc", Access::customer), "BAD_TOKEN");
  EXPECT_EQ(refusal(guarded, "Bearer nonsense", Access::customer), "BAD_TOKEN");
  EXPECT_EQ(refusal(guarded, "bearer " + token_for(Role::customer), Access::customer), "");
  fake.clock.micros += 3'600'000'000;
  EXPECT_EQ(refusal(guarded, "Bearer " + token_for(Role::customer), Access::customer), "EXPIRED_TOKEN");
  EXPECT_EQ(refusal(guarded, "Bearer nonsense", Access::open), "");
}

TEST_F(Admission, ACustomerMayNotDoWhatAdminsDo) {
  EXPECT_EQ(refusal(guarded, "Bearer " + token_for(Role::customer), Access::admin), "FORBIDDEN_ROLE");
  EXPECT_EQ(refusal(guarded, "Bearer " + token_for(Role::admin), Access::admin), "");
  EXPECT_EQ(refusal(guarded, "Bearer " + token_for(Role::system), Access::admin), "");
}

TEST_F(Admission, WithoutASecretNoTokenIsTheAdminAndEveryTokenIsRefused) {
  const Caller caller = open.admit(with(""), Access::admin);
  EXPECT_EQ(caller.role, Role::admin);
  EXPECT_EQ(caller.subject, "local-admin");
  EXPECT_EQ(refusal(open, "Bearer " + token_for(Role::admin), Access::admin), "BAD_TOKEN");
}

TEST_F(Admission, WithASecretThatNobodyConfiguredTokensCountAndNeedNotBeThere) {
  const Authenticator local(fake.env, std::string(kTokenSecret), Authenticator::Tokenless::admin);
  EXPECT_EQ(local.admit(with(""), Access::admin).subject, "local-admin");
  EXPECT_EQ(refusal(local, "Bearer " + token_for(Role::customer), Access::admin), "FORBIDDEN_ROLE");
  EXPECT_EQ(refusal(local, "Bearer nonsense", Access::customer), "BAD_TOKEN");
}

TEST_F(Admission, ListeningBeyondLoopbackNeedsASecret) {
  for (const char* host : {"127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"})
    EXPECT_NO_THROW(refuse_open_listen(host, false));
  for (const char* host : {"0.0.0.0", "::", "", "192.168.1.1", "example.org", "127.0.0.1.example.org"}) {
    EXPECT_THROW(refuse_open_listen(host, false), Invalid) << host;
    EXPECT_NO_THROW(refuse_open_listen(host, true));
  }
  EXPECT_THROW(Authenticator(fake.env, ""), Invalid);
}

}  // namespace
}  // namespace skald::http
