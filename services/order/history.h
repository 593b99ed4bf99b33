// What happened to an order, step by step: what its event stream and the log tell.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "skald/database.h"
#include "skald/saga.h"

namespace order {

// Its lines are numbered under the order's row lock: a wish to cancel is noted while the saga
// that places the order holds it and writes here, too. (SQLite has one writer.)
inline void note(skald::Transaction& tx, std::string_view order_id, std::string_view saga_id, std::string_view what,
                 std::optional<std::string_view> detail = std::nullopt) {
  if (tx.on(skald::Dialect::postgres)) tx.enqueue("SELECT 1 FROM order_record WHERE id = $1 FOR UPDATE", order_id);
  tx.enqueue(
      "INSERT INTO order_history (order_id, seq, saga_id, what, at, detail) "
      "SELECT $1, COALESCE(MAX(seq), 0) + 1, $2, $3, $4, $5 FROM order_history WHERE order_id = $1",
      order_id, saga_id, what, tx.now(), detail);
}

// The same for the steps of sagas, and a line of the log once it has committed.
class Journal {
 public:
  explicit Journal(skald::Observer& observer) : observer_(observer) {}  // which outlives it
  void note(skald::Local& step, const std::string& order_id, std::string_view what,
            const std::optional<std::string>& detail = std::nullopt) const;

 private:
  skald::Observer& observer_;
};

}  // namespace order
