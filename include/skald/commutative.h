// Updates whose order does not matter: units move between columns by one guarded
// statement, relative and never below zero. Sagas on one row run side by side, and an
// undo gives back what it took, whatever others have done in between.
//
//   const auto reserve = GuardedUpdate<Product>().take(&Product::quantity).put(&Product::reserved);
//   const auto restore = GuardedUpdate<Product>().take(&Product::reserved).put(&Product::quantity);
//   if (!reserve.run(tx, sku, 3)) throw Refused("SOLD_OUT", …);
//
//   UPDATE product SET quantity = quantity - $2, reserved = reserved + $2
//    WHERE sku = $1 AND quantity >= $2
//
// Declare it once, as a constant: its text is made there and prepared once. Where the
// row has a `version` it counts up, so that an optimistic save() of a row read before
// is told instead of writing the old amount back.
//
// | what happens                              | what the caller sees                       |
// | a column has less than the amount         | false, and nothing is changed              |
// | the row does not exist                    | false                                      |
// | another transaction changes the row       | waits for its end, then decides on what it left |
// | an amount below 1 or above kAmountMax     | Invalid BAD_AMOUNT: a negative one would pass every guard |
//
// Thread safety: immutable once built.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "skald/columns.h"
#include "skald/database.h"

namespace skald {

template <Described T>
class GuardedUpdate {
 public:
  // Far from where a sum overflows: SQLite would go on with a rounded number.
  static constexpr std::int64_t kAmountMax = 1'000'000'000'000'000;

  GuardedUpdate() {
    if (versioned_) sets_ = "version = version + 1";
    make();
  }

  // The amount leaves this column, which must have it.
  template <std::integral M>
  GuardedUpdate take(M T::* member) const {
    const std::string column(detail::column_of(member));
    GuardedUpdate out = *this;
    out.set(column + " = " + column + " - $2");
    out.guards_ += " AND " + column + " >= $2";
    return out.make();
  }
  // The amount comes to this column.
  template <std::integral M>
  GuardedUpdate put(M T::* member) const {
    const std::string column(detail::column_of(member));
    GuardedUpdate out = *this;
    out.set(column + " = " + column + " + $2");
    return out.make();
  }

  // True where the row had enough and was changed.
  bool run(Transaction& tx, const auto& key, std::int64_t amount) const {
    if (amount < 1 || amount > kAmountMax)
      throw Invalid("BAD_AMOUNT", "an amount of " + std::to_string(amount) + " cannot be moved: give one from 1 to " +
                                      std::to_string(kAmountMax));
    if (!tx.watched() || !versioned_) return tx.execute(sql_, key, amount) == 1;
    const Rows changed = tx.query(telling_sql_, key, amount);
    if (changed.empty()) return false;
    tx.note({RowAccess::Kind::add, detail::resource_of<T>(), detail::key_text(key), std::nullopt,
             changed.get<std::int64_t>(0, 0)});
    return true;
  }

  const std::string& sql() const { return sql_; }

 private:
  void set(const std::string& assignment) { sets_ += (sets_.empty() ? "" : ", ") + assignment; }
  GuardedUpdate& make() {
    sql_ = "UPDATE " + std::string(Table<T>::name) + " SET " + sets_ + " WHERE " + std::string(Table<T>::key) +
           " = $1" + guards_;
    telling_sql_ = sql_ + " RETURNING version";
    return *this;
  }

  bool versioned_ = detail::has_column<T>("version");
  std::string sets_, guards_, sql_, telling_sql_;
};

}  // namespace skald
