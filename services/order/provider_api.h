// What the payment provider and its clients say to each other.
//
//   POST /charges        ChargeRequest -> Charge; 402 where it is declined
//   POST /refunds        RefundRequest -> Charge
//   POST /cancellations  {key}         -> Charge: a charge of that key never happens, or is refunded
//   GET  /charges?after= {items, nextCursor}, by key
//   GET, PUT /settings   Behaviour
//
// One key, one effect: a repeated request gets the first one's answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skald/json.h"

namespace order {

struct ChargeRequest {
  std::string key, reference;
  std::int64_t amount = 0;
  std::string currency;
};
BOOST_DESCRIBE_STRUCT(ChargeRequest, (), (key, reference, amount, currency))

struct RefundRequest {
  std::string key, charge;
};
BOOST_DESCRIBE_STRUCT(RefundRequest, (), (key, charge))

struct CancelRequest {
  std::string key;
};
BOOST_DESCRIBE_STRUCT(CancelRequest, (), (key))

enum class ChargeStatus { CHARGED, REFUNDED, DECLINED, CANCELLED };
BOOST_DESCRIBE_ENUM(ChargeStatus, CHARGED, REFUNDED, DECLINED, CANCELLED)

struct Charge {
  std::string key, id, reference;
  std::int64_t amount = 0;
  std::string currency;
  ChargeStatus status = ChargeStatus::CHARGED;
  std::optional<std::string> refund_key;
};
BOOST_DESCRIBE_STRUCT(Charge, (), (key, id, reference, amount, currency, status, refund_key))

// How badly the sandbox behaves. Rates are shares of requests, 0 to 1.
struct Behaviour {
  std::int64_t latency_ms = 0;
  double error_rate = 0;                 // answered 503, nothing happened
  double decline_rate = 0;               // answered 402
  double charge_then_timeout_rate = 0;   // took effect, the answer comes too late
  double duplicate_rate = 0;             // arrived twice
  std::int64_t timeout_ms = 30'000;      // how late "too late" is
};
BOOST_DESCRIBE_STRUCT(Behaviour, (),
                      (latency_ms, error_rate, decline_rate, charge_then_timeout_rate, duplicate_rate, timeout_ms))

}  // namespace order
