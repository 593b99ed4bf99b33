#include "store/migrations.h"

#include <map>

#include "base/hash.h"
#include "store/sql_text.h"

namespace skald {
namespace {

struct Applied {
  std::string checksum;
  int oldest_program;
};

std::map<int, Applied> applied_steps(Transaction& tx, std::string_view component) {
  std::map<int, Applied> out;
  const Rows rows =
      tx.query("SELECT version, checksum, oldest_program FROM skald_schema WHERE component = $1", component);
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[rows.get<int>(i, 0)] = {rows.get<std::string>(i, 1), rows.get<int>(i, 2)};
  return out;
}

void refuse_newer(std::string_view component, int program, const std::map<int, Applied>& applied) {
  for (const auto& [version, step] : applied) {
    if (version > program && step.oldest_program > program)
      throw Invalid("SCHEMA_NEWER", "the database's schema of " + std::string(component) + " is at version " +
                                        std::to_string(applied.rbegin()->first) +
                                        " and this program only knows version " + std::to_string(program) +
                                        "; start the newer program instead");
  }
}

}  // namespace

void apply_migrations(Transaction& tx, std::string_view component, std::span<const Migration> steps) {
  tx.execute(
      "CREATE TABLE IF NOT EXISTS skald_schema (component TEXT NOT NULL, version BIGINT NOT NULL, name TEXT NOT NULL, "
      "checksum TEXT NOT NULL, oldest_program BIGINT NOT NULL, applied_at BIGINT NOT NULL, PRIMARY KEY (component, "
      "version))");
  const auto applied = applied_steps(tx, component);
  refuse_newer(component, steps.empty() ? 0 : steps.back().version, applied);

  for (const Migration& step : steps) {
    const bool own = tx.on(Dialect::postgres) && !step.postgres_sql.empty();
    const std::string& sql = own ? step.postgres_sql : step.sql;
    const std::string checksum = hex(sha256(sql));
    if (const auto found = applied.find(step.version); found != applied.end()) {
      if (found->second.checksum != checksum)
        throw Invalid("SCHEMA_CHANGED", "step " + std::to_string(step.version) + " (" + step.name + ") of " +
                                            std::string(component) +
                                            " was applied with another text; add a new step instead of changing one");
      continue;
    }
    for (const std::string& statement : split_statements(sql)) tx.execute(statement);
    tx.execute(
        "INSERT INTO skald_schema (component, version, name, checksum, oldest_program, applied_at) VALUES ($1, $2, $3, "
        "$4, $5, $6)",
        component, step.version, step.name, checksum, step.oldest_program, tx.now());
  }
}

}  // namespace skald
