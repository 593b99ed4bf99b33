// A donation as it is asked for, stored and shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skald/entry.h"
#include "skald/event.h"
#include "skald/json.h"
#include "skald/row.h"

namespace donation {

inline constexpr std::string_view kAccepted = "donation.accepted";

// What a client sends. Staff say who gave; a customer gives for himself, and what he names as
// donor is not looked at.
struct NewDonation {
  std::string request_id;
  std::optional<std::string> donor;
  std::int64_t amount = 0;  // minor units
  std::string currency;
  std::optional<std::string> message;
};
BOOST_DESCRIBE_STRUCT(NewDonation, (), (request_id, donor, amount, currency, message))

// What is taken, and what is announced.
struct Gift {
  std::string request_id, donor;
  std::int64_t amount = 0;  // minor units
  std::string currency;
  std::optional<std::string> message;
  bool operator==(const Gift&) const = default;
};
BOOST_DESCRIBE_STRUCT(Gift, (), (request_id, donor, amount, currency, message))

// ACCEPTED until its announcement has ended one way or the other; for ever where there was nobody
// to tell.
enum class Status { ACCEPTED, ANNOUNCED, UNDELIVERED };
BOOST_DESCRIBE_ENUM(Status, ACCEPTED, ANNOUNCED, UNDELIVERED)

// The row. Outcome, time and hash stay here for ever; the outbox entry goes some
// days after it is COMPLETED.
//
// The key's name is older than owners are: a program of schema version 1, which may run beside
// this one, keys its rows by the client's own request id and knows neither `owner` nor
// `asked_id`. Ask the functions.
struct Donation {
  std::string request_id, donor;
  std::optional<std::string> owner, asked_id;
  std::int64_t amount = 0;
  std::string currency;
  std::optional<std::string> message;
  Status status = Status::ACCEPTED;
  std::string event_id, content_hash;
  std::optional<std::string> replaces;  // the entry before event_id, where a repair made that one
  std::optional<skald::Time> outcome_at;
  std::optional<std::int64_t> untold;   // 1: its announcement ended, and nobody was there to be told
  skald::Time created_at{};
  std::int64_t version = 0;

  // Ours, unique, and the subject of its announcement: nobody can choose it.
  const std::string& id() const { return request_id; }
  // The subject of the token that gave it. Request ids are unique within one owner.
  const std::string& whose() const { return owner ? *owner : donor; }
  const std::string& asked_as() const { return asked_id ? *asked_id : request_id; }
  bool is_untold() const { return untold.value_or(0) != 0; }
};
BOOST_DESCRIBE_STRUCT(Donation, (),
                      (request_id, donor, owner, asked_id, amount, currency, message, status, event_id, content_hash,
                       replaces, outcome_at, untold, created_at, version))

// SQL for whose() and asked_as(): the expressions of the index that makes them unique.
inline constexpr std::string_view kWhose = "COALESCE(owner, donor)", kAskedAs = "COALESCE(asked_id, request_id)";

Gift gift_of(const Donation& donation);

// The announcement of a donation. Its payload is made from the checked fields,
// not from the client's bytes: a body with a member twice must not be read one way
// here and another way at the receiver. The same fields always give the same bytes,
// so that a lost entry can be written again as it was.
skald::Event announcement_of(const Gift& gift, std::string donation_id, std::string event_id, std::string traceparent);
skald::Event announcement_of(const Donation& donation);

// The status that a donation has while its entry is in `status`; `untold`: with nobody to tell.
Status status_for(skald::EntryStatus status, bool untold);

struct OutboxView {
  std::string id;
  skald::EntryStatus status = skald::EntryStatus::PENDING;
  int retry_count = 0;
  std::optional<skald::Time> next_retry_at;
  std::optional<std::string> last_error;
  std::string content_hash;
  std::optional<std::string> replaces;
};
BOOST_DESCRIBE_STRUCT(OutboxView, (), (id, status, retry_count, next_retry_at, last_error, content_hash, replaces))

struct DonationView {
  std::string id, request_id, owner, donor;
  std::int64_t amount = 0;
  std::string currency;
  std::optional<std::string> message;
  Status status = Status::ACCEPTED;
  std::optional<std::string> notice;  // what the status does not say
  skald::Time created_at{};
  std::optional<skald::Time> outcome_at;
  OutboxView outbox;
};
BOOST_DESCRIBE_STRUCT(DonationView, (),
                      (id, request_id, owner, donor, amount, currency, message, status, notice, created_at, outcome_at,
                       outbox))

// For `staff` with what failed inside: that names hosts. Without an entry, what became of it is
// told from the donation's own outcome.
DonationView view_of(const Donation& donation, const std::optional<skald::Entry>& entry, bool staff);

}  // namespace donation

template <>
struct skald::Table<donation::Donation> {
  static constexpr std::string_view name = "donation", key = "request_id";
};
