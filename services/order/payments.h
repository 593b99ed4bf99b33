// The payment provider as sagas use it: one charge per key whatever is retried, and at
// most N calls at a time across all processes.
//
// | the provider …                             | what is thrown                             |
// | declines: 402, 409                         | Refused PAYMENT_DECLINED, REFUND_DECLINED  |
// | cannot be reached, or answers 503          | Unavailable PROVIDER_DOWN: nothing happened |
// | answers another 4xx                        | Unavailable PROVIDER_REFUSED: nothing happened |
// | does not answer, or answers anything else  | CommitUnknown: ask again with the same key |
// | answers 200 with what cannot be read       | CommitUnknown PROVIDER_ANSWER_UNREADABLE   |
// | has no permit left in time                 | LockTimeout NO_PERMIT                      |
//
// Why a payment failed is told in words; what the provider wrote is shown to nobody, because it repeats keys.
//
// Thread safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "order/provider_api.h"
#include "skald/database.h"
#include "skald/optimistic.h"
#include "skald/saga.h"

namespace order {

inline constexpr std::int64_t kPermitsDefault = 8;

class Payments {
 public:
  // Invalid (BAD_PROVIDER) where the URL is none.
  Payments(skald::Env env, skald::Database& db, std::string url, skald::Pause pause);

  // The provider's id of the charge.
  std::string charge(skald::Remote& step, const std::string& order_id, std::int64_t amount,
                     const std::string& currency);
  // The provider's id of the refund.
  std::string refund(skald::Remote& step, const std::string& charge_id);

  // All charges, in bounded answers. Unavailable where they cannot be had.
  void each_charge(const std::function<void(const Charge&)>& visit);

  Behaviour behaviour();
  void behave(const Behaviour& behaviour);

  // The size of the semaphore, one for all processes.
  std::int64_t permits(skald::Transaction& tx) const;
  void set_permits(skald::Transaction& tx, std::int64_t permits) const;

 private:
  std::string ask(skald::Remote& step, const std::string& path, const std::string& body,
                  const skald::Refused& declined);
  std::string plain(const std::string& method, const std::string& path, const std::string& body = "");

  skald::Env env_;
  skald::Database& db_;
  const std::string url_;
  const skald::Pause pause_;
};

}  // namespace order
