#include "order/validation.h"

#include <algorithm>
#include <map>

#include "skald/controls.h"
#include "skald/error.h"

namespace order {
namespace {

using skald::Invalid;

constexpr std::size_t kNameMax = 200, kReasonMax = 500;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

}  // namespace

bool is_sku(std::string_view text) { return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, is_plain); }
bool is_id(std::string_view text) { return is_sku(text); }

void check_quantity(std::int64_t quantity, std::int64_t most) {
  if (quantity < 1 || quantity > most) throw Invalid("BAD_QUANTITY", "quantity must be 1 to " + std::to_string(most));
}

void check_price(std::int64_t price) {
  if (price < 1 || price > kPriceMax)
    throw Invalid("BAD_PRICE",
                  "price must be 1 to " + std::to_string(kPriceMax) + ", counted in the currency's minor unit");
}

void check(const NewProduct& product) {
  if (!is_sku(product.sku)) throw Invalid("BAD_SKU", "sku must be 1 to 64 letters, digits, '-', '_' or '.'");
  if (product.name.empty() || product.name.size() > kNameMax || skald::has_controls(product.name))
    throw Invalid("BAD_NAME", "name must be 1 to 200 bytes without control characters");
  check_price(product.price);
  if (product.currency.size() != 3 ||
      !std::ranges::all_of(product.currency, [](char c) { return c >= 'A' && c <= 'Z'; }))
    throw Invalid("BAD_CURRENCY", "currency must be an ISO 4217 code: three letters in upper case, such as EUR");
  if (product.stock < 0 || product.stock > kStockMax)
    throw Invalid("BAD_STOCK", "stock must be 0 to " + std::to_string(kStockMax));
}

void check(const Cancellation& asked) {
  if (asked.reason && (asked.reason->size() > kReasonMax || skald::has_controls(*asked.reason, skald::kLineBreaks)))
    throw Invalid("BAD_REASON", "reason must be at most 500 bytes without control characters");
}

std::vector<Item> items_of(const NewOrder& order) {
  const bool short_form = order.sku.has_value() && order.quantity.has_value();
  if (short_form == order.items.has_value() || order.sku.has_value() != order.quantity.has_value())
    throw Invalid("BAD_ITEMS", "an order has either items: [{sku, quantity}], or sku and quantity");
  std::vector<Item> given = short_form ? std::vector<Item>{{*order.sku, *order.quantity}} : *order.items;
  if (given.empty() || given.size() > kItemsMax)
    throw Invalid("BAD_ITEMS", "an order has 1 to " + std::to_string(kItemsMax) + " items");
  std::map<std::string, std::int64_t> sums;
  for (const Item& item : given) {
    if (!is_sku(item.sku)) throw Invalid("BAD_SKU", "sku must be 1 to 64 letters, digits, '-', '_' or '.'");
    check_quantity(item.quantity, kQuantityMax);
    sums[item.sku] += item.quantity;
    check_quantity(sums[item.sku], kQuantityMax);
  }
  std::vector<Item> out;
  for (const auto& [sku, quantity] : sums) out.push_back({sku, quantity});
  return out;
}

}  // namespace order
