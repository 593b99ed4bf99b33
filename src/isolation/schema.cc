#include "isolation/schema.h"

#include <array>

namespace skald::isolation {
namespace {

constexpr const char* kTables = R"(
CREATE TABLE skald_barrier (
  saga_id TEXT NOT NULL, step TEXT NOT NULL, actions BIGINT NOT NULL, undos BIGINT NOT NULL,
  undo_first BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (saga_id, step));
CREATE TABLE skald_version_head (
  resource TEXT PRIMARY KEY, last_seq BIGINT NOT NULL, applied_seq BIGINT NOT NULL);
CREATE TABLE skald_version_entry (
  resource TEXT NOT NULL, seq BIGINT NOT NULL, saga_id TEXT NOT NULL, action TEXT NOT NULL, amount BIGINT NOT NULL,
  status TEXT NOT NULL, at BIGINT NOT NULL, settled_at BIGINT NOT NULL, PRIMARY KEY (resource, seq));
CREATE TABLE skald_semaphore (name TEXT PRIMARY KEY, tickets BIGINT NOT NULL, slots BIGINT NOT NULL);
CREATE TABLE skald_permit (
  semaphore TEXT NOT NULL, slot BIGINT NOT NULL, holder TEXT NOT NULL, fence BIGINT NOT NULL,
  expires_at BIGINT NOT NULL, PRIMARY KEY (semaphore, slot));
CREATE TABLE skald_permit_waiter (
  semaphore TEXT NOT NULL, holder TEXT NOT NULL, ticket BIGINT NOT NULL, gone_at BIGINT NOT NULL,
  PRIMARY KEY (semaphore, holder));
)";

}  // namespace

std::span<const Migration> isolation_migrations() {
  static const std::array<Migration, 2> steps = {
      Migration{.version = 1, .name = "barrier, version file, permits", .sql = kTables, .postgres_sql = ""},
      Migration{.version = 2,
                .name = "age of barriers",
                .sql = "CREATE INDEX skald_barrier_age ON skald_barrier (at);",
                .postgres_sql = "CREATE INDEX skald_barrier_age ON skald_barrier USING brin (at);"}};
  return steps;
}

}  // namespace skald::isolation
