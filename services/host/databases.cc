#include "host/databases.h"

#include <algorithm>
#include <filesystem>

#include "cli/data_folder.h"

namespace skald::host {
namespace {

namespace fs = std::filesystem;

enum class Place { sqlite, memory, postgres };

Place place_of(const cli::Settings& settings) {
  const std::string& url = settings.text("db");
  if (url.empty() || url.starts_with("sqlite:")) return Place::sqlite;
  if (url == "memory:") return Place::memory;
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) return Place::postgres;
  throw Invalid("BAD_SETTING", "db must be sqlite:DIR, postgresql://… or memory:");
}

fs::path sqlite_folder(const cli::Settings& settings) {
  const std::string& url = settings.text("db");
  const std::string folder = url.empty() ? settings.text("data") : url.substr(std::string_view("sqlite:").size());
  if (folder.empty()) throw Invalid("BAD_SETTING", "db must name a folder: sqlite:DIR");
  return folder;
}

fs::path sqlite_file(const cli::Settings& settings, Part part) {
  return sqlite_folder(settings) / (std::string(enum_name(part)) + ".db");
}

}  // namespace

std::unique_ptr<Database> open_database(Env env, const cli::Settings& settings, Part part) {
  switch (place_of(settings)) {
    case Place::memory: return open_sqlite(env, {.path = ":memory:"});
    case Place::postgres: {
      PostgresOptions options;
      options.url = settings.text("db");
      options.listen_url = settings.text("postgres.listen");
      if (part != Part::donation) options.schema = enum_name(part);
      options.connections = static_cast<int>(settings.integer("postgres.connections"));
      options.statement_timeout = settings.duration("postgres.transaction_timeout");
      options.acquire_timeout = settings.duration("postgres.transaction_wait");
      return open_postgres(env, options);
    }
    case Place::sqlite: break;
  }
  cli::DataFolder(sqlite_folder(settings)).create();
  return open_sqlite(env, {.path = sqlite_file(settings, part).string()});
}

std::optional<fs::path> database_file(const cli::Settings& settings, Part part) {
  if (place_of(settings) != Place::sqlite) return std::nullopt;
  return sqlite_file(settings, part);
}

bool exists(const cli::Settings& settings) {
  if (place_of(settings) != Place::sqlite) return true;
  return std::ranges::any_of(kParts, [&](Part part) { return fs::exists(sqlite_file(settings, part)); });
}

std::string shown_database(const cli::Settings& settings) {
  return place_of(settings) == Place::sqlite ? "sqlite " + sqlite_folder(settings).string() : settings.shown("db");
}

}  // namespace skald::host
