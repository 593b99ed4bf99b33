// What an installation uses, as the process that runs it sees it: `GET /api/installation` answers
// it, and `skald doctor` judges it. Without secrets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "skald/json.h"

namespace skald::cli {

struct SettingView {
  std::string path, value, origin;  // origin: standard, file, environment, flag
};
BOOST_DESCRIBE_STRUCT(SettingView, (), (path, value, origin))

// A file of the data folder that holds dead letters which their table does not.
struct FallbackView {
  std::string file;
  std::int64_t records = 0, damaged = 0;
};
BOOST_DESCRIBE_STRUCT(FallbackView, (), (file, records, damaged))

struct InstallationView {
  std::string version;
  std::int64_t pid = 0;
  std::string database;       // "sqlite data", "postgresql://host/name", or "none": a gateway has none
  std::string data;           // the folder
  std::string data_problem;   // why nothing can be written there; empty: it can
  std::vector<std::string> warnings;
  std::vector<SettingView> settings;
  std::vector<FallbackView> fallback;  // those that are not empty

  // Of a setting that exists.
  std::string value(std::string_view path) const;
  bool runs(std::string_view service) const;
};
BOOST_DESCRIBE_STRUCT(InstallationView, (), (version, pid, database, data, data_problem, warnings, settings, fallback))

// All but version, pid and database. Looks, and creates nothing. `warnings`: what is known
// already.
InstallationView view_installation(const Settings& settings, std::vector<std::string> warnings);

}  // namespace skald::cli
