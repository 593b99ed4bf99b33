// What happened to an order, step by step: what its event stream tells.
#pragma once

#include <string_view>

#include "skald/database.h"

namespace order {

// The saga holds the order: nobody else writes its history at the same time.
inline void note(skald::Transaction& tx, std::string_view order_id, std::string_view saga_id, std::string_view what) {
  tx.enqueue(
      "INSERT INTO order_history (order_id, seq, saga_id, what, at) "
      "SELECT $1, COALESCE(MAX(seq), 0) + 1, $2, $3, $4 FROM order_history WHERE order_id = $1",
      order_id, saga_id, what, tx.now());
}

}  // namespace order
