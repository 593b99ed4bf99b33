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

}  // namespace

std::span<const skald::Migration> migrations() {
  static const std::array<skald::Migration, 1> steps = {
      skald::Migration{.version = 1, .name = "donations", .sql = kDonations, .postgres_sql = ""}};
  return steps;
}

}  // namespace donation
