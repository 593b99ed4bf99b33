// skald token
#include <ostream>

#include "cli/command.h"
#include "cli/data_folder.h"
#include "http/jwt.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

struct TokenView {
  std::string token, subject;
  Role role{};
  Time expires_at{};
};
BOOST_DESCRIBE_STRUCT(TokenView, (), (token, subject, role, expires_at))

Role role_of(const std::string& name) {
  const auto role = enum_of<Role>(name);
  if (!role) throw Invalid("USAGE", "--role must be customer, admin or system");
  return *role;
}

Duration time_to_live(const Arguments& arguments) {
  if (!arguments.flags.contains("ttl")) return 24h;
  const auto ttl = parse_duration(arguments.flag("ttl"));
  if (!ttl || *ttl < 1s || *ttl > 3650 * 24h)
    throw Invalid("USAGE", "--ttl must be a time such as 30m, 24h or 7d, at most 3650d");
  return *ttl;
}

}  // namespace

std::string token_secret(const Settings& settings) {
  const std::string& configured = settings.text("auth.secret");
  return configured.empty() ? DataFolder(settings.text("data")).secret("secret") : configured;
}

http::TokenNames token_names(const Settings& settings) {
  return {settings.text("auth.audience"), settings.text("auth.issuer")};
}

int run_token(const Arguments& arguments, const Settings& settings, const Env& env, std::ostream& out) {
  const std::string subject = arguments.flag("subject");
  if (subject.empty()) throw Invalid("USAGE", "skald token needs --subject NAME");
  http::Claims claims{subject, role_of(arguments.flag("role")), env.clock.now(), {}, token_names(settings)};
  claims.expires_at = claims.issued_at + time_to_live(arguments);
  const TokenView view{http::sign_token(token_secret(settings), claims), subject, claims.role,
                       std::chrono::floor<std::chrono::seconds>(claims.expires_at)};
  out << (arguments.json() ? to_json(view) : view.token) << '\n';
  return kDone;
}

}  // namespace skald::cli
