#include <array>

#include "donation/donation.h"

namespace donation {
namespace {

// What is still open or went wrong stays little, and so does its index.
constexpr const char* kDonations = R"sql(
  CREATE TABLE donation (
    request_id TEXT PRIMARY KEY, donor TEXT NOT NULL, amount BIGINT NOT NULL, currency TEXT NOT NULL, message TEXT,
    status TEXT NOT NULL, event_id TEXT NOT NULL, content_hash TEXT NOT NULL, outcome_at BIGINT,
    created_at BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE INDEX donation_created ON donation (created_at, request_id);
  CREATE INDEX donation_donor ON donation (donor, created_at, request_id);
  CREATE INDEX donation_open ON donation (status, created_at, request_id) WHERE status <> 'ANNOUNCED')sql";

// A donation is its giver's, and request ids are unique within one giver. Rows of the program
// before have neither column; theirs are the donor's. The index looks through both, so that old
// rows need no rewriting and that program can go on writing them beside this one.
constexpr const char* kOwners = R"sql(
  ALTER TABLE donation ADD COLUMN owner TEXT;
  ALTER TABLE donation ADD COLUMN asked_id TEXT;
  CREATE UNIQUE INDEX donation_asked ON donation (COALESCE(asked_id, request_id), COALESCE(owner, donor)))sql";

// What a repair has replaced: the old entry stays in the outbox, and is nobody's orphan.
constexpr const char* kReplaced = R"sql(
  ALTER TABLE donation ADD COLUMN replaces TEXT;
  CREATE TABLE donation_replaced (
    event_id TEXT PRIMARY KEY, donation_id TEXT NOT NULL, by_event_id TEXT NOT NULL, at BIGINT NOT NULL))sql";

// 1 where its announcement ended with nobody to tell.
constexpr const char* kUntold = "ALTER TABLE donation ADD COLUMN untold BIGINT";

}  // namespace

std::span<const skald::Migration> migrations() {
  static const std::array<skald::Migration, 4> steps = {
      skald::Migration{.version = 1, .name = "donations", .sql = kDonations, .postgres_sql = ""},
      skald::Migration{.version = 2, .name = "owners", .sql = kOwners, .postgres_sql = ""},
      skald::Migration{.version = 3, .name = "replaced entries", .sql = kReplaced, .postgres_sql = ""},
      skald::Migration{.version = 4, .name = "nobody to tell", .sql = kUntold, .postgres_sql = ""}};
  return steps;
}

}  // namespace donation
