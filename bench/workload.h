// The work that every contestant does: a business update and an event in one
// transaction; a handler that writes one row per event.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

inline constexpr int kProducers = 8;
inline constexpr std::int64_t kKeys = 10'000;
inline constexpr std::int64_t kDomainRows = 100'000;

inline constexpr const char* kWorkloadSchema = R"(
CREATE TABLE bench_domain (id bigint PRIMARY KEY, qty int NOT NULL, filler text NOT NULL) WITH (fillfactor = 80);
INSERT INTO bench_domain SELECT g, 1000000, repeat('x', 80) FROM generate_series(1, 100000) g;
CREATE TABLE bench_effect (event_id text NOT NULL, i bigint NOT NULL);
CREATE TABLE bench_inbox (event_id text PRIMARY KEY, at timestamptz NOT NULL);
)";

inline std::int64_t domain_row(std::int64_t i) { return 1 + (i * 7919) % kDomainRows; }
inline std::string key_of(std::int64_t i) { return "k" + std::to_string((i * 7919) % kKeys); }

// 204 bytes of JSON where i has one digit, as peers/peer.mjs writes it.
std::string payload_of(std::int64_t i);
std::int64_t number_in(const std::string& payload);

}  // namespace bench
