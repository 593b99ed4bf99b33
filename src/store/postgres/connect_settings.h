// What a connection is opened with: the URL's own settings and ours.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "skald/database.h"

namespace skald::postgres {

class ConnectSettings {
 public:
  // Throws Invalid (BAD_DATABASE_URL); its text never holds the URL, which may
  // hold a password.
  explicit ConnectSettings(const PostgresOptions& options);

  // Adds a run-time parameter of the server ("synchronous_commit", "off").
  void set(std::string_view parameter, std::string_view value);

  // As PQconnectdbParams takes them, ended by a null; valid while this lives.
  std::vector<const char*> keywords() const;
  std::vector<const char*> values() const;

 private:
  std::map<std::string, std::string> settings_;
};

}  // namespace skald::postgres
