// Where an installation keeps its data: a file, or a schema, for each part of it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/settings.h"
#include "skald/database.h"

namespace skald::host {

// The services that share a database, by the name of its SQLite file. On PostgreSQL the first
// has the user's standard schema, each of the others one of its own name.
enum class Part { donation, booking, course, notify, agentflow };
BOOST_DESCRIBE_ENUM(Part, donation, booking, course, notify, agentflow)

inline constexpr Part kParts[] = {Part::donation, Part::booking, Part::course, Part::notify, Part::agentflow};

// Invalid (BAD_SETTING) where `db` is none of those that there are.
std::unique_ptr<Database> open_database(Env env, const cli::Settings& settings, Part part);

// The SQLite file of a part; nothing where it lies elsewhere.
std::optional<std::filesystem::path> database_file(const cli::Settings& settings, Part part);

// Whether there is something to open; only SQLite's files can be looked for.
bool exists(const cli::Settings& settings);

// "sqlite data", "postgresql://host/name": without secrets.
std::string shown_database(const cli::Settings& settings);

}  // namespace skald::host
