// What products and orders may look like. Everything throws Invalid with what is wanted.
#pragma once

#include <string_view>
#include <vector>

#include "order/record.h"
#include "order/views.h"

namespace order {

bool is_sku(std::string_view text);
bool is_id(std::string_view text);

void check(const NewProduct& product);     // BAD_SKU, BAD_NAME, BAD_PRICE, BAD_CURRENCY, BAD_STOCK
void check(const Cancellation& asked);     // BAD_REASON
void check_price(std::int64_t price);      // BAD_PRICE
void check_quantity(std::int64_t quantity, std::int64_t most);  // BAD_QUANTITY

// The items in either form, a sku once, in the order of their sku. BAD_ITEMS, BAD_SKU, BAD_QUANTITY.
std::vector<Item> items_of(const NewOrder& order);

}  // namespace order
