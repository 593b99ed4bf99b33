#include "store/postgres/connect_settings.h"

#include <libpq-fe.h>

#include <memory>

namespace skald::postgres {
namespace {

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

ConnectSettings::ConnectSettings(const PostgresOptions& options) {
  // A peer that vanishes without a word is noticed in seconds, not in hours.
  settings_ = {{"connect_timeout", "5"},
               {"tcp_user_timeout", "10000"},
               {"keepalives_idle", "5"},
               {"keepalives_interval", "2"},
               {"keepalives_count", "3"}};
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      PQconninfoParse(options.url.c_str(), nullptr), PQconninfoFree);
  if (parsed == nullptr)
    throw Invalid("BAD_DATABASE_URL", "the database URL cannot be read: write postgresql://user@host:port/database");
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr) settings_[option->keyword] = option->val;
  settings_["application_name"] = "skald";
  settings_["client_encoding"] = "UTF8";
  if (!options.schema.empty()) {
    if (options.schema.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != std::string::npos)
      throw Invalid("BAD_SCHEMA", "a schema's name is made of lower-case letters and '_'");
    set("search_path", options.schema);
  }
  set("lock_timeout", milliseconds(options.lock_timeout));
  set("statement_timeout", milliseconds(options.statement_timeout));
  set("idle_in_transaction_session_timeout", milliseconds(options.idle_in_transaction_timeout));
  set("default_transaction_isolation", "read\\ committed");
}

void ConnectSettings::set(std::string_view parameter, std::string_view value) {
  std::string& options = settings_["options"];
  if (!options.empty()) options += ' ';
  options.append("-c ").append(parameter).append("=").append(value);
}

std::vector<const char*> ConnectSettings::keywords() const {
  std::vector<const char*> out;
  for (const auto& [keyword, value] : settings_) out.push_back(keyword.c_str());
  out.push_back(nullptr);
  return out;
}

std::vector<const char*> ConnectSettings::values() const {
  std::vector<const char*> out;
  for (const auto& [keyword, value] : settings_) out.push_back(value.c_str());
  out.push_back(nullptr);
  return out;
}

}  // namespace skald::postgres
