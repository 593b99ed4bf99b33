// The write of the store benchmark: a donation with its dedupe row and its event.
#pragma once

#include <cstdint>
#include <string>

#include "skald/database.h"

namespace bench {

inline constexpr const char* kDonationSchema =
    "CREATE TABLE bench_request (request_id TEXT PRIMARY KEY, donation_id TEXT NOT NULL);"
    "CREATE TABLE bench_donation (id TEXT PRIMARY KEY, donor TEXT NOT NULL, amount BIGINT NOT NULL, created_at BIGINT "
    "NOT NULL);";
inline const skald::Migration kDonationMigration{
    .version = 1, .name = "donation", .sql = kDonationSchema, .postgres_sql = ""};
inline constexpr const char* kInsertRequest =
    "INSERT INTO bench_request (request_id, donation_id) VALUES ($1, $2) ON CONFLICT DO NOTHING";
inline constexpr const char* kInsertDonation =
    "INSERT INTO bench_donation (id, donor, amount, created_at) VALUES ($1, $2, $3, $4)";
// The row that Skald writes for the event, all of its columns, by hand.
inline constexpr const char* kInsertEvent =
    "INSERT INTO skald_outbox (id, partition, key, type, subject, payload, traceparent, content_hash, retries_max, "
    "created_at, updated_at) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)";
inline constexpr const char* kDonationType = "donation.accepted";

// Texts of the form that Skald would make: 26 characters that sort by time.
std::string donation_id(std::int64_t number);
inline std::string donor_of(std::int64_t number) { return "donor-" + std::to_string(number * 7919 % 10'000); }

// A SHA-256 in hex has this length; hand-written code gets it for nothing.
inline const std::string kSomeHash(64, 'a');

}  // namespace bench
