#include <array>

#include "booking/booking.h"

namespace booking {

std::span<const skald::Migration> migrations() {
  static const std::array<skald::Migration, 1> steps = {
      skald::Migration{.version = 1,
                       .name = "bookings, history, ledger, copy of the slots",
                       .sql = R"sql(
        CREATE TABLE booking_record (
          id TEXT PRIMARY KEY, number TEXT NOT NULL UNIQUE, slot_id TEXT NOT NULL, customer TEXT NOT NULL,
          players BIGINT NOT NULL, status TEXT NOT NULL, reason_code TEXT, reason_message TEXT,
          amount BIGINT NOT NULL, currency TEXT NOT NULL, refund_percent BIGINT, refund_amount BIGINT,
          starts_at BIGINT NOT NULL, release_sent BIGINT NOT NULL, released_at BIGINT,
          created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, version BIGINT NOT NULL);
        CREATE INDEX booking_record_customer ON booking_record (customer, id);
        CREATE INDEX booking_record_slot ON booking_record (slot_id, id);
        CREATE INDEX booking_record_pending ON booking_record (created_at) WHERE status = 'PENDING';
        CREATE TABLE booking_history (
          booking_id TEXT NOT NULL, seq BIGINT NOT NULL, what TEXT NOT NULL, actor TEXT NOT NULL, code TEXT,
          message TEXT, at BIGINT NOT NULL, PRIMARY KEY (booking_id, seq));
        CREATE TABLE booking_slot (
          id TEXT PRIMARY KEY, course_id TEXT NOT NULL, starts_at BIGINT NOT NULL, max_players BIGINT NOT NULL,
          booked_players BIGINT NOT NULL, price_per_player BIGINT NOT NULL, currency TEXT NOT NULL,
          status TEXT NOT NULL, version BIGINT NOT NULL);
        CREATE TABLE booking_entry (
          id TEXT PRIMARY KEY, booking_id TEXT NOT NULL, kind TEXT NOT NULL, at BIGINT NOT NULL);
        CREATE INDEX booking_entry_booking ON booking_entry (booking_id);
        CREATE TABLE booking_posting (
          entry_id TEXT NOT NULL, account TEXT NOT NULL, amount BIGINT NOT NULL, currency TEXT NOT NULL,
          PRIMARY KEY (entry_id, account)))sql",
                       .postgres_sql = ""}};
  return steps;
}

}  // namespace booking
