#include "store/postgres/connect_settings.h"

#include <algorithm>

namespace skald::postgres {
namespace {

std::string milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t comma = list.find(',');
    out.emplace_back(list.substr(0, comma));
    if (comma == list.npos) return out;
    list.remove_prefix(comma + 1);
  }
}

// Calls `open` with what libpq takes: two arrays, each ended by a null.
PGconn* open_by(PGconn* (*open)(const char* const*, const char* const*, int),
                const std::map<std::string, std::string>& settings) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : settings) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  return open(keywords.data(), values.data(), 0);
}

}  // namespace

ConnectSettings::ConnectSettings(const PostgresOptions& options, Route route) : route_(route) {
  // A peer that vanishes without a word is noticed in seconds, not in hours.
  settings_ = {{"connect_timeout", "5"},     {"tcp_user_timeout", "10000"}, {"keepalives_idle", "5"},
               {"keepalives_interval", "2"}, {"keepalives_count", "3"},     {"target_session_attrs", "read-write"}};
  const std::string& url = route == Route::session && !options.listen_url.empty() ? options.listen_url : options.url;
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(PQconninfoParse(url.c_str(), nullptr),
                                                                              PQconninfoFree);
  if (parsed == nullptr)
    throw Invalid("BAD_DATABASE_URL", "the database URL cannot be read: write postgresql://user@host:port/database");
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option)
    if (option->val != nullptr) settings_[option->keyword] = option->val;
  if (const std::string& wanted = settings_["target_session_attrs"]; wanted != "read-write" && wanted != "primary")
    throw Invalid("BAD_DATABASE_URL", "target_session_attrs must be read-write, or left out: a standby cannot be used");
  read_hosts();
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
  if (route == Route::session) set("default_transaction_isolation", "read\\ committed");  // BEGIN says it as well
}

// Lists that do not fit together are left to libpq, which says what is wrong with them.
void ConnectSettings::read_hosts() {
  const auto names = split(settings_["host"]), addresses = split(settings_["hostaddr"]),
             ports = split(settings_["port"]);
  const std::size_t count = std::max(names.size(), addresses.size());
  const auto fits = [&](const std::vector<std::string>& list) { return list.size() == 1 || list.size() == count; };
  if (count == 1 || !fits(names) || !fits(addresses) || !fits(ports)) return;
  const auto at = [](const std::vector<std::string>& list, std::size_t i) { return list[list.size() == 1 ? 0 : i]; };
  for (std::size_t i = 0; i < count; ++i) hosts_.push_back({at(names, i), at(addresses, i), at(ports, i)});
}

void ConnectSettings::set(std::string_view parameter, std::string_view value) {
  if (route_ == Route::pooled) {
    local_names_.emplace_back(parameter);
    local_values_.emplace_back(value);
    return;
  }
  std::string& options = settings_["options"];
  if (!options.empty()) options += ' ';
  options.append("-c ").append(parameter).append("=").append(value);
}

std::map<std::string, std::string> ConnectSettings::settings_from_first() const {
  std::map<std::string, std::string> out = settings_;
  if (hosts_.empty()) return out;
  std::string &names = out["host"] = {}, &addresses = out["hostaddr"] = {}, &ports = out["port"] = {};
  const std::size_t first = learnt_->first;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const Host& host = hosts_[(first + i) % hosts_.size()];
    const char* comma = i > 0 ? "," : "";
    names.append(comma).append(host.name);
    addresses.append(comma).append(host.address);
    ports.append(comma).append(host.port);
  }
  if (addresses.find_first_not_of(',') == addresses.npos) out.erase("hostaddr");
  if (names.find_first_not_of(',') == names.npos) out.erase("host");
  return out;
}

PGconn* ConnectSettings::connect() const { return open_by(&PQconnectdbParams, settings_from_first()); }

PGconn* ConnectSettings::begin_connecting() const { return open_by(&PQconnectStartParams, settings_from_first()); }

bool ConnectSettings::accept(const PGconn* connection, Timeline timeline) const {
  Timeline newest = learnt_->timeline;
  while (newest < timeline && !learnt_->timeline.compare_exchange_weak(newest, timeline)) {}
  const std::string_view name = PQhost(connection), port = PQport(connection);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const Host& host = hosts_[i];
    const bool here = (host.name == name || host.address == name) && (host.port == port || host.port.empty());
    if (!here) continue;
    learnt_->first = i;
    break;
  }
  if (timeline >= newest) return true;
  begin_elsewhere();
  return false;
}

void ConnectSettings::begin_elsewhere() const {
  if (!hosts_.empty()) learnt_->first = (learnt_->first + 1) % hosts_.size();
}

}  // namespace skald::postgres
