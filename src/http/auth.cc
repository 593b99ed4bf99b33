#include "http/auth.h"

#include "http/host.h"

namespace skald::http {
namespace {

bool is_bearer(std::string_view text) {
  constexpr std::string_view scheme = "bearer ";
  return text.size() > scheme.size() && lower_case(text.substr(0, scheme.size())) == scheme;
}

}  // namespace

Authenticator::Authenticator(Env env, std::optional<std::string> secret, Tokenless tokenless, TokenNames expected)
    : env_(env), secret_(std::move(secret)), tokenless_(tokenless), expected_(std::move(expected)) {
  if (secret_ && secret_->empty())
    throw Invalid("EMPTY_SECRET", "auth.secret is empty; set it to a long random text or leave it out");
}

Admitted Authenticator::admit(const Request& request, Access access) const {
  if (access == Access::open) return {};
  Admitted caller = identify(request.header("authorization"));
  admit(caller, access);
  return caller;
}

void Authenticator::admit(const Caller& caller, Access access) {
  if (access == Access::admin && caller.role == Role::customer)
    throw Forbidden("FORBIDDEN_ROLE", "this needs a token with the role admin or system");
}

Admitted Authenticator::identify(std::string_view authorization) const {
  if (authorization.empty()) {
    if (!secret_ || tokenless_ == Tokenless::admin) return {{Role::admin, "local-admin"}};
    throw Unauthorized("MISSING_TOKEN", "send `Authorization: Bearer TOKEN`; `skald token` makes one");
  }
  if (!is_bearer(authorization))
    throw Unauthorized("BAD_TOKEN", "the Authorization header must be `Bearer TOKEN`; `skald token` makes one");
  if (!secret_)
    throw Unauthorized("BAD_TOKEN",
                       "this server has no auth.secret and cannot verify tokens; send none, or configure one");
  const Claims claims = verify_token(*secret_, authorization.substr(7), env_.clock.now(), expected_);
  return {{claims.role, claims.subject}, claims.expires_at};
}

std::string holder_of(const Caller& caller) { return std::string(enum_name(caller.role)) + ' ' + caller.subject; }

void refuse_open_listen(std::string_view host, bool has_secret) {
  if (has_secret || is_loopback(host)) return;
  throw Invalid("OPEN_LISTEN",
                "listening on " + std::string(host) +
                    " would let everybody in: set auth.secret (SKALD_AUTH_SECRET), or listen on 127.0.0.1");
}

}  // namespace skald::http
