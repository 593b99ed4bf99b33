// Who calls, and what that caller may do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/jwt.h"
#include "skald/env.h"
#include "skald/http.h"

namespace skald::http {

// A caller, and until when.
struct Admitted : Caller {
  std::optional<Time> until = {};  // the end of its token; none where there was no token
};

// Without a secret nobody can be told apart: a request with no token counts as
// the admin, which is why such a server listens on loopback only. The same may be
// chosen for a secret that nobody configured (`Tokenless::admin`): then tokens can
// be used, and need not be. Immutable, usable from any thread.
class Authenticator {
 public:
  enum class Tokenless { refused, admin };

  // Invalid (EMPTY_SECRET) on a secret that is there and empty.
  Authenticator(Env env, std::optional<std::string> secret, Tokenless tokenless = Tokenless::refused,
                TokenNames expected = {});

  // The caller of a request to a route of that access. Unauthorized:
  // MISSING_TOKEN, BAD_TOKEN, EXPIRED_TOKEN, EARLY_TOKEN; Forbidden: FORBIDDEN_ROLE. Open
  // routes look at no token, so that a stale one does not keep health hidden.
  Admitted admit(const Request& request, Access access) const;
  // The same for a caller who is known already.
  static void admit(const Caller& caller, Access access);

 private:
  Admitted identify(std::string_view authorization) const;

  Env env_;
  std::optional<std::string> secret_;
  Tokenless tokenless_;
  TokenNames expected_;
};

// The one name of a caller where shares and limits are counted: subjects are told apart by role.
std::string holder_of(const Caller& caller);

// Throws Invalid (OPEN_LISTEN) where a server without a secret would listen
// beyond loopback. `host` is an address or a name, as configured; a secret under
// which callers without a token are let in (Tokenless::admin) counts as none.
void refuse_open_listen(std::string_view host, bool has_secret);

}  // namespace skald::http
